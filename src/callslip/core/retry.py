"""When a failed attempt is made again: the one rule, for calls of tools and for requests to a model. Pure.

Full jitter over exponential backoff (M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015): the
pause before attempt n+1 is drawn evenly from 0 to ``min(cap, base * 2**(n-1))``, so that those who failed together
don't come back together. A server's own Retry-After goes first, and the drawn pause is added to it for the same reason.
How often something was tried, and since when, is read off the log and never kept in memory.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

_MOST_DOUBLED = 60
_UNITS = ((365 * 86_400, "year"), (86_400, "day"), (3600, "hour"), (60, "minute"))
_EVER = 1000 * 365 * 86_400
LONGEST = 86_400.0
"""The longest that a setting may say, in seconds."""


class Retry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a project may set in ``[limits.retry]`` of callslip.toml. Durations are in seconds."""

    attempts: int = 5
    """How often something is tried in all; 1: never again."""
    base: float = 1.0
    """The longest pause before the second attempt; doubled for each further one."""
    cap: float = 60.0
    """What the pauses grow up to."""
    within: float = 3600.0
    """The last attempt begins at most so long after the first one ended. Whoever asks to be left alone for longer is
    not tried again."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("attempts is at least 1")
        if not (0 <= self.base <= self.cap <= LONGEST) or not 0 <= self.within <= LONGEST:
            raise ValueError("base is from 0 to cap, and cap and within are at most a day")


class Over(msgspec.Struct, frozen=True, kw_only=True):
    """It is not tried again."""

    why: Literal["attempts", "asked", "time"]
    """It was tried often enough; it asks to be left alone for longer than is waited; there is no time left."""
    asked: float | None = None
    """Seconds it asked to be left alone for."""

    def said(self, tried: int) -> str:
        """For whoever reads the error, as one sentence."""
        times = f"It was tried {tried} times" if tried > 1 else "It was tried once"
        if self.why == "asked":
            return f"{times}, and asks to be left alone {_for(self.asked)}, which is longer than is waited."
        return f"{times}, and there was no time for another attempt." if self.why == "time" else f"{times}."

    @property
    def hopeless(self) -> bool:
        """Whether it asks to be left alone for so long that to call it again is no use to anybody."""
        return self.why == "asked" and not (self.asked or 0.0) <= LONGEST


def _for(seconds: float | None) -> str:
    """How long somebody wants to be left alone, never less than they said."""
    if seconds is None or not seconds < _EVER:
        return "for ever"
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= 2 * size), (1, "second"))
    many = math.ceil(seconds / size)
    return f"for {many:,} {unit}{'' if many == 1 else 's'}"


def pause(retry: Retry, tried: int, asked: float | None, draw: float) -> float:
    """Seconds before the next attempt.

    Args:
        retry: the settings.
        tried: how many attempts there were, at least 1.
        asked: seconds that the other side asks to be left alone for, if it does.
        draw: at random, from 0 to 1.
    """
    longest = min(retry.cap, retry.base * 2.0 ** min(max(tried, 1) - 1, _MOST_DOUBLED))
    return max(asked or 0.0, 0.0) + draw * longest


def again_at(
    retry: Retry, *, tried: int, began: int, now: int, asked: float | None, draw: float, left: float | None = None
) -> int | Over:
    """When the next attempt may begin, or why there is none. Times are milliseconds since 1970.

    Args:
        retry: the settings.
        tried: how many attempts there were.
        began: when the first of them failed.
        now: when the latest failed. A clock that was set back counts as no time at all.
        asked: as in :func:`pause`.
        draw: as in :func:`pause`.
        left: seconds until the deadline of what it is for; ``None``: there is none.
    """
    if tried >= retry.attempts:
        return Over(why="attempts")
    left = min(retry.within - max(now - began, 0) / 1000, math.inf if left is None else left)
    if asked is not None and not asked <= left:  # also what is not a number
        return Over(why="asked", asked=asked)
    seconds = pause(retry, tried, asked, draw)
    return now + math.ceil(seconds * 1000) if seconds <= left else Over(why="time")
