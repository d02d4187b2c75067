"""One order from words and meaning.

Fusing by ranks alone (reciprocal rank fusion) loses against the better leg when the other is weak. Here both legs keep
their scores: what the words say counts in proportion to how much of the request they explain, so that a request whose
words the tools have goes by words, and one in other words goes by meaning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from callslip.routing.hit import Hit
from callslip.routing.vectors import Near

_NEARNESS = 0.06
"""What one standard deviation of nearness is worth, beside 1 for the best by words of a request wholly explained."""
_NAMED = 2.0
"""The rating of a tool that the request names."""


def fuse(hits: Sequence[Hit], near: Near | None = None, *, trust: float = 1.0) -> list[Hit]:
    """All tools of either leg with their ratings, best first; exact names stay in front.

    ``trust``, 0 to 1: how far the embedder reads the request's script. Without ``near``: by words alone.
    """
    exact = [replace(hit, rating=_NAMED) for hit in hits if hit.exact]
    named = {hit.id for hit in exact}
    lexical = {hit.id: hit for hit in hits if not hit.exact}
    best = next(iter(lexical.values()), None)
    scale = math.sqrt(best.coverage) / best.score if best and best.score > 0 else 0.0
    nearness = {} if near is None or trust <= 0 else near.scores
    rated = {
        key: (lexical[key].score * scale if key in lexical else 0.0) + trust * _NEARNESS * nearness.get(key, 0.0)
        for key in {**lexical, **nearness}
        if key not in named
    }
    order = sorted(rated, key=lambda key: (-rated[key], key))
    found = (lexical.get(key) or Hit(id=key, score=0.0, coverage=0.0) for key in order)
    return exact + [replace(hit, rating=rated[hit.id]) for hit in found]
