"""Who may use what at this moment: the port that decides between calls which want the same (PARA-02, PARA-03).

The authority decides, and the batch only asks. All claims of a call are granted together or not at all; whoever waits
holds nothing, and nobody who holds something waits for more. So no circle of waiting callers can come about
(docs/adr/0018).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from callslip.core.claim import Claim


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """A call that holds claims or waits for them."""

    session: str
    call_id: str
    tool: str
    owner: str = ""
    """Of the process."""
    process: int = 0


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One place in the line, for people to look at."""

    holder: Holder
    claims: tuple[str, ...]
    granted: bool
    seconds: float
    """Since it was asked for."""
    held: float | None = None
    """Seconds since it was granted; ``None``: it waits."""
    gone: bool = False
    """Its process has ended, and something that it started still runs: until that has ended, nobody else is let in."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller is told of its claims."""

    waited: bool
    """Whether the world may have moved on since it asked."""
    waited_for: tuple[Holder, ...] = ()
    """Who stood in its way when it began to wait."""


class Capacity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a limited service takes. ``None``: without limit.

    Raises:
        ValueError: nobody could ever use it, or it says nothing.
    """

    at_once: int | None = None
    calls: int | None = None
    """In a time of ``per`` seconds, and so many at a time when none were made for long."""
    per: float = 60.0

    def __post_init__(self) -> None:
        if self.at_once is None and self.calls is None:
            raise ValueError("A capacity without at_once and calls limits nothing. Give one of them, or both.")
        if (self.at_once is not None and self.at_once < 1) or (self.calls is not None and self.calls < 1):
            raise ValueError("A capacity below one call could never be used. Give at_once and calls of at least 1.")
        if not 0 < self.per < math.inf:
            raise ValueError(f"A capacity is per a time of more than 0 seconds, and this one says {self.per:g}.")


Blocked = Callable[[Sequence[Holder]], None]
"""Told once, when a caller begins to wait: who stands in its way."""


class Authority(Protocol):
    def holding(self, wanted: Sequence[Claim], holder: Holder, on_wait: Blocked) -> AbstractAsyncContextManager[Grant]:
        """Wait until all the claims can be held together, and hold them until the context is left.

        First come, first served among those that want the same; a reader that comes after a waiting writer waits behind
        it. Being cancelled while waiting gives the place up.

        Raises:
            LedgerUnavailable: the table of other processes can't be reached. Nothing is held.
        """
        ...

    def standing(self) -> list[Standing]:
        """Everybody in the line, in order."""
        ...

    def close(self) -> Sequence[Holder]:
        """Give everything up. Who still held something by now."""
        ...
