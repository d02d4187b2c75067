"""What finds tools by what they do (DEFR-02, DEFR-04)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """A name that was asked for and that no tool has."""

    name: str
    near: tuple[str, ...] = ()
    """Names that may have been meant, best first."""


class Matches(msgspec.Struct, frozen=True, kw_only=True):
    """What was found for one query."""

    query: str
    tools: tuple[str, ...] = ()
    """Names, best first; empty when nothing fits."""
    nothing: str = ""
    """Why nothing is offered, as a sentence; empty when something is."""
    nearest: tuple[str, ...] = ()
    """When nothing fits: names of what came nearest. They can be chosen by name."""
    unknown: tuple[Unknown, ...] = ()
    """Of a query that names tools: the names that no tool has, as many as are said."""
    more_unknown: int = 0
    """How many more there are."""
    left_off: tuple[str, ...] = ()
    """Of a query that names tools: those that are there, and more than one search gives, as many as are said."""
    more_left_off: int = 0
    """How many more there are."""
    note: str = ""
    """What else is to be known of it, as sentences."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What was found for each query, in their order."""

    matches: tuple[Matches, ...]
    trouble: str = ""
    """What did not work, for the model: nothing of paths or servers."""


class Finder(Protocol):
    """Knows the bound tools and no others: search never widens what is bound (DEFR-03)."""

    @property
    def servers(self) -> tuple[str, ...]:
        """Where tools come from, as a search may name it."""
        ...

    @property
    def doing(self) -> str:
        """What it is at that may take long, in words; empty: nothing."""
        ...

    async def search(self, queries: Sequence[str], most: int, *, server: str = "") -> Findings:
        """What fits each query, ``most`` tools in all; ``select:NAME[,NAME]`` finds exactly these.

        Never fails for what a query says.
        """
        ...

    async def likely(self, text: str, most: int, *, without: Collection[str] = ()) -> tuple[str, ...]:
        """Names of the tools that may well be needed for what was said, best first, besides these. Less is asked of
        them than of what a search finds: they are shown, and nobody says that they fit.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...
