"""What a turn had to find, as far as the log says: what was offered to its model, when and for which words, and what it
called.

Steps are counted from 1 in each turn.
"""

from __future__ import annotations

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
    """Words for which a request was preselected tools."""

    step: int
    text: str | None
    tools: tuple[str, ...]


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
    words: str | None = ""
    """What the user said."""
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

    def led_on(self, search: Search) -> bool:
        """Whether anything that the search gave was called afterwards."""
        return any(self.called.get(name, 0) >= search.step for name in search.tools)


def in_turns(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The first of each list, then the second of each, every name once."""
    longest = max(map(len, lists), default=0)
    return tuple(dict.fromkeys(one[at] for at in range(longest) for one in lists if at < len(one)))
