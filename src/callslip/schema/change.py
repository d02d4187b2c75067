"""One change that was made to a call's arguments before their use: the diff that stands in the log (ARGS-02)."""

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

from callslip.schema.field_error import path_text, short_json

MOST_TOLD: Final = 32
"""Changes that are told one by one; the raw text is kept anyway."""
VALUE_LENGTH: Final = 40


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A value was put in the place of another, or taken out."""

    path: tuple[str | int, ...]
    before: Any
    after: Any = None
    dropped: bool = False


def told(changes: Iterable[Change], secret: Collection[str] = ()) -> tuple[str, ...]:
    """One short line for each: ``days: "5" → 5``. Of the arguments named ``secret`` no value is told."""
    lines: list[str] = []
    more = 0
    for change in changes:
        if len(lines) == MOST_TOLD:
            more += 1
        else:
            lines.append(_line(change, secret))
    return (*lines, f"and {more} more") if more else tuple(lines)


def _line(change: Change, secret: Collection[str]) -> str:
    place = path_text(change.path) or "the arguments object"
    if change.path and change.path[0] in secret:
        return f"{place}: changed"
    before = short_json(change.before, VALUE_LENGTH)
    if change.dropped:
        return f"{place}: removed (was {before})"
    return f"{place}: {before} → {short_json(change.after, VALUE_LENGTH)}"
