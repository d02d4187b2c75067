"""What a turn had to find, as far as the log says: what was offered to its model, when and for which words, and what it
called.

Steps are counted from 1 in each turn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """One query of a search, and what it gave."""

    text: str | None
    """``None``: it was erased, or can't be read."""
    tools: tuple[str, ...] = ()
    """Best first."""
    nothing: bool = False
    """It was said that nothing fits."""
    nearest: tuple[str, ...] = ()
    named: bool = False
    """It names tools (``select:``): what it gives is no merit of the search."""


class Search(msgspec.Struct, kw_only=True):
    """A search that has an answer."""

    step: int
    queries: tuple[Query, ...]
    ranked: bool = True
    """In which order it gave them is known."""
    pinned: frozenset[str] = frozenset()
    """Of what it gave, what the model was shown anyway."""
    no_room: int = 0
    """Tools that fit, and were not made visible since the turn shows no more."""
    addresses: frozenset[str] = frozenset()
    """Where its words are kept."""

    @property
    def readable(self) -> bool:
        return all(query.text is not None for query in self.queries)

    @property
    def tools(self) -> tuple[str, ...]:
        """All it gave: the best of each query first, then the second of each."""
        return in_turns([query.tools for query in self.queries])

    def places(self) -> Iterator[tuple[str, int, Query]]:
        """Each tool with its rank in the query that it fits best. Where one is named and described too, the description
        has found it.
        """
        for name in self.tools:
            yield (
                name,
                *min(
                    ((query.tools.index(name) + 1, query) for query in self.queries if name in query.tools),
                    key=lambda place: (place[1].named, place[0]),
                ),
            )


class Saying(msgspec.Struct, frozen=True, kw_only=True):
    """What was said since the request before: the user's words, and the model's plan as it called its tools."""

    step: int
    """The request that was the first to show it."""
    text: str | None
    tools: tuple[str, ...] = ()
    """What was preselected for it."""
    by_user: bool = True
    """Some of it."""


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that had to be found was called, for the first time in its turn."""

    step: int
    unshown: bool
    """The call was refused, since the tool had not been shown."""


class Turn(msgspec.Struct, kw_only=True):
    """A turn."""

    session: str
    number: int
    at: int
    """When it began: milliseconds since 1970."""
    steps: int = 0
    ended: bool = False
    finds: bool = False
    """There was something to be found."""
    shown: int = 0
    """Tools that its requests have shown, all together."""
    shown_found: int = 0
    """Of these, those that had been offered in the turn."""
    carried: tuple[str, ...] = ()
    """What the session it was forked from had found."""
    sayings: list[Saying] = []
    searches: list[Search] = []
    unanswered: Counter[str] = msgspec.field(default_factory=Counter)
    """Searches that came to nothing, by the code of the error."""
    used: dict[str, Use] = {}
    called: dict[str, int] = {}
    """Every tool that was called, whatever came of it, also those that are always shown: in which step it was last."""
    succeeded: dict[str, list[int]] = {}
    """In which steps each tool was called that the gate let through and that has done what it was asked."""

    def led_on(self, search: Search) -> bool:
        """Whether anything that the search gave was called afterwards."""
        return any(self.called.get(name, 0) >= search.step for name in search.tools)

    def unmet(self, search: Search) -> tuple[Query, ...]:
        """The queries that led to nothing: all, where nothing that the search gave was called; else those for which it
        said that nothing fits, since each asks for another thing. A name that no tool has is no need.
        """
        if not self.led_on(search):
            return search.queries
        return tuple(query for query in search.queries if query.nothing and not query.named)

    def served(self, tool: str, since: int, before: float = math.inf) -> bool:
        """Whether a call of the tool succeeded from one step on, and before another one."""
        return any(since <= step < before for step in self.succeeded.get(tool, ()))

    def said_after(self, step: int) -> float:
        """The step of the next thing that was said; infinite: there was none."""
        return min((saying.step for saying in self.sayings if saying.step > step), default=math.inf)

    def said_after_search(self, search: Search) -> float:
        """The same after a search, where what the model said as it searched is still about the search."""
        beside = any(saying.step == search.step + 1 and not saying.by_user for saying in self.sayings)
        return self.said_after(search.step + beside)


def in_turns(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The first of each list, then the second of each, every name once."""
    longest = max(map(len, lists), default=0)
    return tuple(dict.fromkeys(one[at] for at in range(longest) for one in lists if at < len(one)))
