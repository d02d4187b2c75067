"""Where the last good answers of tools stand in the logs of this installation, so that one may answer once more.

Only a place is kept, and never an answer: what is erased from its log is gone from here, too.
"""

from __future__ import annotations

from typing import Protocol

import msgspec


class Place(msgspec.Struct, frozen=True):
    """The record of an answer."""

    session: str
    seq: int


class LastGood(Protocol):
    """What it forgets, or can't keep, is no fault: there is no earlier answer then."""

    def keep(self, key: str, place: Place) -> None:
        """In the place of an earlier one by the same key. The oldest are forgotten when there are too many."""
        ...

    def find(self, key: str) -> Place | None: ...

    def close(self) -> None: ...
