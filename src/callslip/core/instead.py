"""That something else answers in the place of the tool that was called (RESI-05)."""

from __future__ import annotations

import msgspec

CACHE = "cache"
"""As a source: an earlier answer of the very tool."""
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


def disclosure(fallback: Fallback) -> str:
    """What the model is told first, so that it tells the user."""
    if fallback.source == CACHE:
        return (
            f"This is an earlier answer of {fallback.of}, {_age(fallback.age_ms or 0)} old, because {fallback.of} "
            f"fails now ({fallback.why}). It may be out of date. Say so to the user, and how old it is."
        )
    return f"Answered by {fallback.source} because {fallback.of} failed ({fallback.why}). Say so to the user."


def _age(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            many = seconds // size
            return f"{many} {name}{'s' if many != 1 else ''}"
    return f"{seconds} second{'s' if seconds != 1 else ''}"
