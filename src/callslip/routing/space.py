"""Vectors of many tools, and which of them stand out as near to a request's.

Nearness is counted in standard deviations: how much nearer a tool is than the average one. Mean and spread of all
cosines follow from the tools' mean vector and covariance, so they are exact without any cosine being computed. The
tools that are worth a look are chosen by their main directions alone (the principal components: a quarter of the
numbers, and of the time), three times as many as are wanted; their cosines are then exact too.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from callslip.routing.one_thread import one_thread

_SPREAD = 0.8
"""The part of the tools' spread that lies along the main directions: of 512 numbers some 140."""
_MANY = 2_000
"""Tools up to which all directions are looked at: there is no time to be saved."""
_LOOKED_AT = 3
_WHOLE = 0.5
"""The part of a tool's nearness that goes by the average of a request's wishes, which stands for the whole request (a
text encoded twice would take twice the time); the rest goes by the nearest single wish."""
_NO_SPREAD = 1e-6


class Space:
    """The tools' vectors, one row each, of length 1."""

    def __init__(self, rows: Any) -> None:
        self._np = np = import_module("numpy")
        self._rows = rows
        self._mean = rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1], dtype="float32")
        apart = rows - self._mean
        with one_thread():
            self._covariance = apart.T @ apart / max(1, len(rows))
            self._directions = self._main(len(rows))
            # One column a tool: several wishes are compared twice as fast so.
            self._rough = np.ascontiguousarray((apart @ self._directions).T)

    def _main(self, many: int) -> Any:
        """The main directions, one a column."""
        np = self._np
        size = len(self._covariance)
        if many <= _MANY:
            return np.eye(size, dtype="float32")
        along, directions = np.linalg.eigh(self._covariance)
        kept = 1 + int(np.searchsorted(np.cumsum(along[::-1]), _SPREAD * along.sum()))
        return directions[:, -min(kept, size) :]

    def nearest(self, asked: Any, k: int, *, also: Sequence[int] = (), among: Any = None) -> dict[int, float]:
        """The nearness of the ``k`` nearest tools and of those of ``also``, by their rows' numbers.

        ``asked``: one row for each wish of a request. ``among``: numbers of the rows that are asked for; none: all.
        """
        np = self._np
        with one_thread():
            axes = self._axes(asked)
            rough = _nearness((axes @ self._directions) @ self._rough)
            of = np.arange(len(rough)) if among is None else among
            most = min(len(of), _LOOKED_AT * k)
            looked_at = of[np.argpartition(-rough[of], most - 1)[:most]] if most else of
            chosen = np.concatenate([looked_at, np.array(also, dtype=int)])
            exact = _nearness(axes @ (self._rows[chosen] - self._mean).T)
        best = np.argsort(-exact[:most], kind="stable")[:k]
        kept = [*best.tolist(), *range(most, len(chosen))]
        return {int(chosen[at]): float(exact[at]) for at in kept}

    def _axes(self, asked: Any) -> Any:
        """The wishes, and before them their average if there are several, each in units of its cosines' spread."""
        np = self._np
        axes = asked if len(asked) == 1 else np.concatenate([asked.mean(axis=0, keepdims=True), asked])
        variance = np.einsum("ij,ij->i", axes @ self._covariance, axes)
        return axes / (np.sqrt(np.maximum(variance, 0.0)) + _NO_SPREAD)[:, None]


def _nearness(along: Any) -> Any:
    """From what each axis says of each tool."""
    return along[0] if len(along) == 1 else _WHOLE * along[0] + (1 - _WHOLE) * along[1:].max(axis=0)
