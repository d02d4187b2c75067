"""One order from words and meaning.

Fusing by ranks alone (reciprocal rank fusion) loses against the better leg when the other is weak. Here both legs keep
their scores: what the words say counts in proportion to how much of the request they explain, so that a request whose
words the tools have goes by words, and one in other words goes by meaning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from callslip.routing.hit import Hit
from callslip.routing.vectors import Near

_NEARNESS = 0.055
"""What one standard deviation of nearness is worth, beside 1 for the best by words of a request wholly explained."""


def fuse(hits: Sequence[Hit], near: Near, *, trust: float = 1.0) -> list[Hit]:
    """All tools of either leg, best first; exact names stay in front.

    ``trust``, 0 to 1: how far the embedder reads the request's script.
    """
    exact = [hit for hit in hits if hit.exact]
    named = {hit.id for hit in exact}
    lexical = {hit.id: hit for hit in hits if not hit.exact}
    best = next(iter(lexical.values()), None)
    scale = math.sqrt(best.coverage) / best.score if best and best.score > 0 else 0.0
    rated = {
        key: (lexical[key].score * scale if key in lexical else 0.0) + trust * _NEARNESS * near.scores.get(key, 0.0)
        for key in {**lexical, **(near.scores if trust > 0 else {})}
        if key not in named
    }
    order = sorted(rated, key=lambda key: (-rated[key], key))
    return exact + [lexical.get(key) or Hit(id=key, score=0.0, coverage=0.0) for key in order]
