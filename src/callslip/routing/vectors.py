"""Search by meaning: the tools' vectors in memory, compared with a request's by brute force (DEFR-04).

Vectors are kept by tool identity and embedder in a SQLite file beside the lexical index, so that only what is new or
changed is embedded. 10,000 vectors of 512 numbers are 20 MB and are compared within a few milliseconds; no index
structure is worth its errors at that size.
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
from callslip.routing.one_thread import one_thread
from callslip.routing.request import Request
from callslip.routing.text import spaced

_SETUP = """
create table if not exists vector (embedder text, identity text, row blob not null, primary key (embedder, identity))
without rowid
"""
_SWEEP = "delete from vector where embedder <> ? or identity not in (select identity from live)"
_BATCH = 256
_MAX_DESCRIPTION = 500
_MAX_WISH = 200
"""Characters of a single wish that are embedded: the time goes with them, and the rest changed nothing measurable."""
_MAX_PARAMETERS = 12
_PARTS = 0.5
"""The part of a tool's nearness that goes by the nearest single wish, where a request has several; the rest goes by
their average, which stands for the whole request: a text embedded twice would take twice the time."""
_NO_SPREAD = 1e-6


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
        # One column a tool: several wishes are compared twice as fast so.
        self._columns: Any = self._np.zeros((embedder.dimensions, 0), dtype="float32")

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
        known: dict[str, Any] = dict(zip(self._identities, self._columns.T, strict=True))
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
        self._columns = self._np.ascontiguousarray(self._np.stack(rows).T) if rows else self._columns[:, :0]
        self._servers = self._np.array([card.server for card in wanted.values()], dtype=object)
        return " ".join(part for part in (trouble, self._keep(made) if made else "") if part)

    def near(self, request: Request, k: int, *, also: Sequence[str] = (), server: str | None = None) -> Near:
        """The ``k`` nearest tools, and how near those of ``also`` are.

        Raises:
            Exception: what the embedder raised.
        """
        if not self._ids or k < 1:
            return Near(scores={})
        np = self._np
        asked = self._embed([part[:_MAX_WISH] for part in request.part_texts] or [request.text])
        with one_thread():
            cosines = asked @ self._columns
            spread = _spread(cosines)
            whole = spread[0] if len(spread) == 1 else _spread(cosines.mean(axis=0, keepdims=True))[0]
        scores = (1 - _PARTS) * whole + _PARTS * spread.max(axis=0)
        of = np.arange(len(scores)) if server is None else np.flatnonzero(self._servers == server)
        if k < len(of):
            of = of[np.argpartition(-scores[of], k - 1)[:k]]
        order = of[np.argsort(-scores[of], kind="stable")]
        chosen = {self._ids[at]: int(at) for at in order} | {key: self._at[key] for key in also if key in self._at}
        return Near(scores={key: float(scores[at]) for key, at in chosen.items()})

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


def _spread(cosines: Any) -> Any:
    """In standard deviations from the mean, row by row."""
    return (cosines - cosines.mean(axis=1, keepdims=True)) / (cosines.std(axis=1, keepdims=True) + _NO_SPREAD)


def described(card: Card) -> str:
    """What of a tool is embedded: server, name, beginning of the description, names of the first parameters."""
    server = f"{spaced(card.server)}: " if card.server else ""
    parameters = ", ".join(spaced(name) for name, _ in card.parameters[:_MAX_PARAMETERS])
    return f"{server}{spaced(card.name)}. {card.description[:_MAX_DESCRIPTION]} {parameters}".strip()
