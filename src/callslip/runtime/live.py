"""What can be watched while it happens: for eyes only, never a fact (RSLT-06)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from callslip.core.event import Record
from callslip.ports.breakers import Breakers


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A record became durable."""

    session: str
    seq: int
    record: Record


class ModelText(msgspec.Struct, frozen=True, kw_only=True):
    """A fragment of a reply that streams."""

    session: str
    text: str


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A tool says how far it is; ``fraction`` is 0 to 1."""

    session: str
    call_id: str
    message: str
    fraction: float | None = None


class Partial(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a result that is not settled yet."""

    session: str
    call_id: str
    text: str


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime lets time pass before it may act; ``until`` is in milliseconds since 1970."""

    session: str
    reason: str
    until: int | None


class TakenOver(msgspec.Struct, frozen=True, kw_only=True):
    """A run is about to begin. ``calls``: the tools of the calls that were open before it, by call."""

    session: str
    calls: Mapping[str, str]


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """The model is about to be asked, in the task in which this is told: what a watcher puts into context variables
    there, the request's own code sees.
    """

    session: str
    step: str
    model: str


class Executing(msgspec.Struct, frozen=True, kw_only=True):
    """A dispatched attempt is about to run, in the task in which this is told: what a watcher puts into context
    variables there, the tool sees, also in its thread.
    """

    session: str
    call_id: str
    attempt: int


Live = Recorded | ModelText | Progress | Partial | Waiting | TakenOver | Asking | Executing
Watch = Callable[[Live], None]


class Observer(Protocol):
    """A watch that is also told where to see how the breakers stand."""

    def __call__(self, live: Live, /) -> None: ...

    def of_breakers(self, breakers: Breakers | None) -> None: ...


_log = logging.getLogger(__name__)


def guarded(watch: Watch) -> Watch:
    """A watcher whose own failure disturbs nobody: who looks on must not be able to break off a call."""
    told = False

    def look(live: Live) -> None:
        nonlocal told
        try:
            watch(live)
        except Exception:  # noqa: BLE001 - whatever it is, it is the watcher's
            if not told:
                told = True
                _log.exception("The watcher of a runtime failed; the runtime goes on. Further failures are not shown.")

    return look


def together(*watches: Watch) -> Watch:
    """One watch for all of these, each guarded for itself; ``ignore`` where there is none."""
    there = [guarded(watch) for watch in watches if watch is not ignore]
    if len(there) < 2:
        return there[0] if there else ignore

    def look(live: Live) -> None:
        for watch in there:
            watch(live)

    return look


def ignore(_live: Live) -> None:
    """Watch nothing."""
