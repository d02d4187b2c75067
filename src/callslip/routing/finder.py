"""Finds the bound tools by what they do: opened at the first search, kept in the state folder (DEFR-02, DEFR-04)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from callslip.core.routing import SELECT, selects
from callslip.core.tool import ToolSpec
from callslip.ports.embedder import Embedder
from callslip.ports.finder import Findings, Matches
from callslip.routing.card import Card
from callslip.routing.ranker import Answer, Ranker

T = TypeVar("T")
_BY_WORDS = "Tools were searched by their words alone."
_LEFT_OFF = 20
"""Names of one query that are said to be left off."""
_log = logging.getLogger(__name__)


def server_of(name: str) -> str:
    """Where a tool comes from, as its name says: what stands before the last dot, or before ``__``; else nothing."""
    before, _, _ = name.rpartition(".")
    return before or name.partition("__")[0] * ("__" in name)


def card_of(spec: ToolSpec, version: str) -> Card:
    """What search knows of a tool."""
    properties = spec.input_schema.get("properties")
    described = properties if isinstance(properties, dict) else {}
    return Card(
        id=spec.name,
        name=spec.name,
        server=server_of(spec.name),
        description=spec.description,
        parameters=tuple((str(name), _words(said)) for name, said in described.items()),
        tags=tuple(filter(None, (*spec.tags, spec.category))),
        version=version,
    )


def _words(schema: object) -> str:
    said = schema.get("description") if isinstance(schema, dict) else None
    return said if isinstance(said, str) else ""


class ToolFinder:
    """Searches in a worker thread, one search after the other."""

    def __init__(
        self, cards: Iterable[Card], *, path: Path | None = None, embedder: Callable[[], Embedder | None] | None = None
    ) -> None:
        """``path``: the file that keeps the index between processes. ``embedder`` makes what compares by meaning, when
        the first search needs it.
        """
        self._cards = tuple(cards)
        self._path = path
        self._embedder = embedder
        self._ranker: Ranker | None = None
        self._told: set[str] = set()
        self._one = asyncio.Lock()
        self.servers = tuple(sorted({card.server for card in self._cards if card.server}))

    def close(self) -> None:
        """Let go of the index."""
        if self._ranker is not None:
            self._ranker.close()
            self._ranker = None

    async def search(self, queries: Sequence[str], most: int, *, server: str = "") -> Findings:
        return await self._alone(lambda ranker: self._search(ranker, queries, most, server))

    async def likely(self, text: str, most: int, *, without: Collection[str] = ()) -> tuple[str, ...]:
        hits = await self._alone(lambda ranker: ranker.likely(text, most, without=without))
        return tuple(hit.id for hit in hits)

    def _search(self, ranker: Ranker, queries: Sequence[str], most: int, server: str) -> Findings:
        answers = [ranker.search([query], most, server=server or None) for query in queries]
        blind = any(self._tell(answer.trouble) for answer in answers)
        kept = set(_first(answers, most))
        matches = [
            Matches(
                query=query,
                tools=tuple(hit.id for hit in answer.hits if hit.id in kept),
                nothing=answer.nothing,
                nearest=tuple(hit.id for hit in answer.nearest),
                unknown=answer.unknown,
                left_off=_left_off(ranker, query, server, kept),
                note=answer.note,
            )
            for query, answer in zip(queries, answers, strict=True)
        ]
        return Findings(matches=tuple(matches), trouble=_BY_WORDS if blind else "")

    def _tell(self, trouble: str) -> bool:
        """Tell whoever operates this, once. A model can do nothing about it, and paths and servers are none of its
        business.
        """
        if trouble and trouble not in self._told:
            self._told.add(trouble)
            _log.warning("Tool search: %s", trouble)
        return bool(trouble)

    async def _alone(self, work: Callable[[Ranker], T]) -> T:
        async with self._one:
            return await anyio.to_thread.run_sync(lambda: work(self._opened()))

    def _opened(self) -> Ranker:
        if self._ranker is None:
            embedder = None
            try:
                embedder = self._embedder() if self._embedder is not None else None
            except Exception as error:  # noqa: BLE001 - whatever it is, words go on
                self._tell(f"What compares by meaning could not be loaded ({error}). Tools are searched by words.")
            self._ranker = Ranker(self._cards, embedder=embedder, path=self._path)
            self._tell(self._ranker.updated.trouble)
        return self._ranker


def _left_off(ranker: Ranker, query: str, server: str, kept: Collection[str]) -> tuple[str, ...]:
    """Tools that the query asks for by name, and that the others leave no place for."""
    if not selects(query):
        return ()
    chosen = ranker.select(query.strip()[len(SELECT) :], server=server or None)
    return tuple(hit.id for hit in chosen if hit.id not in kept)[:_LEFT_OFF]


def _first(answers: Sequence[Answer], most: int) -> list[str]:
    """The best of each answer, then the second of each, ``most`` in all."""
    longest = max((len(answer.hits) for answer in answers), default=0)
    order = (answer.hits[at].id for at in range(longest) for answer in answers if at < len(answer.hits))
    return list(dict.fromkeys(order))[:most]
