"""Where a word stands: the tools that have it, and how strongly it speaks for each.

Read from the full-text index at a word's first use and kept, 8 bytes a tool. Weighing a request is then a walk along
its words' lists: exact, and quicker than FTS5's own ranking, which works its scores out anew for every request.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Mapping

import msgspec

from callslip.routing.columns import COLUMNS, strength

_FIND = "select doc, col from place where term = ?"
_ALL = "select term from term"
_COMMON = "select term from term where doc >= ?"
_KEPT = 4_000_000
"""Places kept; beyond, all are forgotten and read again as they are asked for."""


class Posting(msgspec.Struct, frozen=True):
    """A word's tools, by number, in order, and beside each its strength."""

    tools: array[int]
    strengths: array[float]


_AT = {column: at for at, column in enumerate(COLUMNS)}
_NOWHERE = Posting(array("I"), array("f"))


class Postings:
    """The lists of all words of an index, until the index changes."""

    def __init__(self, db: sqlite3.Connection, weights: Mapping[int, tuple[float, ...]]) -> None:
        """``weights``: by tool, what an occurrence weighs in each column."""
        self._db = db
        self._weights = weights
        self._lists: dict[str, Posting] = {}
        self._size = 0
        self._terms: frozenset[str] | None = None

    @property
    def terms(self) -> frozenset[str]:
        """All words that any tool has."""
        if self._terms is None:
            self._terms = frozenset(term for (term,) in self._db.execute(_ALL))
        return self._terms

    def prepare(self, having: int) -> None:
        """Read the lists of the words that so many tools have: the longest ones, which a search would wait for."""
        for term in sorted(term for (term,) in self._db.execute(_COMMON, (having,))):
            self._read(term)

    def __getitem__(self, word: str) -> Posting:
        """The word's list; empty where no tool has it."""
        known = self._lists.get(word)
        if known is None:
            known = self._read(word) if word in self.terms else _NOWHERE
        return known

    def _read(self, word: str) -> Posting:
        occurrences: dict[int, float] = {}
        for tool, column in self._db.execute(_FIND, (word,)):
            occurrences[tool] = occurrences.get(tool, 0.0) + self._weights[tool][_AT[column]]
        if self._size > _KEPT:
            self._lists.clear()
            self._size = 0
        self._size += len(occurrences)
        made = Posting(array("I", occurrences), array("f", map(strength, occurrences.values())))
        self._lists[word] = made
        return made
