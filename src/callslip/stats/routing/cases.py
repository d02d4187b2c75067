"""What a turn teaches about finding tools, as labelled data: words, and the tools that were right for them. Pure.

A tool was right for what was said if a call of it succeeded before anything else was said: what a model only tried to
call may have been a slip, and what it did after its next plan was for that one. What the words of a search found was
right for those words, and need not have been for what was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from callslip.stats.routing.judge import Judged, judge, offers
from callslip.stats.routing.turn import Saying, Search, Turn, in_turns

Kind = Literal["missed", "late", "found"]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Words for which certain tools were right."""

    text: str
    """A query, several of one search a line each, or what was said."""
    gold: tuple[str, ...]
    """The tools that were used with success, in the order of their first calls."""
    offered: tuple[str, ...]
    """What was offered for the words, best first."""
    session: str
    turn: int
    kind: Kind
    """``found``: all of ``gold`` was offered. ``late``: some of it only by what came afterwards. ``missed``: some of it
    was called without having been offered at all."""


class Cases(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a turn."""

    cases: tuple[Case, ...] = ()
    gone: tuple[Kind, ...] = ()
    """Of others, whose words were erased or can't be read."""


def cases(turn: Turn) -> Cases:
    """What the turn teaches, in the order in which it was said."""
    judged = judge(turn)
    made: list[tuple[str | None, Kind, Sequence[str], Sequence[str]]] = []
    told: set[str] = set()
    for saying in turn.sayings:
        if not saying.tools:
            continue
        known = {name for name, offer in offers(turn).items() if offer.step < saying.step or offer.by == "carried"}
        gold = [one for one in _served(turn, judged, saying) if one.tool not in known]
        if gold:
            made.append((saying.text, _worst(gold, saying.tools), _names(gold), saying.tools))
            told.update(_names(gold))
    for search in turn.searches:
        if turn.led_on(search):
            made += [(text, "found", gold, tools) for text, gold, tools in _found(turn, search)]
        asked = [query for query in turn.unmet(search) if not query.named]
        until = turn.said_after_search(search)
        gold = [one for one in judged if _came_after(one, search) and turn.served(one.tool, search.step, until)]
        if asked and gold:
            words = [query.text for query in asked]
            text = None if None in words else "\n".join(word for word in words if word)
            made.append((text, _worst(gold, ()), _names(gold), in_turns([query.tools for query in asked])))
            told.update(_names(gold))
    for saying in turn.sayings:
        rest = [one for one in _served(turn, judged, saying) if one.how == "missed" and one.tool not in told]
        if rest:
            made.append((saying.text, "missed", _names(rest), ()))
            told.update(_names(rest))
    return Cases(
        cases=tuple(
            Case(text=text, gold=tuple(gold), offered=tuple(offered), session=turn.session, turn=turn.number, kind=kind)
            for text, kind, gold, offered in made
            if text
        ),
        gone=tuple(kind for text, kind, *_ in made if not text),
    )


def _served(turn: Turn, judged: Iterable[Judged], saying: Saying) -> list[Judged]:
    """The tools that were used after it was said, and before anything else was; none that a search's words found."""
    until = turn.said_after(saying.step)
    return [one for one in judged if turn.served(one.tool, saying.step, until) and not _by_search(one)]


def _by_search(one: Judged) -> bool:
    """Whether the words of a search found it. What was called before that had been wanted for what was said."""
    return one.offer is not None and one.offer.by == "found" and one.how != "missed"


def _found(turn: Turn, search: Search) -> Iterable[tuple[str | None, list[str], tuple[str, ...]]]:
    """Each query of the search that led to a call: its words, what was used, and what was offered."""
    places = list(search.places())
    for query in search.queries:
        mine = {name for name, _, of in places if of is query}
        gold = [name for name in turn.called if name in mine and turn.served(name, search.step)]
        if gold and not query.named:
            yield query.text, gold, query.tools


def _came_after(one: Judged, search: Search) -> bool:
    """Whether the search should have found the tool, and did not."""
    if one.how == "missed":
        return one.step >= search.step
    return one.how == "later" and one.offer is not None and one.offer.step > search.step


def _worst(gold: Iterable[Judged], offered: Sequence[str]) -> Kind:
    kinds = {"found" if one.tool in offered else "missed" if one.how == "missed" else "late" for one in gold}
    return "missed" if "missed" in kinds else "late" if "late" in kinds else "found"


def _names(gold: Iterable[Judged]) -> list[str]:
    return [one.tool for one in gold]
