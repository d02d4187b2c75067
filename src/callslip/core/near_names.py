"""Which known names are nearest to one that nobody has: a slip of the pen, another case, another server. Pure.

Names are first compared by the pairs of letters they have in common, as bits of one number, which takes a few
milliseconds for 20,000 of them; only the best of these are compared letter by letter.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

MOST = 3
_LONGEST = 100
"""Characters of a name that are compared."""
_BITS = 256
_LOOKED_AT = 40
_NEAR = 0.6
"""How alike names are that are worth naming; 1 is the same."""
_OF_ITS_OWN = 0.95
"""What it counts that two names are alike without their servers'."""


class _Known(NamedTuple):
    name: str
    whole: str
    own: str
    whole_pairs: int
    own_pairs: int


class NearNames:
    """Names that are known, to be asked which of them one may have meant."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(dict.fromkeys(names))

    def near(self, name: str, most: int = MOST) -> tuple[str, ...]:
        """The nearest names, best first; none where none is near."""
        wanted = _known(name)
        if not wanted.whole:
            return ()
        looked_at = heapq.nlargest(_LOOKED_AT, self._known, key=lambda one: _shared(wanted, one))
        rated = sorted((-_alike(wanted, one), one.name) for one in looked_at)
        return tuple(name for rating, name in rated if -rating >= _NEAR)[:most]

    @cached_property
    def _known(self) -> list[_Known]:
        """Made when a name is looked for that isn't there, which most runs never do."""
        return [_known(name) for name in self._names]


def _known(name: str) -> _Known:
    whole, own = _key(name), _key(_own(name))
    return _Known(name, whole, own, _pairs(whole), _pairs(own))


def _own(name: str) -> str:
    """A tool's name without its server's."""
    _, dot, own = name.rpartition(".")
    return own if dot else name.partition("__")[2] or name


def _key(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name[-_LONGEST:]).casefold()
    return "".join(filter(str.isalnum, plain))[:_LONGEST]


def _pairs(key: str) -> int:
    bits = 0
    for one, other in pairwise(f" {key} "):
        bits |= 1 << ((ord(one) * 31 + ord(other)) % _BITS)
    return bits


def _shared(wanted: _Known, one: _Known) -> float:
    return max(_part(wanted.whole_pairs, one.whole_pairs), _part(wanted.own_pairs, one.own_pairs))


def _part(one: int, other: int) -> float:
    return 2 * (one & other).bit_count() / (one.bit_count() + other.bit_count())


def _alike(wanted: _Known, one: _Known) -> float:
    own = _ratio(wanted.own, one.own) if wanted.own and one.own else 0.0
    return max(_ratio(wanted.whole, one.whole), _OF_ITS_OWN * own)


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
