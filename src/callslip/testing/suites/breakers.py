"""What every implementation of ``Breakers`` must do. ::

    class TestMine(BreakersSuite):
        def opened(self, place: Path, rules: BreakerRules, time: Callable[[], float]) -> Breakers:
            return MyBreakers(place, rules, time)

``opened`` gives, at each call, what another process on this host would have.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from callslip.core.breaker import BreakerRules, Heard
from callslip.ports.breakers import Barred, Breakers, Opened, Pass

_KEY = "fetch@one.example"


class BreakersSuite:
    """Subclass it, and say how to open one."""

    shared: ClassVar[bool] = True
    """Whether others see what is counted."""

    def opened(self, place: Path, rules: BreakerRules, time: object) -> Breakers:
        """The breakers of this place, as one process sees them."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> Iterator[None]:
        self.now = 1000.0
        self._folder = tmp_path
        self._opened: list[Breakers] = []
        yield
        for one in self._opened:
            one.close()

    def another(self, rules: BreakerRules | None = None) -> Breakers:
        """As one more process sees it."""
        self._opened.append(self.opened(self._folder, rules or BreakerRules(least=5), lambda: self.now))
        return self._opened[-1]

    def call(self, breakers: Breakers, heard: Heard, key: str = _KEY) -> Opened | None:
        """One call, from its beginning to its end."""
        way = breakers.enter(key, 60)
        assert isinstance(way, Pass), way
        return breakers.leave(way, heard)

    def open(self, breakers: Breakers, key: str = _KEY) -> Opened:
        """Five failures in a row."""
        told = [self.call(breakers, Heard.FAILURE, key) for _ in range(5)]
        assert told[:-1] == [None] * 4
        assert told[-1] is not None
        return told[-1]

    def test_it_is_closed_at_first(self) -> None:
        breakers = self.another()
        assert breakers.enter(_KEY, 60) == Pass(_KEY)
        assert breakers.barred(_KEY) is None
        assert breakers.seen() == []

    def test_failures_open_it_and_it_says_so_once(self) -> None:
        breakers = self.another()
        told = self.open(breakers)
        assert told == Opened(key=_KEY, reason="5 of its last 5 calls failed", again_in=30.0)
        self.now += 10
        barred = Barred(key=_KEY, open_for=10.0, again_in=20.0, reason="5 of its last 5 calls failed")
        assert breakers.enter(_KEY, 60) == barred
        assert breakers.barred(_KEY) == barred

    def test_successes_are_counted(self) -> None:
        breakers = self.another()
        for _ in range(5):
            self.call(breakers, Heard.SUCCESS)
        for _ in range(5):
            assert self.call(breakers, Heard.FAILURE) is None
        told = self.call(breakers, Heard.FAILURE)
        assert told is not None
        assert told.reason == "6 of its last 11 calls failed"

    def test_timeouts_in_a_row_open_it(self) -> None:
        breakers = self.another()
        for heard in (Heard.TIMEOUT, Heard.TIMEOUT, *[Heard.SUCCESS] * 5, Heard.TIMEOUT, Heard.TIMEOUT):
            assert self.call(breakers, heard) is None
        told = self.call(breakers, Heard.TIMEOUT)
        assert told is not None
        assert told.reason == "3 calls in a row ran out of time"

    def test_other_keys_are_not_concerned(self) -> None:
        breakers = self.another()
        self.open(breakers)
        assert isinstance(breakers.enter("fetch@two.example", 60), Pass)
        assert isinstance(breakers.enter("fetch", 60), Pass)

    def test_what_tells_nothing_counts_nothing(self) -> None:
        breakers = self.another()
        for _ in range(20):
            assert self.call(breakers, Heard.NOTHING) is None
            assert self.call(breakers, Heard.ANSWER) is None
        assert breakers.seen() == []

    def test_of_a_hundred_callers_exactly_one_tries_it(self) -> None:
        breakers = [self.another() for _ in range(4 if self.shared else 1)]
        self.open(breakers[0])
        self.now += 30
        ways = [breakers[number % len(breakers)].enter(_KEY, 60) for number in range(100)]
        passed = [way for way in ways if isinstance(way, Pass)]
        assert len(passed) == 1
        assert passed[0].trial
        assert all(way.again_in is None for way in ways if isinstance(way, Barred))
        assert breakers[0].seen()[0].phase == "half-open"

    def test_the_success_of_the_one_closes_it(self) -> None:
        breakers = self.another()
        self.open(breakers)
        self.now += 30
        assert self.call(breakers, Heard.SUCCESS) is None
        for _ in range(4):
            assert self.call(breakers, Heard.FAILURE) is None, "it counts from the beginning"

    def test_so_does_its_answer(self) -> None:
        breakers = self.another()
        self.open(breakers)
        self.now += 30
        self.call(breakers, Heard.ANSWER)
        assert breakers.enter(_KEY, 60) == Pass(_KEY)

    def test_each_failure_of_the_one_opens_it_for_twice_as_long(self) -> None:
        breakers = self.another()
        self.open(breakers)
        pauses = []
        pause = 30.0
        for _ in range(7):
            self.now += pause
            assert self.call(breakers, Heard.FAILURE) is None, "nobody is told of it again"
            barred = breakers.enter(_KEY, 60)
            assert isinstance(barred, Barred)
            assert barred.again_in is not None
            pause = barred.again_in
            pauses.append(round(pause))
        assert pauses == [60, 120, 240, 480, 600, 600, 600]

    @pytest.mark.parametrize("by", [0, 1])
    def test_one_that_is_cancelled_leaves_the_place_to_the_next(self, by: int) -> None:
        breakers = [self.another(), self.another()] if self.shared else [self.another()] * 2
        self.open(breakers[0])
        self.now += 30
        way = breakers[0].enter(_KEY, 60)
        assert isinstance(way, Pass)
        assert breakers[0].leave(way, Heard.NOTHING) is None
        after = breakers[by].enter(_KEY, 60)
        assert isinstance(after, Pass)
        assert after.trial != way.trial

    def test_one_that_never_comes_back_has_its_time_and_no_more(self) -> None:
        breakers = self.another()
        self.open(breakers)
        self.now += 30
        lost = breakers.enter(_KEY, 60)
        self.now += 59
        assert isinstance(breakers.enter(_KEY, 60), Barred)
        self.now += 1
        after = breakers.enter(_KEY, 60)
        assert isinstance(lost, Pass)
        assert isinstance(after, Pass)
        breakers.leave(lost, Heard.SUCCESS)
        assert isinstance(breakers.enter(_KEY, 60), Barred), "it is the other's to say"
        breakers.leave(after, Heard.SUCCESS)
        assert breakers.enter(_KEY, 60) == Pass(_KEY)

    def test_what_began_before_it_opened_neither_closes_nor_opens(self) -> None:
        breakers = self.another()
        early = [breakers.enter(_KEY, 60) for _ in range(2)]
        self.open(breakers)
        for way, heard in zip(early, (Heard.SUCCESS, Heard.FAILURE), strict=True):
            assert isinstance(way, Pass)
            assert breakers.leave(way, heard) is None
        barred = breakers.enter(_KEY, 60)
        assert isinstance(barred, Barred)
        assert barred.again_in == 30.0
        assert (breakers.seen()[0].good, breakers.seen()[0].bad) == (1, 6)

    def test_the_window_moves_on(self) -> None:
        breakers = self.another()
        for _ in range(4):
            self.call(breakers, Heard.FAILURE)
        self.now += 301
        assert breakers.seen() == []
        assert self.call(breakers, Heard.FAILURE) is None
        assert [(one.good, one.bad) for one in breakers.seen()] == [(0, 1)]

    def test_resetting_one_or_all(self) -> None:
        breakers = self.another()
        for key in ("a", "b", "c"):
            self.open(breakers, key)
        assert breakers.reset("b") == ["b"]
        assert breakers.reset("nobody") == []
        assert isinstance(breakers.enter("a", 60), Barred)
        assert breakers.enter("b", 60) == Pass("b")
        assert set(breakers.reset(None)) >= {"a", "c"}
        assert breakers.seen() == []

    def test_one_that_still_tries_what_was_reset_is_not_taken_for_the_next(self) -> None:
        breakers = self.another()
        self.open(breakers)
        self.now += 30
        old = breakers.enter(_KEY, 600)
        breakers.reset(None)
        breakers.seen()
        self.open(breakers)
        self.now += 30
        new = breakers.enter(_KEY, 600)
        assert isinstance(old, Pass)
        assert isinstance(new, Pass)
        breakers.leave(old, Heard.SUCCESS)
        assert isinstance(breakers.enter(_KEY, 60), Barred)

    def test_others_see_it(self) -> None:
        if not self.shared:
            pytest.skip("nobody else sees these")
        one, other = self.another(), self.another()
        assert isinstance(other.enter(_KEY, 60), Pass)
        self.open(one)
        assert isinstance(other.enter(_KEY, 60), Barred)
        assert other.reset(_KEY) == [_KEY]
        assert one.enter(_KEY, 60) == Pass(_KEY)
