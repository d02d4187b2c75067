"""A breaker: whether a tool that keeps failing may be called now (RESI-04). Pure.

Closed, it counts. It opens when too large a share of the calls in its window failed, or when several in a row ran out
of time; then nobody calls for a while. After that exactly one call is let through to see. Its success closes the
breaker; its failure opens it again, for twice as long. How a call came to end that was let through before the breaker
opened is counted as what it was, and neither closes nor opens anything meanwhile.

Time is in seconds of a clock that never steps back; only differences mean anything.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from enum import StrEnum

import msgspec

PART = 10.0
"""Seconds: calls are counted by parts of the window, however many they are. The same for every window, so that
processes with different settings understand each other's counts."""
_LONGEST_WINDOW = 3600.0
_LONGEST_KEY = 200


class Heard(StrEnum):
    """What a call's end tells of the tool and what stands behind it."""

    SUCCESS = "success"
    ANSWER = "answer"
    """It answered that this call can't be: it works, and the call was wrong. No success, and no failure of its own."""
    FAILURE = "failure"
    TIMEOUT = "timeout"
    NOTHING = "nothing"
    """The call was stopped, refused or never began: nothing was learned."""


class BreakerRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a project may set in ``[breakers]`` of callslip.toml. Durations are in seconds."""

    on: bool = True
    window: float = 300.0
    """Over what time calls are counted."""
    rate: float = 0.5
    """The share of them that may fail; beyond it the breaker opens."""
    least: int = 10
    """Fewer calls than that in the window open nothing by their share. More than one call's own attempts, so that one
    call alone does not speak for all."""
    timeouts: int = 3
    """So many in a row that ran out of time open it, too."""
    open_for: float = 30.0
    """How long nobody calls; doubled each time the one call that tries it fails."""
    open_at_most: float = 600.0

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise ValueError("rate is a share: at least 0, and less than 1")
        if min(self.least, self.timeouts) < 1:
            raise ValueError("least and timeouts are at least 1")
        if not PART <= self.window <= _LONGEST_WINDOW:
            raise ValueError(f"window is from {PART:g} seconds to an hour")
        if not (0 < self.open_for < math.inf and 0 < self.open_at_most < math.inf):
            raise ValueError("open_for and open_at_most are more than 0")
        if self.open_at_most < self.open_for:
            raise ValueError("open_at_most is not less than open_for")


class Bucket(msgspec.Struct, frozen=True, array_like=True):
    """Calls that ended in one part of the window."""

    at: int
    """Which part, counted from the clock's zero."""
    good: int = 0
    bad: int = 0


class Breaker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one tool and target."""

    counts: tuple[Bucket, ...] = ()
    """The parts of the window in which calls ended, oldest first."""
    timeouts: int = 0
    """In a row, up to now and with none of them further apart than the window."""
    opened: float | None = None
    """When it opened; ``None``: it is closed."""
    until: float = 0.0
    """From when on one call may try it."""
    pause: float = 0.0
    """How long it was opened for the last time."""
    reason: str = ""
    """Why it opened, as half a sentence."""
    trial: int = 0
    """Number of the call that tries it; 0: none does."""
    trials: int = 0
    """The latest such number: none is used twice."""
    trial_until: float = 0.0
    """When the one that tries it has had its time: it is given up, and another may."""


NEW = Breaker()


class Closed(msgspec.Struct, frozen=True):
    """Call."""


class Probe(msgspec.Struct, frozen=True):
    """One call may try it."""


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """Don't call."""

    since: float
    until: float | None
    """``None``: a call tries it at this moment."""
    reason: str


def key(tool: str, target: str = "") -> str:
    """What a breaker is known by: the tool, or tool and target as ``fetch@example.org``. Of a very long target its
    beginning and a mark of all of it.
    """
    text = f"{tool}@{target}" if target else tool
    if len(text) <= _LONGEST_KEY:
        return text
    return f"{text[:_LONGEST_KEY]}…{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def may(state: Breaker, now: float) -> Closed | Probe | Open:
    """Whether a call may be made. Who takes a :class:`Probe` says so by :func:`trying`, before anybody else asks."""
    if state.opened is None:
        return Closed()
    if state.trial and now < state.trial_until:
        return Open(since=state.opened, until=None, reason=state.reason)
    if now < state.until:
        return Open(since=state.opened, until=state.until, reason=state.reason)
    return Probe()


def trying(state: Breaker, now: float, seconds: float) -> Breaker:
    """One call tries it, and has so many seconds. Its number is ``trial`` of what is returned."""
    # Beyond any number of a breaker of this key that was forgotten since: it had to open before anybody could try it.
    number = max(state.trials + 1, int(now * 1000))
    return msgspec.structs.replace(state, trial=number, trials=number, trial_until=now + seconds)


def after(state: Breaker, rules: BreakerRules, heard: Heard, now: float, *, trial: int = 0) -> Breaker:
    """The breaker after a call has ended. ``trial``: the number by which it tried an open one."""
    tries = trial != 0 and trial == state.trial
    if tries:
        state = msgspec.structs.replace(state, trial=0, trial_until=0.0)
    if heard is Heard.NOTHING:
        return state
    if tries and heard in {Heard.SUCCESS, Heard.ANSWER}:
        return Breaker(trials=state.trials)
    state = counted(state, rules, (), now)
    in_a_row = state.timeouts + 1 if state.counts else 1
    if heard is not Heard.ANSWER:
        good = int(heard is Heard.SUCCESS)
        state = counted(state, rules, [Bucket(part(now), good, 1 - good)], now)
    state = msgspec.structs.replace(state, timeouts=in_a_row if heard is Heard.TIMEOUT else 0)
    if tries:
        pause = min(state.pause * 2, rules.open_at_most)
        return msgspec.structs.replace(state, until=now + pause, pause=pause)
    reason = None if state.opened is not None else _too_much(state, rules, heard)
    if reason is None:
        return state
    pause = rules.open_for
    return msgspec.structs.replace(state, opened=now, until=now + pause, pause=pause, reason=reason)


def part(now: float) -> int:
    """Which part it is now, counted from the clock's zero."""
    return int(now // PART)


def _left_behind(rules: BreakerRules, now: float) -> int:
    """The latest part that the window has left behind."""
    return part(now) - math.ceil(rules.window / PART)


def counted(state: Breaker, rules: BreakerRules, more: Iterable[Bucket], now: float) -> Breaker:
    """With these calls counted as well, and without those that the window has left behind."""
    oldest = _left_behind(rules, now)
    counts = {one.at: one for one in state.counts if one.at > oldest}
    for one in more:
        if one.at > oldest:
            before = counts.get(one.at, Bucket(one.at))
            counts[one.at] = Bucket(one.at, before.good + one.good, before.bad + one.bad)
    return msgspec.structs.replace(state, counts=tuple(counts[at] for at in sorted(counts)))


def totals(state: Breaker, rules: BreakerRules, now: float) -> tuple[int, int]:
    """Of the window, as it is now: how many calls succeeded and how many failed."""
    oldest = _left_behind(rules, now)
    live = [one for one in state.counts if one.at > oldest]
    return sum(one.good for one in live), sum(one.bad for one in live)


def is_idle(state: Breaker, rules: BreakerRules, now: float) -> bool:
    """Whether it says nothing that a new one does not: it may be forgotten."""
    return state.opened is None and totals(state, rules, now) == (0, 0)


def _too_much(state: Breaker, rules: BreakerRules, heard: Heard) -> str | None:
    """Why it opens, as half a sentence. What succeeds never opens it, whatever the window has left behind."""
    if heard is Heard.TIMEOUT and state.timeouts >= rules.timeouts:
        return f"{state.timeouts} calls in a row ran out of time" if state.timeouts != 1 else "a call ran out of time"
    bad = sum(one.bad for one in state.counts)
    total = bad + sum(one.good for one in state.counts)
    if heard in {Heard.FAILURE, Heard.TIMEOUT} and total >= rules.least and bad > rules.rate * total:
        return f"{bad} of its last {total} calls failed" if total != 1 else "its last call failed"
    return None
