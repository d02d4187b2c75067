"""That something else answers in the place of the tool that was called (RESI-05)."""

from __future__ import annotations

from typing import Literal

import msgspec

CACHE = "cache"
"""As a source: an earlier answer of the very tool."""
OPEN = "breaker_open"
"""The code of a call that is not made because its tool is left alone."""
FALLBACK = "fallback"
"""As a caller: a tool that stands in was named by the one that was called, and need not be shown to models."""


class Instead(msgspec.Struct, frozen=True, kw_only=True):
    """Another tool is to answer."""

    tool: str
    """Which."""
    of: str
    """The one that was called."""
    why: str
    """The code of what became of that: ``breaker_open``, or how it failed."""


class Fallback(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What has answered in the place of the tool that was called."""

    source: str
    """A tool's name, or ``cache``: the last good answer of the tool itself to the same arguments."""
    of: str
    """The tool that was called."""
    why: str
    """The code of what became of that."""
    age_ms: int | None = None
    """Of an earlier answer."""


def in_words(instead: Instead) -> str:
    """For which tool it stands in and why, for whoever decides on it: ``in place of`` …"""
    how = "is left alone because it keeps failing" if instead.why == OPEN else "failed"
    return f"in place of {instead.of}, which {how} ({instead.why})"


def disclosure(fallback: Fallback, *, ended: Literal["well", "badly", "unknown"] = "well") -> str:
    """What the model is told first, so that it tells the user. ``ended``: how it went for what stood in."""
    if fallback.source == CACHE:
        return (
            f"This is an earlier answer of {fallback.of}, {_age(fallback.age_ms or 0)} old, because {fallback.of} "
            f"fails now ({fallback.why}). It may be out of date. Say so to the user, and how old it is."
        )
    if ended != "well":
        came = "and failed too" if ended == "badly" else "and nobody knows what came of that"
        return (
            f"{fallback.of} failed ({fallback.why}), {fallback.source} was tried in its place, {came}. "
            "Say so to the user."
        )
    return f"Answered by {fallback.source} because {fallback.of} failed ({fallback.why}). Say so to the user."


def _age(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    if not seconds:
        return "less than a second"
    for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            many = seconds // size
            return f"{many} {name}{'s' if many != 1 else ''}"
    return f"{seconds} second{'s' if seconds != 1 else ''}"
