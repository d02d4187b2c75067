"""Search by words, on SQLite's FTS5 (DEFR-04).

FTS5 finds the tools that share words with a request; what it found is then weighed by :mod:`columns`, for the request
as a whole and for each wish in it. A tool that the request names comes first, whatever else is alike.

The index lives in memory. A file is a copy, read when the index is opened and replaced as a whole when tools have
changed: two processes can't get into each other's way, and a file that is damaged, or of another version, is made anew
from the tools themselves, which :class:`Update` says.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from callslip.errors import ConfigError
from callslip.routing.card import Card
from callslip.routing.columns import WEIGHTS, columns_of, rarity, strengths
from callslip.routing.exact import Names
from callslip.routing.hit import Hit
from callslip.routing.request import Request, read
from callslip.routing.unspaced import is_character, is_unspaced

_SETUP = (Path(__file__).parent / "lexical.sql").read_text()
_VERSION = 1
_FIND = f"""
select rowid from tool where tool match ? and rank match 'bm25({", ".join(map(str, WEIGHTS))})' {{among}}
order by rank limit ?
"""  # noqa: S608 - numbers of our own
_INSERT_CARD = "insert into card values (null, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_TOOL = (
    "insert into tool (rowid, name, server, description, parameters, documentation, tags) values (?, ?, ?, ?, ?, ?, ?)"
)
_AVERAGES = (
    "select avg(names), avg(servers), avg(descriptions), avg(parameters), avg(documentation), avg(tags) from card"
)
_CANDIDATES = 80
"""Tools that are weighed for a request, …"""
_PART_CANDIDATES = 20
"""… and for each wish in it."""
_MAX_TERMS = 16
_PART_TERMS = 8
_MAX_POSTINGS = 2_000
"""How many occurrences FTS5 may look at; beyond, a request's commonest words are only weighed, not looked up."""
_PART_WEIGHT = 0.3
"""What fitting one wish best is worth, beside 1 for fitting the whole request best."""
_REMEMBERED = 4_096


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
        self._trouble = ""
        self._ids: dict[int, str] = {}
        self._names = Names(())
        self._counts: dict[str, int] = {}
        self._remembered: dict[int, dict[str, float]] = {}
        self._average: Sequence[float] = ()
        self._db = _empty()
        if path is not None and path.exists():
            self._load(path)

    def close(self) -> None:
        self._db.close()

    def __len__(self) -> int:
        return len(self._ids)

    def update(self, cards: Iterable[Card]) -> Update:
        """Make these the tools, and index what is new or changed. Of two with one id the later counts."""
        wanted = {card.id: card for card in cards}
        try:
            done = self._change(wanted)
        except sqlite3.DatabaseError as error:
            self._start_over(f"The copy of the index could not be used ({error})")
            done = self._change(wanted)
        self._names = Names(wanted.values())
        self._ids = {no: _text(key) for no, key in self._db.execute("select no, id from card")}
        self._forget()
        if self._path is not None and (any(done) or self._trouble):
            self._save(self._path)
        trouble, self._trouble = self._trouble, ""
        return Update(added=done[0], replaced=done[1], removed=done[2], trouble=trouble)

    def rank(self, query: str, k: int, *, server: str | None = None) -> list[Hit]:
        """The best ``k`` tools, best first; with ``server``, of that server only. Any text is a query."""
        return self.weigh(read(query), server=server)[: max(0, k)]

    def weigh(self, request: Request, *, server: str | None = None) -> list[Hit]:
        """All tools that were looked at, best first: up to 80 for the request, and 20 for each wish in it."""
        hits = [
            Hit(id=found, score=1.0, coverage=1.0, exact=True) for found in self._names.named(request.names, server)
        ]
        weights = {word: self._rarity(word) for word in request.words}
        total = sum(weight for word, weight in weights.items() if self._having(word) or not word.isdigit())
        known = [word for word in weights if self._having(word)]
        if not known:
            return hits
        found = dict.fromkeys(self._find(known, _MAX_TERMS, _CANDIDATES, server))
        for part in request.parts:
            found |= dict.fromkeys(
                self._find([word for word in known if word in part], _PART_TERMS, _PART_CANDIDATES, server)
            )
        shares = {no: _shares(self._strengths(no), weights) for no in found}
        named = {hit.id for hit in hits}
        rated = [
            Hit(id=self._ids[no], score=score, coverage=sum(weights[word] for word in shares[no]) / total)
            for no, score in _mixed(shares, request.parts, total).items()
            if self._ids[no] not in named
        ]
        return hits + sorted(rated, key=lambda hit: (-hit.score, hit.id))

    def _find(self, terms: Sequence[str], most: int, limit: int, server: str | None) -> list[int]:
        pairs = [word for word in terms if not is_character(word)]
        chosen: list[str] = []
        postings, taken = 0, 0.0
        for word in sorted(pairs or terms, key=self._having):
            postings += self._having(word)
            taken += 0.5 if is_unspaced(word) else 1.0
            if chosen and (postings > _MAX_POSTINGS or taken > most):
                break
            chosen.append(word)
        if not chosen:
            return []
        among = "" if server is None else "and rowid in (select no from card where server = ?)"
        values = [" OR ".join(f'"{word}"' for word in chosen), *([] if server is None else [_blob(server)]), limit]
        return [no for (no,) in self._db.execute(_FIND.format(among=among), values)]

    def _having(self, word: str) -> int:
        """How many tools have the word."""
        if not self._counts:
            self._counts = dict(self._db.execute("select term, doc from term"))
        return self._counts.get(word, 0)

    def _rarity(self, word: str) -> float:
        return rarity(self._having(word), len(self._ids))

    def _strengths(self, no: int) -> dict[str, float]:
        known = self._remembered.get(no)
        if known is None:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            columns = self._db.execute("select * from tool where rowid = ?", (no,)).fetchone()
            known = self._remembered[no] = strengths(columns, self._averages())
        return known

    def _averages(self) -> Sequence[float]:
        if not self._average:
            self._average = self._db.execute(_AVERAGES).fetchone()
        return self._average

    def _forget(self) -> None:
        """What was worked out from the tools as they were."""
        self._counts = {}
        self._remembered = {}
        self._average = ()

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
            for key in [*new, *stale]:
                columns = columns_of(wanted[key])
                row = (_blob(key), identities[key], _blob(wanted[key].server), *map(len, columns))
                no = self._db.execute(_INSERT_CARD, row).lastrowid
                self._db.execute(_INSERT_TOOL, (no, *map(" ".join, columns)))
        return len(new), len(stale), len(gone)

    def _load(self, path: Path) -> None:
        try:
            with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source:
                version = source.execute("pragma user_version").fetchone()[0]
                sound = source.execute("pragma quick_check(1)").fetchone()[0]
                if sound == "ok" and version == _VERSION:
                    source.backup(self._db)
                    self._db.execute("insert into tool (tool) values ('integrity-check')")
                    return
                reason = f"it is of version {version}" if sound == "ok" else f"it is damaged: {sound}"
        except (sqlite3.Error, OSError) as error:
            reason = str(error)
        self._start_over(f"The copy of the index at {path} could not be used ({reason})")

    def _start_over(self, reason: str) -> None:
        self._db.close()
        self._db = _empty()
        self._forget()
        self._trouble = f"{reason}. The index was made anew from the tools; nothing is missing."

    def _save(self, path: Path) -> None:
        """Replace the file as a whole; whoever reads it meanwhile keeps the old one."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
            os.close(handle)
            try:
                with contextlib.closing(sqlite3.connect(name)) as target:
                    self._db.backup(target)
                Path(name).replace(path)
            finally:
                Path(name).unlink(missing_ok=True)
        except (sqlite3.Error, OSError) as error:
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


def _shares(strong: dict[str, float], weights: dict[str, float]) -> dict[str, float]:
    """What each of the request's words that the tool has gives it."""
    return {word: weight * strong[word] for word, weight in weights.items() if word in strong}


def _mixed(shares: dict[int, dict[str, float]], parts: Sequence[frozenset[str]], total: float) -> dict[int, float]:
    """Each tool's score: fitting the request as a whole, and, where it has several wishes, fitting one of them.

    A request for three things would otherwise be answered with five tools for the one it has most words about.
    """
    whole = {no: sum(share.values()) for no, share in shares.items()}
    if not parts:
        return {no: value / total for no, value in whole.items()}
    best = dict.fromkeys(whole, 0.0)
    for part in parts:
        fits = {no: sum(value for word, value in share.items() if word in part) for no, share in shares.items()}
        most = max(fits.values(), default=0.0)
        if most > 0:
            best = {no: max(best[no], fit / most) for no, fit in fits.items()}
    most = max(whole.values(), default=0.0)
    return {no: (value + _PART_WEIGHT * best[no] * most) / (1 + _PART_WEIGHT) / total for no, value in whole.items()}
