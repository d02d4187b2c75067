"""Whether a tool that keeps failing may be called now, as all who call it have seen it (RESI-04).

A breaker is there to spare a service that is in trouble, and the caller's time; nothing is unsafe without it. So what
stands in its way never stands in the way of a call: an implementation that can't reach what others have seen goes on
with what it has seen itself.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from callslip.core.breaker import Heard

Phase = Literal["closed", "open", "half-open"]


class Pass(msgspec.Struct, frozen=True):
    """The call may be made. Whoever is given it says by ``leave`` how the call ended, whatever happened."""

    key: str
    trial: int = 0
    """With a number: it is the one call that tries a breaker which is open."""


class Barred(msgspec.Struct, frozen=True, kw_only=True):
    """The call is not to be made. Durations are in seconds."""

    key: str
    open_for: float
    """How long the breaker has been open."""
    again_in: float | None
    """When a call may try it; ``None``: one does at this moment."""
    reason: str
    """Half a sentence."""


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """This call's end has opened the breaker, which was closed before."""

    key: str
    reason: str
    again_in: float


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One breaker, for people to look at. Durations are in seconds."""

    key: str
    phase: Phase
    reason: str = ""
    open_for: float | None = None
    again_in: float | None = None
    """``None``: it is closed, or a call tries it at this moment."""
    good: int = 0
    bad: int = 0
    """Calls in the window that succeeded, and that failed."""
    timeouts: int = 0


class Breakers(Protocol):
    def enter(self, key: str, seconds: float) -> Pass | Barred:
        """Ask before a call. Where the breaker is open and its time has come, exactly one caller is given a pass, for
        so many seconds at most; one whose process has ended frees the place.
        """
        ...

    def leave(self, way: Pass, heard: Heard) -> Opened | None:
        """Say how the call ended."""
        ...

    def barred(self, key: str) -> Barred | None:
        """Whether a call would not be let through now. Takes nothing."""
        ...

    def seen(self) -> list[Seen]:
        """Every breaker that says something, by key."""
        ...

    def reset(self, key: str | None) -> list[str]:
        """Close this breaker, or all, and forget what they have counted. Which there were."""
        ...

    def close(self) -> None:
        """Let go of what is held open."""
        ...
