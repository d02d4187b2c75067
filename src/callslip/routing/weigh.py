"""From a request's words and where they stand to the tools that answer it best.

The rare words' lists are walked whole; the commonest words, whose lists are long and say little, only count for the
tools that the others brought forward. So the work is bounded, whatever is asked and however many tools there are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence

import msgspec

from callslip.routing.postings import Posting

_WALKED = 4_000
"""Places that are walked for the request, …"""
_PART_WALKED = 1_500
"""… and for each wish in it; words beyond only count for the tools brought forward."""
_FORWARD = 100
"""Tools that the whole request brings forward, …"""
_PART_FORWARD = 20
"""… and each wish in it."""
_KEPT = 50
_SHORT = 4
"""How many times longer than the tools a list may be to be walked rather than searched for each of them."""
_FAR = 0.1
"""Tools with less than this part of the best one's score are left out."""
_PART_WEIGHT = 0.4
"""What fitting one wish best is worth, beside 1 for fitting the whole request best."""


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A word of a request that some tool has."""

    word: str
    weight: float
    posting: Posting


class Weighed(msgspec.Struct, frozen=True, kw_only=True):
    """What the request's words give a tool; at most the sum of their weights."""

    tool: int
    score: float
    covered: float
    """The weight of those of the words that the tool has at all."""


def weigh(
    terms: Iterable[Term], parts: Sequence[frozenset[str]], *, below: int, among: Container[int] | None = None
) -> list[Weighed]:
    """The tools brought forward, with what the words give them.

    ``below``: no tool has this number or a higher one. ``among``: the tools that are asked for; none: all.
    """
    ordered = sorted(terms, key=lambda term: (len(term.posting.tools), term.word))
    sums = _walked(ordered, below)
    forward = set(_best(enumerate(sums), max(sums, default=0.0), _FORWARD, among))
    wishes = [wish for part in parts if (wish := [term for term in ordered if term.word in part])]
    for wish in wishes:
        fit = _touched(wish)
        forward.update(_best(fit.items(), max(fit.values()), _PART_FORWARD, among))
    tools = sorted(forward)
    at = {tool: position for position, tool in enumerate(tools)}
    given = {term.word: _given(term, tools, at) for term in ordered}
    scores = _mixed(_sums(given.values()), [_sums(given[term.word] for term in wish) for wish in wishes])
    kept = sorted(at.values(), key=lambda place: (-scores[place], tools[place]))[:_KEPT]
    having = [(term.weight, given[term.word]) for term in ordered]
    return [
        Weighed(tool=tools[place], score=scores[place], covered=sum(weight for weight, each in having if each[place]))
        for place in kept
    ]


def _opening(ordered: Sequence[Term], most: int) -> Sequence[Term]:
    """The terms, rarest first, that are walked: one at least."""
    places = 0
    for count, term in enumerate(ordered):
        places += len(term.posting.tools)
        if count and places > most:
            return ordered[:count]
    return ordered


def _walked(ordered: Sequence[Term], below: int) -> list[float]:
    sums = [0.0] * below
    for term in _opening(ordered, _WALKED):
        weight = term.weight
        for tool, strength in zip(term.posting.tools, term.posting.strengths, strict=True):
            sums[tool] += weight * strength
    return sums


def _touched(wish: Sequence[Term]) -> dict[int, float]:
    sums: dict[int, float] = {}
    for term in _opening(wish, _PART_WALKED):
        weight = term.weight
        for tool, strength in zip(term.posting.tools, term.posting.strengths, strict=True):
            sums[tool] = sums.get(tool, 0.0) + weight * strength
    return sums


def _best(sums: Iterable[tuple[int, float]], top: float, most: int, among: Container[int] | None) -> list[int]:
    """The best of the sums, of which ``top`` is the highest."""
    if among is not None:
        sums = [each for each in sums if each[0] in among]
        top = max((value for _, value in sums), default=0.0)
    bar = _FAR * top
    near = [(-value, tool) for tool, value in sums if value > bar]
    if len(near) > most:  # to sort numbers, and then few pairs, takes half as long as to sort all pairs
        last = sorted([value for value, _ in near])[most - 1]
        near = [each for each in near if each[0] <= last]
    return [tool for _, tool in sorted(near)[:most]]


def _given(term: Term, tools: Sequence[int], at: Mapping[int, int]) -> list[float]:
    """What a word gives each of the tools, which are in order; ``at``: where each stands among them."""
    having, strengths, weight = term.posting.tools, term.posting.strengths, term.weight
    found = [0.0] * len(tools)
    if len(having) < _SHORT * len(tools):
        for tool, strength in zip(having, strengths, strict=True):
            if tool in at:
                found[at[tool]] = weight * strength
        return found
    place, end = 0, len(having)
    for position, tool in enumerate(tools):
        place = bisect_left(having, tool, place)
        if place < end and having[place] == tool:
            found[position] = weight * strengths[place]
    return found


def _sums(given: Iterable[Sequence[float]]) -> list[float]:
    """Added up tool by tool."""
    return list(map(sum, zip(*given, strict=True)))


def _mixed(whole: list[float], fits: Sequence[list[float]]) -> list[float]:
    """Fitting the request as a whole, and, where it has several wishes, fitting one of them.

    A request for three things would otherwise be answered with five tools for the one it has most words about.
    """
    if not fits or not whole:
        return whole
    best = [0.0] * len(whole)
    for fit in fits:
        most = max(fit)
        if most > 0:
            best = [max(old, value / most) for old, value in zip(best, fit, strict=True)]
    most = max(whole)
    return [(value + _PART_WEIGHT * old * most) / (1 + _PART_WEIGHT) for value, old in zip(whole, best, strict=True)]
