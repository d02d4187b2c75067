"""A tool that was found, and how well it fits."""

from __future__ import annotations

import msgspec


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    score: float
    """0 to 1: the part of the request's weight that the tool answers by words."""
    coverage: float
    """0 to 1: the part of the request's weight whose words the tool has at all."""
    exact: bool = False
    """The request names the tool."""
    rating: float = 0.0
    """What hits are ordered by where words and meaning meet: about 0 to 1.5, comparable between requests."""
