"""Whether the model may be asked now, by what the turn, the session and its requester have used (RESI-06, ARGS-05).

What this session has used stands in its folded state. What its requester has used in others today is read from their
logs: only where that has a budget, only of sessions that have changed since it was read last. Two sessions of one
requester that ask at the same moment don't see each other: each may take one step more than the budget.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callslip.core import budget, repeat
from callslip.core.counting import DAY_MS
from callslip.core.spent import Spent
from callslip.errors import LogBroken
from callslip.ports.ledger import Head
from callslip.runtime.drive import Drive
from callslip.runtime.parts import Parts
from callslip.sessions.checkpoint import load_state

_PAGE = 64


class UsedUp(msgspec.Struct, frozen=True, kw_only=True):
    """Why the model is not asked."""

    limit: str
    """As in ``run_ended``."""
    reason: str


async def used_up(drive: Drive, *, new_turn: bool) -> UsedUp | None:
    """What forbids to ask the model now; ``new_turn``: for the first time in a turn."""
    looped = None if new_turn else _looped(drive)
    if looped is not None:
        return looped
    budgets = drive.parts.budgets
    if budgets is None:
        return None
    counts, now = drive.state.counts, drive.parts.clock.now()
    use = budget.before_asking(counts, budgets, now, new_turn=new_turn)
    if use is None and budgets.requester_day.any:
        others = await _of_others(drive.parts, drive.session, drive.state.requester, now)
        use = budget.of_requester([budget.on_day(counts, now), *others], budgets.requester_day)
    return None if use is None else UsedUp(limit=use.name, reason=use.reason)


def _looped(drive: Drive) -> UsedUp | None:
    """The model goes on proposing a call that is not made any more."""
    counts, limits = drive.state.counts, drive.parts.limits
    if any(message.steer for message in drive.state.queued):
        return None  # it is about to hear something new
    failed = repeat.beyond(counts.failures, limits.same_failures)
    if failed is not None:
        reason = (
            f"the model made the same call in {failed.count} steps, which failed in the same way ({failed.same}); say "
            "what it should do instead, or resume to let it try again"
        )
        return UsedUp(limit=repeat.LOOP, reason=reason)
    given = repeat.beyond(counts.results, limits.same_results)
    if given is None:
        return None
    reason = (
        f"the model made the same call in {given.count} steps, which gave the same result; say what it should do "
        "instead, or resume to let it go on"
    )
    return UsedUp(limit=repeat.LOOP, reason=reason)


async def _of_others(parts: Parts, session: str, requester: str, now: int) -> Sequence[Spent]:
    """What the requester's other sessions have used today."""
    found = []
    for head in await _changed_today(parts, now):
        if head.session == session:
            continue
        known = parts.used_today.get(head.session)
        if known is None or known[0] != head.seq:
            try:
                state = await load_state(parts, head.session)
            except LogBroken:  # it is closed to any further effect: what it used before counts, where that is known
                if known is None:
                    continue
            else:
                known = parts.used_today[head.session] = (state.seq, state.requester, state.counts)
        if known[1] == requester:
            found.append(budget.on_day(known[2], now))
    return found


async def _changed_today(parts: Parts, now: int) -> Sequence[Head]:
    since, limit = now // DAY_MS * DAY_MS, _PAGE
    while True:
        heads = await parts.ledger.heads(limit=limit)  # the latest first
        today = [head for head in heads if head.updated_at >= since]
        if len(heads) < limit or len(today) < len(heads):
            break
        limit *= 4
    there = {head.session for head in today}
    for gone in [name for name in parts.used_today if name not in there]:
        del parts.used_today[gone]
    return today
