"""The tools that fit a request: words and meaning together, exact names first, and an honest word when nothing does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from callslip.ports.embedder import Embedder
from callslip.routing import fit
from callslip.routing.card import Card
from callslip.routing.exact import Names
from callslip.routing.fuse import fuse
from callslip.routing.hit import Hit
from callslip.routing.lexical import LexicalIndex, Update
from callslip.routing.request import Request, read
from callslip.routing.unspaced import share
from callslip.routing.vectors import Near, VectorIndex

_NEAREST = 50
"""Tools that are looked at for their meaning alone."""
_ENOUGH = 50
"""Tools from which on nearness, which is relative to the average tool, tells enough to be asked for by the bar."""
_MISSES = 3
SELECT = "select:"
"""A query that begins so names tools, separated by commas, and finds these only."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What was found for a request."""

    hits: tuple[Hit, ...] = ()
    """Best first; empty when nothing fits."""
    nothing: str = ""
    """Why nothing is offered; empty when something is."""
    nearest: tuple[Hit, ...] = ()
    """When nothing fits: what came nearest, up to three. They can be chosen by name."""
    trouble: str = ""
    """What did not work, and what was done instead: an embedder that failed."""


class _Ranked(msgspec.Struct, frozen=True):
    """A request's tools in order, and how the order was come by."""

    request: Request
    hits: list[Hit]
    by_meaning: bool = False
    trouble: str = ""


class Ranker:
    """Ranks the tools it was given, and no others: search never widens what is bound (DEFR-03)."""

    def __init__(
        self, cards: Iterable[Card] = (), *, embedder: Embedder | None = None, path: Path | None = None
    ) -> None:
        """``path``: a file that keeps the index between processes; the vectors' stands beside it.

        Raises:
            ConfigError: SQLite lacks FTS5, or an embedder was given and numpy isn't installed.
        """
        self._lexical = LexicalIndex(path)
        beside = None if path is None else path.with_name(path.name + ".vectors")
        self._vectors = None if embedder is None else VectorIndex(embedder, beside)
        self._blind = ""
        self._names = Names(())
        self.updated = self.update(cards)
        """What the last update did."""

    def close(self) -> None:
        self._lexical.close()

    def update(self, cards: Iterable[Card]) -> Update:
        """Make these the tools; only what is new or changed is indexed. Its ``trouble`` says what did not work."""
        known = tuple(cards)
        done = self._lexical.update(known)
        self._names = Names({card.id: card for card in known}.values())
        self._blind = ""
        trouble = [done.trouble]
        if self._vectors is not None:
            try:
                trouble.append(self._vectors.update(known))
            except Exception as error:  # noqa: BLE001 - whatever an embedder raises, words go on
                self._blind = _failed(error)
                trouble.append(self._blind)
        self.updated = msgspec.structs.replace(done, trouble=" ".join(part for part in trouble if part))
        return self.updated

    def rank(self, query: str, k: int, *, server: str | None = None) -> list[Hit]:
        """The best ``k`` tools, best first, whether or not they fit."""
        return self._ranked(query, server).hits[: max(0, k)]

    def search(
        self, queries: Sequence[str], k: int, *, server: str | None = None, without: Collection[str] = ()
    ) -> Answer:
        """What fits the queries, one for each thing that is wanted, ``k`` tools in all; or that nothing does.

        ``select:NAME[,NAME]`` finds exactly these. Each query that anything fits gets its turn: first the best tool of
        each, then the second of each, and so on. Tools of ``without`` are left out, as if they weren't there: those
        that the model sees already, for one.
        """
        found: list[list[Hit]] = []
        missed: list[list[Hit]] = []
        trouble = ""
        for query in queries:
            if query.strip().casefold().startswith(SELECT):
                chosen = [
                    hit for hit in self.select(query.strip()[len(SELECT) :], server=server) if hit.id not in without
                ]
                (found if chosen else missed).append(chosen)
                continue
            ranked = self._ranked(query, server, without)
            trouble = trouble or ranked.trouble
            (found if self._fits(ranked) else missed).append(ranked.hits)
        hits = _in_turns(found)[: max(0, k)]
        if hits:
            return Answer(hits=tuple(hits), trouble=trouble)
        nearest = tuple(_in_turns(missed)[:_MISSES])
        return Answer(nothing=self._why(queries, nearest, server), nearest=nearest, trouble=trouble)

    def likely(self, text: str, k: int, *, without: Collection[str] = ()) -> list[Hit]:
        """The best ``k`` tools for what was said, unless it seems to be about none of them."""
        ranked = self._ranked(text, None, without)
        if not ranked.hits or not (ranked.hits[0].exact or self._lexical.tells_apart(ranked.request)):
            return []
        if not fit.likely(ranked.hits, self._mentioned(ranked), by_meaning=ranked.by_meaning):
            return []
        return ranked.hits[: max(0, k)]

    def rank_many(self, queries: Sequence[str], k: int, *, server: str | None = None) -> list[Hit]:
        """The best ``k`` tools for several queries in turns, whether or not they fit."""
        return _in_turns([self.rank(query, k, server=server) for query in queries])[: max(0, k)]

    def select(self, names: str, *, server: str | None = None) -> list[Hit]:
        """The tools that go by these names, separated by commas; what is unknown is left out."""
        wanted = [name.strip() for name in names.split(",") if name.strip()]
        return [
            Hit(id=found, score=1.0, coverage=1.0, exact=True)
            for found in dict.fromkeys(found for name in wanted for found in self._names.named([name], server))
        ]

    def _ranked(self, query: str, server: str | None, without: Collection[str] = ()) -> _Ranked:
        request = read(query)
        hits = [hit for hit in self._lexical.weigh(request, server=server) if hit.id not in without]
        if self._vectors is None or self._blind or not request.words:
            return _Ranked(request, fuse(hits), trouble=self._blind)
        trust = 1.0 if self._vectors.embedder.reads_unspaced else 1.0 - share(request.text)
        try:
            near = self._vectors.near(request, _NEAREST, also=[hit.id for hit in hits], server=server)
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises, words go on
            return _Ranked(request, fuse(hits), trouble=_failed(error))
        near = Near(scores={key: value for key, value in near.scores.items() if key not in without})
        return _Ranked(request, fuse(hits, near, trust=trust), by_meaning=trust > 0 and len(self._vectors) >= _ENOUGH)

    def _fits(self, ranked: _Ranked) -> bool:
        if ranked.hits and not ranked.hits[0].exact and not self._lexical.tells_apart(ranked.request):
            return False
        return fit.fits(ranked.hits, self._mentioned(ranked), by_meaning=ranked.by_meaning)

    def _mentioned(self, ranked: _Ranked) -> float:
        return self._lexical.mentioned(ranked.hits[0].id, ranked.request) if ranked.hits else 0.0

    def _why(self, queries: Sequence[str], nearest: Sequence[Hit], server: str | None) -> str:
        of = "" if server is None else f" of the server {server!r}"
        if not len(self._lexical):
            return "There are no tools to search."
        if not any(read(query).words for query in queries):
            return "The query has no words to search by. Name what the tool should do, in a few words."
        if any(query.strip().casefold().startswith(SELECT) for query in queries) and not nearest:
            return f"No tool{of} has that name. Search for what it should do instead."
        if not nearest:
            return f"No tool{of} has any of the words. Nothing here does that, or it is called something else."
        return f"No tool{of} fits well enough to be offered. The nearest may still be chosen by name."


def _in_turns(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    longest = max((len(each) for each in lists), default=0)
    order = (each[at] for at in range(longest) for each in lists if at < len(each))
    return list({hit.id: hit for hit in reversed(list(order))}.values())[::-1]


def _failed(error: Exception) -> str:
    return f"The embedder failed ({type(error).__name__}: {error}). Tools were searched by words alone."
