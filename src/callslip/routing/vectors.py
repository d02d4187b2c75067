"""Search by meaning: the tools' vectors in memory, compared with a request's (DEFR-04).

Vectors are kept by tool identity and embedder in a SQLite file beside the lexical index (:mod:`kept_vectors`), so that
only what is new or changed is embedded. 10,000 vectors of 512 numbers are 20 MB, compared in about a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from callslip.errors import ConfigError
from callslip.ports.embedder import Embedder
from callslip.routing.card import Card
from callslip.routing.excerpts import excerpts
from callslip.routing.kept_vectors import KeptVectors
from callslip.routing.request import Request
from callslip.routing.space import Space
from callslip.routing.text import spaced

_BATCH = 128
"""Tools that are embedded at once: what is kept, should the next ones fail, and how soon it can be given up."""
_MAX_DESCRIPTION = 500
_MAX_REQUEST = 300
"""Characters of a request's wishes together that are embedded: the time goes with them, and twice as many find no
more."""
_MAX_PARAMETERS = 12


class GivenUp(Exception):
    """Nobody wants the vectors any more. What was made of them is kept."""


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
        key = f"{embedder.name} {embedder.version} {embedder.dimensions}"
        self._kept = KeptVectors(path, key, embedder.dimensions, self._np)
        self._made: dict[str, Any] = {}
        """By identity: vectors that were made for an update that did not come to its end."""
        self.missing = 0
        """Tools that the update which is under way embeds."""
        self._ids: list[str] = []
        self._at: dict[str, int] = {}
        self._identities: list[str] = []
        self._servers: Any = None
        self._rows: Any = self._np.zeros((0, embedder.dimensions), dtype="float32")
        self._space = Space(self._rows)

    def __len__(self) -> int:
        return len(self._ids)

    def update(self, cards: Iterable[Card], wanted_still: Callable[[], bool] = lambda: True) -> str:
        """Make these the tools, and embed what is new or changed. ``wanted_still`` is asked before each batch.

        Returns:
            Why vectors could not be kept in the file, if so; the index works all the same.

        Raises:
            Exception: what the embedder raised, or GivenUp. The tools are then as they were; the next update goes on
            from the batches that are done.
        """
        self.missing = 0
        wanted = {card.id: card for card in cards}
        identities = {key: card.identity for key, card in wanted.items()}
        known: dict[str, Any] = dict(zip(self._identities, self._rows, strict=True)) | self._made
        missing = {identities[key]: card for key, card in wanted.items() if identities[key] not in known}
        if missing:
            known |= self._kept.read(missing)
        fresh = [(identity, card) for identity, card in missing.items() if identity not in known]
        self.missing = len(fresh)
        for start in range(0, len(fresh), _BATCH):
            if not wanted_still():
                raise GivenUp
            batch = fresh[start : start + _BATCH]
            rows = self._embed([described(card) for _, card in batch])
            made = {identity: row for (identity, _), row in zip(batch, rows, strict=True)}
            self._made |= made
            self._kept.keep(made)
        known |= self._made
        self._made = {}
        self._ids = list(wanted)
        self._at = {key: at for at, key in enumerate(self._ids)}
        self._identities = [identities[key] for key in self._ids]
        rows = [known[identity] for identity in self._identities]
        self._rows = self._np.stack(rows) if rows else self._rows[:0]
        self._space = Space(self._rows)
        self._servers = self._np.array([card.server for card in wanted.values()], dtype=object)
        if fresh:
            self._kept.sweep(self._identities)
        return self._kept.trouble if missing else ""

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
        np = self._np
        with np.errstate(all="ignore"):
            rows = np.asarray(self.embedder.embed(texts), dtype="float32")
        if rows.shape != (len(texts), self.embedder.dimensions) or not np.isfinite(rows).all():
            raise ValueError(f"the embedder {self.embedder.name} gave {rows.shape}, or numbers that are none")
        lengths = np.linalg.norm(rows.astype("float64"), axis=1, keepdims=True)  # a float32's square may be too large
        if not lengths.any():
            raise ValueError(f"the embedder {self.embedder.name} gave vectors of no length")
        return (rows / np.maximum(lengths, 1e-12)).astype("float32")


def described(card: Card) -> str:
    """What of a tool is embedded: server, name, beginning of the description, names of the first parameters."""
    server = f"{spaced(card.server)}: " if card.server else ""
    parameters = ", ".join(spaced(name) for name, _ in card.parameters[:_MAX_PARAMETERS])
    return f"{server}{spaced(card.name)}. {card.description[:_MAX_DESCRIPTION]} {parameters}".strip()
