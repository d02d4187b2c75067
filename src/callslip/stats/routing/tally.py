"""Add up how well tools are found, turn by turn (DEFR-06). Pure."""

from __future__ import annotations

import statistics
from collections import Counter

from callslip.stats.routing.cases import cases
from callslip.stats.routing.figures import After, RoutingStats, ToolRouting, UsedTool
from callslip.stats.routing.judge import How, Judged, afterwards, judge, offers, overlooked, unused
from callslip.stats.routing.turn import Turn

FIRST = 5
"""Places that count as being offered in front."""
_IN_TIME: frozenset[How] = frozenset({"preselected", "first"})
_JUDGED: frozenset[How] = frozenset({"preselected", "first", "later", "missed"})
"""Uses by which the search can be judged."""


class Tally:
    """:meth:`add` for each turn, then :meth:`stats`. ``uses``: keep each one, with the words."""

    def __init__(self, *, uses: bool = False) -> None:
        self._keep = uses
        self._uses: list[UsedTool] = []
        self._of: dict[str, Counter[How]] = {}
        self._ranks: dict[str, list[int]] = {}
        self._unused: Counter[str] = Counter()
        self._all: Counter[str] = Counter()
        self._unanswered: Counter[str] = Counter()
        self._most = 0

    def add(self, turn: Turn) -> None:
        """Count a turn in."""
        count = self._all
        count["turns"] += 1
        count["open"] += not turn.ended
        count["requests"] += turn.steps
        count["shown"] += turn.shown
        count["shown_found"] += turn.shown_found
        for judged in judge(turn):
            self._used(turn, judged)
        count["labelled"] += sum(case.kind != "found" for case in cases(turn).cases)
        left = unused(turn)
        self._unused.update(left.keys())
        for by in left.values():
            count[f"unused_{by}"] += 1
        if turn.ended:
            count["offered"] += sum(one.by in {"preselected", "found"} for one in offers(turn).values())
        self._searches(turn)

    def stats(
        self, *, since: int | None = None, sessions: int = 0, records: int = 0, unread: tuple[str, ...] = ()
    ) -> RoutingStats:
        """What it comes to."""
        count, hows = self._all, Counter[How]()
        for of in self._of.values():
            hows.update(of)
        rows = [self._row(name) for name in self._of.keys() | self._unused.keys()]
        judged, requests = sum(hows[how] for how in _JUDGED), count["requests"]
        return RoutingStats(
            since=since, sessions=sessions, records=records, unread=unread,
            turns=count["turns"], open=count["open"], used=hows.total(),
            preselected=hows["preselected"], first=hows["first"], later=hows["later"], missed=hows["missed"],
            named=hows["named"], carried=hows["carried"],
            recall=_recall(hows), recall_at_5=count["in_front"] / judged if judged else None,
            first_place=count["first_place"], early=count["early"],
            missed_then_named=count["then_named"], missed_then_found=count["then_found"],
            missed_in_vain=count["missed_in_vain"], labelled=count["labelled"],
            offered=count["offered"],
            unused_preselected=count["unused_preselected"], unused_found=count["unused_found"],
            searches=count["searches"], turns_with_search=count["turns_with_search"], most_searches=self._most,
            unanswered=dict(self._unanswered.most_common()),
            queries=count["queries"], nothing=count["nothing"],
            after_nothing=After(
                found=count["after_found"], went_on=count["after_went_on"], ended=count["after_ended"],
                open=count["after_open"],
            ),
            overlooked=count["overlooked"], no_room=count["no_room"], unreadable=count["unreadable"],
            requests=requests,
            tools_shown=count["shown"] / requests if requests else None,
            tools_shown_found=count["shown_found"] / requests if requests else None,
            tools=tuple(sorted(rows, key=lambda row: (-row.used, -row.unused, row.tool))),
            uses=tuple(self._uses),
        )  # fmt: skip

    def _used(self, turn: Turn, judged: Judged) -> None:
        count, offer = self._all, judged.offer
        self._of.setdefault(judged.tool, Counter())[judged.how] += 1
        count["missed_in_vain"] += judged.how == "missed" and not turn.served(judged.tool, judged.step)
        before = offer if judged.how != "missed" else None
        rank = before.rank if before is not None else None
        if rank is not None:
            self._ranks.setdefault(judged.tool, []).append(rank)
            if judged.how in _IN_TIME:
                count["in_front"] += rank <= FIRST
                count["first_place"] += rank == 1
        if before is not None:
            count["early"] += judged.unshown and before.search is not None and before.step == judged.step
        elif offer is not None:
            count["then_named" if offer.by == "named" else "then_found"] += 1
        if self._keep:
            self._uses.append(
                UsedTool(
                    session=turn.session, turn=turn.number, tool=judged.tool, how=judged.how, rank=rank,
                    steps=judged.step - before.step if before is not None else None,
                    words=before.words if before is not None else None,
                )
            )  # fmt: skip

    def _searches(self, turn: Turn) -> None:
        count = self._all
        asked = len(turn.searches) + turn.unanswered.total()
        count["searches"] += asked
        count["turns_with_search"] += asked > 0
        self._most = max(self._most, asked)
        self._unanswered.update(turn.unanswered)
        for search in turn.searches:
            count["queries"] += len(search.queries)
            count["no_room"] += search.no_room
            count["unreadable"] += not search.readable
            nothing = sum(query.nothing for query in search.queries)
            count["nothing"] += nothing
            if nothing:
                count[f"after_{afterwards(turn, search)}"] += 1
                count["overlooked"] += overlooked(turn, search)

    def _row(self, name: str) -> ToolRouting:
        of, ranks = self._of.get(name, Counter[How]()), self._ranks.get(name, [])
        return ToolRouting(
            tool=name, used=of.total(),
            preselected=of["preselected"], first=of["first"], later=of["later"], missed=of["missed"],
            named=of["named"], carried=of["carried"], recall=_recall(of),
            rank=statistics.median_low(ranks) if ranks else None, worst_rank=max(ranks, default=None),
            unused=self._unused[name],
        )  # fmt: skip


def _recall(of: Counter[How]) -> float | None:
    judged = sum(of[how] for how in _JUDGED)
    return sum(of[how] for how in _IN_TIME) / judged if judged else None
