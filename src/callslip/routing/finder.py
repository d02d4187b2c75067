"""Finds the bound tools by what they do: opened at the first search, kept in the state folder (DEFR-02, DEFR-04)."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread

from callslip.core.routing import SELECT, selects
from callslip.core.tool import ToolSpec
from callslip.ports.embedder import Embedder
from callslip.ports.finder import Findings, Matches
from callslip.routing.by_name import names_of
from callslip.routing.card import Card
from callslip.routing.kept_vectors import beside
from callslip.routing.meaning import Meaning
from callslip.routing.ranker import Answer, Ranker

T = TypeVar("T")
_BY_WORDS = "Tools were searched by their words alone."
_LEFT_OFF = 20
"""Names of one query that are said to be left off."""
_THREADS = 8
"""Searches at once: more than may wait for an embedder elsewhere, so that those that need none go on."""
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
    """Searches in worker threads, which nobody has to wait for: what has to be looked up elsewhere keeps none waiting
    but who needs it, and not for long.
    """

    def __init__(
        self,
        cards: Iterable[Card],
        *,
        path: Path | None = None,
        embedder: Callable[[], Embedder | None] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``path``: the file that keeps the index between processes. ``embedder`` makes what compares by meaning, when
        the first search needs it; what failed of that is tried again after a while by ``monotonic``, in seconds.
        """
        self._cards = tuple(cards)
        self._path = path
        kept = None if path is None else beside(path)
        self._meaning = None if embedder is None else Meaning(self._cards, embedder, kept, monotonic)
        self._ranker: Ranker | None = None
        self._opening = threading.Lock()
        self._closed = False
        self._told: set[str] = set()
        self._limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, anyio.CapacityLimiter] = WeakKeyDictionary()
        self.servers = tuple(sorted({card.server for card in self._cards if card.server}))

    @property
    def doing(self) -> str:
        """What it is at that may take long, in words; empty: nothing."""
        return "" if self._meaning is None else self._meaning.doing

    def close(self) -> None:
        """Let go of the index."""
        self._closed = True
        if self._meaning is not None:
            self._meaning.close()
        ranker, self._ranker = self._ranker, None
        if ranker is not None:
            ranker.close()

    async def search(self, queries: Sequence[str], most: int, *, server: str = "") -> Findings:
        if self._meaning is not None and not all(map(selects, queries)):
            await self._meaning.ready()
        return await self._beside(lambda: self._search(self._opened(), queries, most, server))

    async def likely(self, text: str, most: int, *, without: Collection[str] = ()) -> tuple[str, ...]:
        if self._meaning is not None:
            await self._meaning.ready()
        answer = await self._beside(lambda: self._opened().likely(text, most, without=without))
        self._tell(answer.trouble)
        return tuple(hit.id for hit in answer.hits)

    async def _beside(self, work: Callable[[], T]) -> T:
        """In a thread; who gives it up waits no longer."""
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._threads())

    def _threads(self) -> anyio.CapacityLimiter:
        """Its own, so that searches which wait keep no thread from tools; one for each loop that it is used in."""
        loop = asyncio.get_running_loop()
        if loop not in self._limiters:
            self._limiters[loop] = anyio.CapacityLimiter(_THREADS)
        return self._limiters[loop]

    def _search(self, ranker: Ranker, queries: Sequence[str], most: int, server: str) -> Findings:
        answers = [ranker.search([query], most, server=server or None) for query in queries]
        blind = [answer for answer in answers if self._tell(answer.trouble)]
        kept = set(_first(queries, answers, most))
        matches = [
            Matches(
                query=query,
                tools=tuple(hit.id for hit in answer.hits if hit.id in kept),
                nothing=answer.nothing,
                nearest=tuple(hit.id for hit in answer.nearest),
                unknown=answer.unknown,
                **_by_name(ranker, query, server, kept, len(answer.unknown)),
                note=" ".join(filter(None, (answer.note, _no_place(query, answer, kept)))),
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

    def _opened(self) -> Ranker:
        """The ranker, with what there is by now that compares by meaning."""
        with self._opening:
            if self._ranker is None:
                ranker = Ranker(self._cards, path=self._path)
                self._tell(ranker.updated.trouble)
                self._ranker = None if self._closed else ranker  # of a search that nobody waits for any more
            else:
                ranker = self._ranker
            if self._meaning is not None:
                self._tell(self._meaning.trouble)
                ranker.by_meaning(self._meaning.vectors, self._meaning.trouble)
            return ranker


def _by_name(ranker: Ranker, query: str, server: str, kept: Collection[str], said: int) -> dict[str, Any]:
    """Of a query that names tools: those that the others leave no place for; how many more there are of these, and of
    unknown ones, than so many that are ``said``.
    """
    if not selects(query):
        return {}
    asked = query.strip()[len(SELECT) :]
    chosen = ranker.select(asked, server=server or None)
    left = [hit.id for hit in chosen if hit.id not in kept]
    more = 0
    if said:
        named = functools.partial(ranker.select, server=server or None)
        more = sum(not named(name) for name in names_of(asked)) - said
    return {
        "left_off": tuple(left[:_LEFT_OFF]),
        "more_left_off": max(0, len(left) - _LEFT_OFF),
        "more_unknown": max(0, more),
    }


def _no_place(query: str, answer: Answer, kept: Collection[str]) -> str:
    """Of a query in words that something fits: that the others leave no place for any of it."""
    lost = answer.hits and not selects(query) and not any(hit.id in kept for hit in answer.hits)
    return "Other queries have taken all places of this search. Search for this one by itself." if lost else ""


def _first(queries: Sequence[str], answers: Sequence[Answer], most: int) -> list[str]:
    """What is asked for by name, then what words find, ``most`` in all: of both the best of each, then the second."""
    pairs = list(zip(queries, answers, strict=True))
    named = [answer for query, answer in pairs if selects(query)]
    order = [*_in_turns(named), *_in_turns([answer for query, answer in pairs if not selects(query)])]
    return list(dict.fromkeys(order))[:most]


def _in_turns(answers: Sequence[Answer]) -> list[str]:
    longest = max((len(answer.hits) for answer in answers), default=0)
    return [answer.hits[at].id for at in range(longest) for answer in answers if at < len(answer.hits)]
