"""The beginnings of several texts, so that all together fit into a given room.

Encoding a text takes time in proportion to its length. What is short is kept whole, and what that leaves over goes to
the longer ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from callslip.routing.unspaced import count_unspaced

_UNSPACED = 3
"""Characters of other scripts that take an encoder as long as one Chinese, Japanese or Korean one."""


def excerpts(texts: Sequence[str], room: int) -> list[str]:
    """The texts in their order, each from its beginning, ``room`` characters in all; none becomes empty."""
    sizes = [len(text) + (_UNSPACED - 1) * count_unspaced(text) for text in texts]
    shares = _shares(sizes, room)
    return [
        text if share >= size else text[: max(1, len(text) * share // size)]
        for text, size, share in zip(texts, sizes, shares, strict=True)
    ]


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """``room`` given out evenly, but to none more than its size."""
    shares = list(sizes)
    waiting = len(sizes)
    for at in sorted(range(len(sizes)), key=sizes.__getitem__):
        shares[at] = min(sizes[at], room // waiting)
        room -= shares[at]
        waiting -= 1
    return shares
