"""The rules of a breaker that the conformance suite and the state machine don't show one by one (RESI-04)."""

import pytest

from callslip.core import breaker
from callslip.core.breaker import NEW, Breaker, BreakerRules, Closed, Heard, Open, Probe

pytestmark = pytest.mark.requirement("RESI-04")

RULES = BreakerRules()


def told(*heard, state=NEW, rules=RULES, at=1000.0, every=0.0):
    for place, one in enumerate(heard):
        state = breaker.after(state, rules, one, at + place * every)
    return state


def test_the_defaults_are_over_half_of_ten_in_five_minutes_and_three_timeouts():
    half = [Heard.SUCCESS] * 5 + [Heard.FAILURE] * 5
    assert told(*half).opened is None
    assert told(*half, Heard.FAILURE).reason == "6 of its last 11 calls failed"
    assert told(*[Heard.FAILURE] * 9).opened is None
    assert told(*[Heard.FAILURE] * 10).opened == 1000.0
    assert told(*[Heard.FAILURE] * 10, every=40.0).opened is None, "not all of them are in the window"
    assert told(*[Heard.TIMEOUT] * 3).reason == "3 calls in a row ran out of time"


def test_one_call_is_told_of_as_one():
    assert told(Heard.FAILURE, rules=BreakerRules(least=1)).reason == "its last call failed"
    assert told(Heard.TIMEOUT, rules=BreakerRules(timeouts=1)).reason == "a call ran out of time"


def test_a_failure_or_an_answer_between_ends_a_row_of_timeouts():
    for between in (Heard.FAILURE, Heard.ANSWER, Heard.SUCCESS):
        assert told(Heard.TIMEOUT, Heard.TIMEOUT, between, Heard.TIMEOUT).opened is None
    assert told(Heard.TIMEOUT, Heard.TIMEOUT, Heard.NOTHING, Heard.TIMEOUT).opened is not None


def test_timeouts_further_apart_than_the_window_are_no_row():
    assert told(Heard.TIMEOUT, Heard.TIMEOUT, Heard.TIMEOUT, every=400.0).opened is None


def test_what_is_kept_does_not_grow_with_calls():
    state = told(*[Heard.SUCCESS] * 5000, every=1.0)
    assert len(state.counts) <= 31
    assert breaker.totals(state, RULES, 6000.0)[0] <= 310


def test_open_then_one_then_nobody():
    state = told(*[Heard.FAILURE] * 10)
    assert breaker.may(NEW, 0) == Closed()
    assert breaker.may(state, 1029.9) == Open(since=1000.0, until=1030.0, reason="10 of its last 10 calls failed")
    assert breaker.may(state, 1030.0) == Probe()
    state = breaker.trying(state, 1030.0, 60)
    assert breaker.may(state, 1031.0) == Open(since=1000.0, until=None, reason="10 of its last 10 calls failed")
    freed = breaker.after(state, RULES, Heard.NOTHING, 1031.0, trial=state.trial)
    assert breaker.may(freed, 1031.0) == Probe()
    assert breaker.after(state, RULES, Heard.SUCCESS, 1031.0, trial=state.trial) == Breaker(trials=state.trials)


def test_a_number_is_used_once_also_by_one_that_was_forgotten():
    first = breaker.trying(told(*[Heard.FAILURE] * 10), 1030.0, 60)
    later = breaker.trying(told(*[Heard.FAILURE] * 10, at=1031.0), 1061.0, 60)
    assert later.trial > first.trial
    assert breaker.trying(first, 1030.0, 60).trial > first.trial


def test_one_that_says_nothing_may_be_forgotten():
    assert breaker.is_idle(NEW, RULES, 0)
    assert not breaker.is_idle(told(Heard.SUCCESS), RULES, 1000.0)
    assert breaker.is_idle(told(Heard.SUCCESS), RULES, 1311.0)
    assert not breaker.is_idle(told(*[Heard.FAILURE] * 10), RULES, 9000.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 1}, {"rate": -0.1}, {"least": 0}, {"timeouts": 0}, {"window": 9}, {"window": 3601}, {"open_for": 0},
        {"open_at_most": 29}, {"open_for": float("inf"), "open_at_most": float("inf")}, {"window": float("nan")},
    ],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match=r" is | are | at least "):
        BreakerRules(**wrong)


def test_keys():
    assert breaker.key("fetch") == "fetch"
    assert breaker.key("fetch", "one.example") == "fetch@one.example"
    long, other = breaker.key("fetch", "x" * 5000), breaker.key("fetch", "x" * 5001)
    assert len(long) < 220
    assert long != other
