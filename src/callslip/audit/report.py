"""What a verification of the audit found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

Kind = Literal["chain", "cut", "gap", "foreign", "double", "altered", "log", "anchor"]
_MOST_SPANS = 20


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not as it was written."""

    kind: Kind
    message: str
    n: int | None = None
    """The entry it is about."""
    session: str = ""
    positions: tuple[int, ...] = ()
    """Of the session's log."""


class Report(msgspec.Struct, kw_only=True):
    """The problems stand in the order of the book; those that are about no single entry come last."""

    entries: int = 0
    digest: str = ""
    """Of the last entry, hex: with ``entries`` the head, to be kept elsewhere and compared."""
    sessions: int = 0
    anchors: int = 0
    """Kept heads that fit."""
    anchored: int = 0
    """Entries up to the last kept head that fits; those after it are not anchored."""
    anchored_at: int | None = None
    problems: list[Problem] = []
    notices: list[str] = []
    """What is no fault, and should be known: what is not told yet, what was put back."""

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def unanchored(self) -> int:
        return self.entries - self.anchored

    def found(self, kind: Kind, message: str, **about: Any) -> None:
        """Note a problem."""
        self.problems.append(Problem(kind=kind, message=message, **about))


def named(positions: Iterable[int]) -> str:
    """Records in words: ``record 3``, ``records 3 to 5, 9``."""
    found: list[list[int]] = []
    for position in sorted(positions):
        if found and position == found[-1][1] + 1:
            found[-1][1] = position
        else:
            found.append([position, position])
    words = [f"{first}" if first == last else f"{first} to {last}" for first, last in found]
    more = f" and {len(words) - _MOST_SPANS} more" if len(words) > _MOST_SPANS else ""
    one = len(found) == 1 and found[0][0] == found[0][1]
    return f"record{'' if one else 's'} {', '.join(words[:_MOST_SPANS])}{more}"
