"""A breaker against a reference that is slow and plain: it keeps every call for ever, and counts anew each time
(RESI-04).
"""

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from callslip.breakers.memory import MemoryBreakers
from callslip.breakers.shared import SharedBreakers
from callslip.core.breaker import BreakerRules, Heard
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.ports.breakers import Barred, Pass

pytestmark = pytest.mark.requirement("RESI-04")

RULES = BreakerRules(window=60, rate=0.4, least=4, timeouts=2, open_for=7, open_at_most=20)
PART = 10
"""Seconds: a sixth of the window."""
SECONDS = 5


class Reference:
    """One breaker. ``calls``: when each ended, and how; ``tries``: who tries it, and until when."""

    def __init__(self):
        self.calls, self.row, self.opened, self.until, self.pause, self.tries = [], [], None, 0, 0, None

    def enter(self, now, who):
        if self.opened is None:
            return "pass"
        if self.tries is not None and now < self.tries[1]:
            return "tried"
        if now < self.until:
            return self.until - now
        self.tries = (who, now + SECONDS)
        return "try"

    def leave(self, now, who, heard):
        trying = self.tries is not None and self.tries[0] == who
        if trying:
            self.tries = None
        if heard is Heard.NOTHING:
            return False
        if trying and heard in (Heard.SUCCESS, Heard.ANSWER):
            self.__init__()
            return False
        live = self.live(now)
        self.row = [*self.row, heard] if live else [heard]
        if heard is not Heard.ANSWER:
            self.calls.append((now, heard))
        if trying:
            self.pause = min(self.pause * 2, RULES.open_at_most)
            self.until = now + self.pause
            return False
        if self.opened is None and self.too_much(now, heard):
            self.opened, self.pause = now, RULES.open_for
            self.until = now + self.pause
            return True
        return False

    def live(self, now):
        return [heard for at, heard in self.calls if at // PART > now // PART - 6]

    def in_a_row(self):
        count = 0
        while count < len(self.row) and self.row[-1 - count] is Heard.TIMEOUT:
            count += 1
        return count

    def too_much(self, now, heard):
        live = self.live(now)
        bad = sum(one is not Heard.SUCCESS for one in live)
        return (heard is Heard.TIMEOUT and self.in_a_row() >= RULES.timeouts) or (
            heard in (Heard.FAILURE, Heard.TIMEOUT) and len(live) >= RULES.least and bad > RULES.rate * len(live)
        )


class Story(RuleBasedStateMachine):
    """Calls begin and end in any order, and time passes."""

    def __init__(self):
        super().__init__()
        self.now = 100
        self.under_way = {}
        self.number = 0
        self.reference = {"a": Reference(), "b": Reference()}
        self.open()

    def open(self):
        self.breakers = [MemoryBreakers(RULES, lambda: self.now)]

    def one(self):
        return self.breakers[self.number % len(self.breakers)]

    @rule(key=st.sampled_from("ab"))
    def begin(self, key):
        self.number += 1
        way = self.one().enter(key, SECONDS)
        expected = self.reference[key].enter(self.now, self.number)
        if expected in ("pass", "try"):
            assert isinstance(way, Pass), expected
            assert bool(way.trial) == (expected == "try")
            self.under_way[self.number] = way, self.one()
        else:
            assert isinstance(way, Barred), expected
            assert way.again_in == (None if expected == "tried" else expected)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), heard=st.sampled_from(Heard))
    def end(self, data, heard):
        who = data.draw(st.sampled_from(sorted(self.under_way)))
        way, by = self.under_way.pop(who)
        opened = by.leave(way, heard)
        assert (opened is not None) == self.reference[way.key].leave(self.now, who, heard)

    @rule(seconds=st.sampled_from([1, 2, 3, 7, 20, 61]))
    def wait(self, seconds):
        self.now += seconds

    @invariant()
    def at_most_one_tries_it(self):
        for key, reference in self.reference.items():
            trying = [who for who, (way, _) in self.under_way.items() if way.key == key and way.trial]
            if reference.tries is not None and self.now < reference.tries[1]:
                assert reference.tries[0] in trying

    def counts(self):
        seen = {one.key: one for one in self.one().seen()}
        for key, reference in self.reference.items():
            live = reference.live(self.now)
            bad = sum(heard is not Heard.SUCCESS for heard in live)
            one = seen.get(key)
            assert (one is not None) == (bool(live) or reference.opened is not None)
            if one is not None:
                assert (one.good, one.bad) == (len(live) - bad, bad)
                assert (one.phase == "closed") == (reference.opened is None)

    @rule()
    def look(self):
        self.counts()


class SharedStory(Story):
    """The same, of two processes: each hands in its successes before anything is compared."""

    def open(self):
        self.folder = tempfile.TemporaryDirectory()
        place = Path(self.folder.name)
        self.owners = OwnerLocks(place)
        self.breakers = [
            SharedBreakers(place / "breakers.db", self.owners, RULES, lambda: self.now, seen_within=0) for _ in range(2)
        ]

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), heard=st.sampled_from(Heard))
    def end(self, data, heard):
        for one in self.breakers:
            one.seen()
        who = data.draw(st.sampled_from(sorted(self.under_way)))
        way, by = self.under_way.pop(who)
        opened = by.leave(way, heard)
        assert (opened is not None) == self.reference[way.key].leave(self.now, who, heard)

    @rule()
    def look(self):
        for one in self.breakers:
            one.seen()
        self.counts()

    def teardown(self):
        for one in self.breakers:
            one.close()
        self.owners.close()
        self.folder.cleanup()


TestOneProcess = Story.TestCase
TestOneProcess.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestTwoProcesses = SharedStory.TestCase
TestTwoProcesses.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
