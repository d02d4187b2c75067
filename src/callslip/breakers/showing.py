"""From a breaker's state to what callers and people are told of it. Pure."""

from __future__ import annotations

from callslip.core import breaker
from callslip.core.breaker import Breaker, BreakerRules, Closed, Open
from callslip.ports.breakers import Barred, Opened, Phase, Seen


def barred(key: str, found: Open, now: float) -> Barred:
    again_in = None if found.until is None else found.until - now
    return Barred(key=key, open_for=now - found.since, again_in=again_in, reason=found.reason)


def opened(key: str, before: Breaker, state: Breaker, now: float) -> Opened | None:
    """Whether it was this that opened it. One that stays open after it was tried is not told of again."""
    if before.opened is not None or state.opened is None:
        return None
    return Opened(key=key, reason=state.reason, again_in=state.until - now)


def seen(key: str, state: Breaker, rules: BreakerRules, now: float) -> Seen:
    good, bad = breaker.totals(state, rules, now)
    found = breaker.may(state, now)
    phase: Phase = "closed"
    again_in = None
    if not isinstance(found, Closed):
        waits = isinstance(found, Open) and found.until is not None
        phase = "open" if waits else "half-open"
        again_in = state.until - now if waits else None if state.trial and now < state.trial_until else 0.0
    return Seen(
        key=key,
        phase=phase,
        reason=state.reason,
        open_for=None if state.opened is None else now - state.opened,
        again_in=again_in,
        good=good,
        bad=bad,
        timeouts=state.timeouts,
    )
