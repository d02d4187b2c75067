"""Search by meaning: the tools' vectors in memory, compared with a request's (DEFR-04).

Vectors are kept by tool identity and embedder in a SQLite file beside the lexical index, so that only what is new or
changed is embedded. 10,000 vectors of 512 numbers are 20 MB, and are compared in about a millisecond.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from callslip.errors import ConfigError
from callslip.ports.embedder import Embedder
from callslip.routing.card import Card
from callslip.routing.excerpts import excerpts
from callslip.routing.request import Request
from callslip.routing.space import Space
from callslip.routing.text import spaced

_SETUP = """
create table if not exists vector (embedder text, identity text, row blob not null, primary key (embedder, identity))
without rowid
"""
_SWEEP = "delete from vector where embedder <> ? or identity not in (select identity from live)"
_BATCH = 256
_MAX_DESCRIPTION = 500
_MAX_REQUEST = 300
"""Characters of a request's wishes together that are embedded: the time goes with them, and twice as many find no
more."""
_MAX_PARAMETERS = 12


class Near(msgspec.Struct, frozen=True, kw_only=True):
    """How near in meaning the tools are to a request."""

    scores: Mapping[str, float]
    """By tool, of the nearest and of those asked for: how many standard deviations nearer than the average tool."""


class VectorIndex:
    """Tools, found by meaning.

    Raises:
        ConfigError: numpy isn't installed.
    """

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        """``path``: the file that keeps vectors between processes."""
        try:
            self._np: Any = import_module("numpy")
        except ImportError as error:
            raise ConfigError(
                "Searching tools by meaning needs numpy, which isn't installed. Searching by words works without it."
                " Install it with: pip install 'callslip[vectors]'"
            ) from error
        self.embedder = embedder
        self._path = path
        self._key = f"{embedder.name} {embedder.version} {embedder.dimensions}"
        self._ids: list[str] = []
        self._at: dict[str, int] = {}
        self._identities: list[str] = []
        self._servers: Any = None
        self._rows: Any = self._np.zeros((0, embedder.dimensions), dtype="float32")
        self._space = Space(self._rows)

    def __len__(self) -> int:
        return len(self._ids)

    def update(self, cards: Iterable[Card]) -> str:
        """Make these the tools, and embed what is new or changed.

        Returns:
            Why vectors could not be kept in the file, if so; the index works all the same.

        Raises:
            Exception: what the embedder raised. The tools are then as they were.
        """
        wanted = {card.id: card for card in cards}
        identities = {key: card.identity for key, card in wanted.items()}
        known: dict[str, Any] = dict(zip(self._identities, self._rows, strict=True))
        missing = {identities[key]: card for key, card in wanted.items() if identities[key] not in known}
        kept, trouble = self._kept(missing) if missing else ({}, "")
        known |= kept
        fresh = [(identity, card) for identity, card in missing.items() if identity not in known]
        made: dict[str, Any] = {}
        for start in range(0, len(fresh), _BATCH):
            batch = fresh[start : start + _BATCH]
            rows = self._embed([described(card) for _, card in batch])
            made |= {identity: row for (identity, _), row in zip(batch, rows, strict=True)}
        known |= made
        self._ids = list(wanted)
        self._at = {key: at for at, key in enumerate(self._ids)}
        self._identities = [identities[key] for key in self._ids]
        rows = [known[identity] for identity in self._identities]
        self._rows = self._np.stack(rows) if rows else self._rows[:0]
        self._space = Space(self._rows)
        self._servers = self._np.array([card.server for card in wanted.values()], dtype=object)
        return " ".join(part for part in (trouble, self._keep(made) if made else "") if part)

    def near(self, request: Request, k: int, *, also: Sequence[str] = (), server: str | None = None) -> Near:
        """The ``k`` nearest tools, and how near those of ``also`` are.

        Raises:
            Exception: what the embedder raised.
        """
        if not self._ids or k < 1:
            return Near(scores={})
        asked = self._embed(excerpts(request.part_texts or [request.text], _MAX_REQUEST))
        among = None if server is None else self._np.flatnonzero(self._servers == server)
        known = [self._at[key] for key in also if key in self._at]
        found = self._space.nearest(asked, k, also=known, among=among)
        return Near(scores={self._ids[at]: score for at, score in found.items()})

    def _embed(self, texts: Sequence[str]) -> Any:
        rows = self._np.asarray(self.embedder.embed(texts), dtype="float32")
        if rows.shape != (len(texts), self.embedder.dimensions) or not self._np.isfinite(rows).all():
            raise ValueError(f"the embedder {self.embedder.name} gave {rows.shape}, or numbers that are none")
        return rows

    def _kept(self, missing: Mapping[str, Card]) -> tuple[dict[str, Any], str]:
        if self._path is None or not self._path.is_file():
            return {}, ""
        size = 4 * self.embedder.dimensions
        try:
            with contextlib.closing(sqlite3.connect(self._path)) as db:
                stored = db.execute("select identity, row from vector where embedder = ?", (self._key,)).fetchall()
        except sqlite3.Error as error:
            self._path.unlink(missing_ok=True)
            return {}, f"The kept vectors at {self._path} could not be used ({error}) and were made anew."
        read = {
            identity: self._np.frombuffer(row, dtype="<f4")
            for identity, row in stored
            if identity in missing and isinstance(row, bytes) and len(row) == size
        }
        return read, ""

    def _keep(self, made: Mapping[str, Any]) -> str:
        if self._path is None:
            return ""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            with contextlib.closing(sqlite3.connect(self._path)) as db, db:
                db.execute(_SETUP)
                db.executemany(
                    "insert or replace into vector values (?, ?, ?)",
                    [(self._key, identity, row.astype("<f4").tobytes()) for identity, row in made.items()],
                )
                db.execute("create temp table live (identity text primary key)")
                db.executemany("insert or ignore into live values (?)", [(each,) for each in self._identities])
                db.execute(_SWEEP, (self._key,))
        except (sqlite3.Error, OSError) as error:
            return f"The vectors could not be kept at {self._path} ({error}); the next process will make them anew."
        return ""


def described(card: Card) -> str:
    """What of a tool is embedded: server, name, beginning of the description, names of the first parameters."""
    server = f"{spaced(card.server)}: " if card.server else ""
    parameters = ", ".join(spaced(name) for name, _ in card.parameters[:_MAX_PARAMETERS])
    return f"{server}{spaced(card.name)}. {card.description[:_MAX_DESCRIPTION]} {parameters}".strip()
