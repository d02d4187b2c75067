"""What can be watched while it happens: for eyes only, never a fact (RSLT-06)."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from callslip.core.event import Record


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


Live = Recorded | ModelText | Progress | Partial | Waiting
Watch = Callable[[Live], None]

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


def ignore(_live: Live) -> None:
    """Watch nothing."""
