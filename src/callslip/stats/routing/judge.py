"""How each tool that was used had been offered, and what came of each search (DEFR-06). Pure.

A search that led to nothing is one of whose tools none was called afterwards in its turn; where some was, a query of it
for which nothing fitted still led to nothing. A tool that was found only after such a query came late; one that was
found by a search before which there was none came with the first.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from callslip.stats.routing.turn import Query, Search, Turn

How = Literal["preselected", "first", "later", "named", "carried", "missed"]
"""By which way a tool that was used came to be offered: it fitted what was said; the first search found it; a later
search did; the model knew its name and asked for just that; the session it was forked from had found it; it was not
offered at all before it was called."""
By = Literal["preselected", "found", "named", "carried"]
After = Literal["found", "went_on", "ended", "open"]


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """The first time in a turn that a tool was offered."""

    step: int
    by: By
    rank: int | None = None
    """From 1; ``None``: the ranking had no part in it."""
    query: Query | None = None
    words: str | None = None
    search: Search | None = None


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """How a tool came to be used."""

    tool: str
    how: How
    offer: Offer | None
    """The first; of a missed one, after its call."""
    step: int
    unshown: bool
    """Its first call was refused, since it had not been shown."""


def offers(turn: Turn) -> dict[str, Offer]:
    """Of each tool that was offered and would not have been shown anyway, the first offer."""
    found: dict[str, Offer] = {name: Offer(step=1, by="carried") for name in turn.carried}
    made: list[tuple[int, int, str, Offer]] = []
    for saying in turn.sayings:
        for rank, name in enumerate(saying.tools, 1):
            offer = Offer(step=saying.step, by="preselected", rank=rank, words=saying.text)
            made.append((saying.step, 0, name, offer))
    for search in turn.searches:
        for name, rank, query in search.places():
            if name in search.pinned:
                continue
            by: By = "named" if query.named else "found"
            known = rank if search.ranked and not query.named else None
            offer = Offer(step=search.step, by=by, rank=known, query=query, words=query.text, search=search)
            made.append((search.step, 1, name, offer))
    for _, _, name, offer in sorted(made, key=lambda one: one[:2]):
        found.setdefault(name, offer)
    return found


def judge(turn: Turn) -> list[Judged]:
    """How each tool that was used had been offered, in the order of their first calls."""
    known = offers(turn)
    failed = [search.step for search in turn.searches if turn.unmet(search)]
    judged = []
    for tool, use in turn.used.items():
        offer = known.get(tool)
        how: How
        if offer is None or offer.step > use.step:
            how = "missed"
        elif offer.by in {"preselected", "carried"}:
            how = "preselected" if offer.by == "preselected" else "carried"
        elif any(step < offer.step for step in failed):
            how = "later"
        else:
            how = "named" if offer.by == "named" else "first"
        judged.append(Judged(tool=tool, how=how, offer=offer, step=use.step, unshown=use.unshown))
    return judged


def unused(turn: Turn) -> dict[str, By]:
    """The tools that a ranking offered and that nobody called, by how they were offered first; of a turn that has
    ended.
    """
    if not turn.ended:
        return {}
    ranked = ((name, offer.by) for name, offer in offers(turn).items() if offer.by in {"preselected", "found"})
    return {name: by for name, by in ranked if name not in turn.called}


def afterwards(turn: Turn, search: Search) -> After:
    """What came after a search that said that nothing fits."""
    if any(later.step > search.step and any(later.tools) for later in turn.searches):
        return "found"
    if any(step > search.step for step in turn.called.values()):
        return "went_on"
    return "ended" if turn.ended else "open"


def overlooked(turn: Turn, search: Search) -> bool:
    """Whether a tool that was named as merely near was used after all."""
    near = {name for query in search.queries if query.nothing for name in query.nearest}
    return any(turn.used[name].step >= search.step for name in near if name in turn.used)
