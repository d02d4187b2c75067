"""The tools that fit a request: words and meaning together, exact names first, and an honest word when nothing does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from callslip.core.routing import SELECT, selects
from callslip.ports.embedder import Embedder
from callslip.ports.finder import Unknown
from callslip.routing import fit
from callslip.routing.by_name import NO_NAMES, ByName, names_of
from callslip.routing.card import Card
from callslip.routing.exact import Names
from callslip.routing.fuse import fuse
from callslip.routing.hit import Hit
from callslip.routing.kept_vectors import beside
from callslip.routing.lexical import LexicalIndex, Update
from callslip.routing.patient import EmbedderBusy, why
from callslip.routing.request import Request, read
from callslip.routing.unspaced import share
from callslip.routing.vectors import Near, VectorIndex

_NEAREST = 50
"""Tools that are looked at for their meaning alone."""
_ENOUGH = 50
"""Tools from which on nearness, which is relative to the average tool, tells enough to be asked for by the bar."""
_MISSES = 3


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
    unknown: tuple[Unknown, ...] = ()
    """Names that were asked for by ``select:`` and that no tool has."""
    note: str = ""
    """What else is to be known of it, as sentences."""


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
        self._vectors = None if embedder is None else VectorIndex(embedder, None if path is None else beside(path))
        self._blind = ""
        self._names = Names(())
        self._by_name = ByName((), self._names)
        self.updated = self.update(cards)
        """What the last update did."""

    def close(self) -> None:
        self._lexical.close()

    def by_meaning(self, vectors: VectorIndex | None, without: str) -> None:
        """From now on compare by meaning with these; or with none, for the reason that is given."""
        self._vectors = vectors
        self._blind = without if vectors is None else ""

    def update(self, cards: Iterable[Card]) -> Update:
        """Make these the tools; only what is new or changed is indexed. Its ``trouble`` says what did not work."""
        known = tuple(cards)
        done = self._lexical.update(known)
        there = {card.id: card for card in known}.values()
        self._names = Names(there)
        self._by_name = ByName(tuple(there), self._names)
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

        ``select:NAME[,NAME]`` finds exactly these, and a server's name alone the server's tools. Each query that
        anything fits gets its turn: first the best tool of each, then the second of each, and so on. Tools of
        ``without`` are left out, as if they weren't there: those that the model sees already, for one.
        """
        found: list[list[Hit]] = []
        missed: list[list[Hit]] = []
        trouble = ""
        unknown: tuple[Unknown, ...] = ()
        notes: list[str] = []
        for query in queries:
            if selects(query):
                names = query.strip()[len(SELECT) :]
                chosen = [hit for hit in self.select(names, server=server) if hit.id not in without]
                (found if chosen else missed).append(chosen)
                missing, note = self._by_name.unknown(names_of(names), server)
                unknown += missing
                notes.append(note)
                continue
            if of := self._of_server(query, server, without):
                found.append(of)
                notes.append(_server_said(query, len(of)))
                continue
            ranked = self._ranked(query, server, without)
            trouble = trouble or ranked.trouble
            if self._fits(ranked):
                found.append(fit.worth(ranked.hits))
            else:
                missed.append(ranked.hits)
        hits = _in_turns(found)[: max(0, k)]
        said = " ".join(filter(None, notes))
        if hits:
            return Answer(hits=tuple(hits), trouble=trouble, unknown=unknown, note=said)
        nearest = tuple(_in_turns(missed)[:_MISSES])
        why = self._why(queries, nearest, server)
        return Answer(nothing=why, nearest=nearest, trouble=trouble, unknown=unknown, note=said)

    def likely(self, text: str, k: int, *, without: Collection[str] = ()) -> Answer:
        """The best ``k`` tools for what was said, unless it seems to be about none of them."""
        ranked = self._ranked(text, None, without)
        if not ranked.hits or not (ranked.hits[0].exact or self._lexical.tells_apart(ranked.request)):
            return Answer(trouble=ranked.trouble)
        if not fit.likely(ranked.hits, self._mentioned(ranked), by_meaning=ranked.by_meaning):
            return Answer(trouble=ranked.trouble)
        return Answer(hits=tuple(fit.worth(ranked.hits)[: max(0, k)]), trouble=ranked.trouble)

    def rank_many(self, queries: Sequence[str], k: int, *, server: str | None = None) -> list[Hit]:
        """The best ``k`` tools for several queries in turns, whether or not they fit."""
        return _in_turns([self.rank(query, k, server=server) for query in queries])[: max(0, k)]

    def select(self, names: str, *, server: str | None = None) -> list[Hit]:
        """The tools that go by these names, separated by commas; what is unknown is left out."""
        return [
            Hit(id=found, score=1.0, coverage=1.0, exact=True)
            for found in dict.fromkeys(found for name in names_of(names) for found in self._by_name.named(name, server))
        ]

    def _of_server(self, query: str, server: str | None, without: Collection[str]) -> list[Hit]:
        """The tools of the server that the query names and nothing else; those first that it fits best anyway."""
        lists = []
        for name, tools in self._by_name.servers(query).items():
            if server is not None and name != server:
                continue
            ranked = {hit.id: hit for hit in self._ranked(query, name, without).hits}
            rest = [Hit(id=tool, score=0.0, coverage=1.0) for tool in tools if tool not in ranked]
            lists.append([*ranked.values(), *(hit for hit in rest if hit.id not in without)])
        return _in_turns(lists)

    def _ranked(self, query: str, server: str | None, without: Collection[str] = ()) -> _Ranked:
        request = read(query)
        hits = [hit for hit in self._lexical.weigh(request, server=server) if hit.id not in without]
        vectors, blind = self._vectors, self._blind  # another thread may just be getting them ready
        if vectors is None or blind or not request.words:
            return _Ranked(request, fuse(hits), trouble=blind)
        trust = 1.0 if vectors.embedder.reads_unspaced else 1.0 - share(request.text)
        try:
            near = vectors.near(request, _NEAREST, also=[hit.id for hit in hits], server=server)
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises, words go on
            return _Ranked(request, fuse(hits), trouble=_failed(error))
        near = Near(scores={key: value for key, value in near.scores.items() if key not in without})
        return _Ranked(request, fuse(hits, near, trust=trust), by_meaning=trust > 0 and len(vectors) >= _ENOUGH)

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
        named = [names_of(query.strip()[len(SELECT) :]) for query in queries if selects(query)]
        if named and not any(named) and not nearest:
            return NO_NAMES
        if named and not nearest:
            return f"No tool{of} has that name. Search for what it should do instead."
        if not nearest:
            return f"No tool{of} has any of the words. Nothing here does that, or it is called something else."
        select = f"{SELECT}{nearest[0].id}"
        return f"No tool{of} fits well enough to be offered. If one of the nearest does, query '{select}'."


def _in_turns(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    longest = max((len(each) for each in lists), default=0)
    order = (each[at] for at in range(longest) for each in lists if at < len(each))
    return list({hit.id: hit for hit in reversed(list(order))}.values())[::-1]


def _server_said(query: str, many: int) -> str:
    """For whoever has named a server and nothing else."""
    tools = f"{many:,} tool{'' if many == 1 else 's'}"
    return f"{query.strip()!r} is a server with {tools}. Say what is needed, to find those that do it."


def _failed(error: Exception) -> str:
    if isinstance(error, EmbedderBusy):
        return "The embedder is busy with other requests of this process. Tools were searched by words alone."
    return f"The embedder failed ({why(error)}). Tools were searched by words alone."
