"""Search by words, on SQLite's FTS5 (DEFR-04).

FTS5 keeps which tool has which word in which column; from that a request is weighed as a whole, and for each wish in
it (:mod:`weigh`). A tool that the request names comes first, whatever else is alike.

The index lives in memory. A file is a copy (:mod:`kept_index`), read when the index is opened and replaced as a whole
when tools have changed: two processes can't get into each other's way, and one that is damaged, or of another version,
or fails in whatever way when it is used, is made anew from the tools themselves, which :class:`Update` says.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import msgspec

from callslip.errors import ConfigError
from callslip.routing import kept_index, typos
from callslip.routing.card import Card
from callslip.routing.columns import columns_of, rarity, weights
from callslip.routing.exact import Names
from callslip.routing.hit import Hit
from callslip.routing.kin import SHARE, SIGNS, is_sign
from callslip.routing.postings import Postings
from callslip.routing.request import Request, read
from callslip.routing.stop_words import LIGHT, LIGHT_WORDS
from callslip.routing.weigh import Term, weigh

_SETUP = (Path(__file__).parent / "lexical.sql").read_text()
_VERSION = 3
_INSERT_CARD = "insert into card values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_TOOL = (
    "insert into tool (rowid, name, server, description, parameters, documentation, tags) values (?, ?, ?, ?, ?, ?, ?)"
)
_CARDS = "select no, id, server, names, servers, descriptions, parameters, documentation, tags from card"
_NAME = "select tool.name from tool join card on tool.rowid = card.no where card.id = ?"
_COMMON = 1_000
"""Words that one in so many tools has are made ready when the tools are (10,000: 0.1 s, and 1 ms off a search)."""
_A_FEW = 8
_MAX_TERMS = 128
"""Words of a request that are looked up, the rarest: a pasted page has hundreds."""


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """What an update did."""

    added: int = 0
    replaced: int = 0
    removed: int = 0
    trouble: str = ""
    """Why the index's file could not be read or written, and what was done about it; empty if nothing happened."""


class LexicalIndex:
    """Tools, found by words.

    Raises:
        ConfigError: this Python's SQLite has no FTS5.
    """

    def __init__(self, path: Path | None = None) -> None:
        """``path``: the file that keeps the index between processes; none: it is made anew each time."""
        self._path = path
        self._one = threading.RLock()
        """Searches come from several threads, and SQLite's connection and the words' lists are shared."""
        self._trouble = ""
        self.unread = ""
        """Why the file could not be used, if so."""
        self._ids: dict[int, str] = {}
        self._servers: dict[str, frozenset[int]] = {}
        self._names = Names(())
        self._db = _empty()
        self._postings = Postings(self._db, {})
        if path is not None:
            self._load(path)

    def close(self) -> None:
        with self._one:
            self._db.close()

    def __len__(self) -> int:
        return len(self._ids)

    def update(self, cards: Iterable[Card]) -> Update:
        """Make these the tools, and index what is new or changed. Of two with one id the later counts."""
        wanted = {card.id: card for card in cards}
        with self._one:
            try:
                done = self._made(wanted)
            except Exception as error:  # noqa: BLE001 - the tools are all that is needed, whatever is wrong with the index
                self._start_over(f"The index could not be used ({type(error).__name__}: {error})")
                done = self._made(wanted)
            self._names = Names(wanted.values())
            if self._path is not None:
                with contextlib.suppress(OSError):
                    kept_index.sweep(self._path)
            if self._path is not None and (any(done) or self._trouble):
                self._save(self._path)
            trouble, self._trouble = self._trouble, ""
            return Update(added=done[0], replaced=done[1], removed=done[2], trouble=trouble)

    def rank(self, query: str, k: int, *, server: str | None = None) -> list[Hit]:
        """The best ``k`` tools, best first; with ``server``, of that server only. Any text is a query."""
        return self.weigh(read(query), server=server)[: max(0, k)]

    def weigh(self, request: Request, *, server: str | None = None) -> list[Hit]:
        """The best tools, best first: at most 50, and those that the request names."""
        with self._one:
            return self._weighed(request, server)

    def _weighed(self, request: Request, server: str | None) -> list[Hit]:
        hits = [
            Hit(id=found, score=1.0, coverage=1.0, exact=True) for found in self._names.named(request.names, server)
        ]
        terms, total = self._terms(request)
        if not terms:
            return hits
        named = {hit.id for hit in hits}
        among = None if server is None else self._servers.get(server, frozenset())
        found = weigh(terms, request.parts, below=max(self._ids) + 1, among=among)
        return hits + [
            Hit(id=key, score=each.score / total, coverage=min(1.0, each.covered / total))
            for each in sorted(found, key=lambda each: (-each.score, self._ids[each.tool]))
            if (key := self._ids[each.tool]) not in named
        ]

    def mentioned(self, key: str, request: Request) -> float:
        """The part of a tool's name, by weight of its words, that the request mentions: 0 to 1."""
        with self._one:
            found = self._db.execute(_NAME, (_blob(key),)).fetchone()
            words = set(found[0].split()) if found else set()
            total = sum(map(self._weight, words))
            return sum(map(self._weight, words.intersection(request.words))) / total if total else 0.0

    def tells_apart(self, request: Request) -> bool:
        """Whether the request has a word that fewer than half of the tools have, unless there are few of them. What
        nearly all have (an account's id among their parameters) explains a request, and says nothing of which is
        meant.
        """
        with self._one:
            if len(self._ids) < _A_FEW:
                return True
            terms, _ = self._terms(request)
            return not terms or any(2 * len(term.posting.tools) < len(self._ids) for term in terms)

    def _terms(self, request: Request) -> tuple[list[Term], float]:
        """The words that are looked up, and the weight of all that the request has."""
        terms: list[Term] = []
        read_into: list[str] = []
        total = 0.0
        for word in request.words:
            posting = self._postings[word]
            weight = self._weight(word)
            if posting.tools:
                terms.append(Term(word=word, weight=weight, posting=posting))
            elif len(read_into) < typos.MOST and typos.is_plain(word):
                read_into.append(word)
            if posting.tools or not (word.isdigit() or word in LIGHT_WORDS):
                total += weight
        asked = {term.word for term in terms}
        for word in read_into:
            others = [other for other in typos.meant(word, self._postings.terms) if other not in asked]
            if others:
                other = max(others, key=lambda other: (len(self._postings[other].tools), other))
                terms.append(Term(word=other, weight=typos.SHARE * self._weight(other), posting=self._postings[other]))
                asked.add(other)
        if len(terms) > _MAX_TERMS:
            terms = sorted(terms, key=lambda term: (len(term.posting.tools), term.word))[:_MAX_TERMS]
        return terms, total

    def _weight(self, word: str) -> float:
        rare = rarity(len(self._postings[word].tools), len(self._ids))
        if word in LIGHT_WORDS:
            rare *= LIGHT
        if is_sign(word):
            return SHARE * rare
        return (1 - SHARE) * rare if word in SIGNS else rare

    def _made(self, wanted: dict[str, Card]) -> tuple[int, int, int]:
        done = self._change(wanted)
        self._read_cards()
        return done

    def _read_cards(self) -> None:
        """What is worked out from the tools as they are."""
        self._ids = {}
        by_server: dict[str, list[int]] = {}
        weighted = {}
        for no, key, server, *lengths in self._db.execute(_CARDS):
            self._ids[no] = _text(key)
            by_server.setdefault(_text(server), []).append(no)
            weighted[no] = weights(lengths)
        self._servers = {server: frozenset(numbers) for server, numbers in by_server.items()}
        self._postings = Postings(self._db, weighted)
        self._postings.prepare(1 + len(self._ids) // _COMMON)

    def _change(self, wanted: dict[str, Card]) -> tuple[int, int, int]:
        there = {
            _text(key): (no, identity) for no, key, identity in self._db.execute("select no, id, identity from card")
        }
        identities = {key: card.identity for key, card in wanted.items()}
        gone = [key for key in there if key not in wanted]
        stale = [key for key in wanted if key in there and there[key][1] != identities[key]]
        new = [key for key in wanted if key not in there]
        with self._db:
            for key in [*gone, *stale]:
                self._db.execute("delete from tool where rowid = ?", (there[key][0],))
                self._db.execute("delete from card where no = ?", (there[key][0],))
            taken = {no for key, (no, _) in there.items() if there[key][1] == identities.get(key)}
            free = (no for no in count(1) if no not in taken)
            columns = [(next(free), wanted[key], columns_of(wanted[key])) for key in [*new, *stale]]
            self._db.executemany(
                _INSERT_CARD,
                [
                    (no, _blob(card.id), identities[card.id], _blob(card.server), *map(len, found))
                    for no, card, found in columns
                ],
            )
            self._db.executemany(_INSERT_TOOL, [(no, *map(" ".join, found)) for no, _, found in columns])
        return len(new), len(stale), len(gone)

    def _load(self, path: Path) -> None:
        try:
            if path.is_file():
                self._db.deserialize(kept_index.read(path, _VERSION))
        except Exception as error:  # noqa: BLE001 - a copy, in whatever state it is
            self.unread = str(error)
            self._start_over(f"The copy of the index at {path} could not be used ({error})")

    def _start_over(self, reason: str) -> None:
        self._db.close()
        self._db = _empty()
        self._trouble = f"{reason}. The index was made anew from the tools; nothing is missing."

    def _save(self, path: Path) -> None:
        try:
            kept_index.write(path, self._db.serialize())
        except Exception as error:  # noqa: BLE001 - a copy: it is missed by the next process, and by nobody else
            told = f"The index could not be kept at {path} ({error}). It works; the next process makes it anew."
            self._trouble = f"{self._trouble} {told}".strip()


def _empty() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    try:
        connection.executescript(_SETUP)
    except sqlite3.OperationalError as error:
        connection.close()
        raise ConfigError(
            f"Searching for tools needs SQLite's full-text search, which this Python's SQLite lacks ({error})."
            " Nothing was changed. Use a Python whose sqlite3 module has FTS5 (the usual builds have)."
        ) from error
    return connection


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(blob: bytes) -> str:
    return blob.decode("utf-8", "surrogatepass")
