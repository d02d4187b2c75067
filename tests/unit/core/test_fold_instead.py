"""What the log may say of a tool that stands in for another (RESI-05)."""

import pytest

from callslip.core import crash
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.function_response import FunctionResponse
from callslip.core.instead import CACHE, Fallback, Instead
from callslip.core.result import Effect, Status
from callslip.errors import LogBroken
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.requirement("RESI-05")

INSTEAD = Instead(tool="backup", of="pay", why="closed")


NONE = {"effect": Effect.NONE}


def built():
    return LogBuilder().user("go").step("pay")


def given_over():
    return built().dispatch(tool="pay").fail(**NONE, last=True, instead=INSTEAD)


def stands_in(builder, **changes):
    return builder.dispatch(**{"tool": "backup", "instead": INSTEAD, "idempotency_key": "another", **changes})


def judged(builder):
    return crash.judge(builder.call_state(), now=builder.now)


def test_once_the_log_says_so_it_is_the_others_turn_and_a_crash_changes_nothing():
    log = given_over()
    assert log.call_state().instead == INSTEAD
    assert judged(log) == crash.GateAgain()
    assert judged(log.crash()) == crash.GateAgain()
    assert stands_in(log).call_state().instead == INSTEAD


def test_it_has_attempts_of_its_own():
    log = stands_in(given_over())
    assert (log.call_state().tried, log.call_state().first_failed_at) == (1, None)
    log.fail(**NONE, transient=True)
    assert log.call_state().instead == INSTEAD
    assert judged(log) == crash.GateAgain()


def test_it_may_stand_in_without_the_other_having_been_tried():
    assert stands_in(built()).call_state().instead == INSTEAD


def test_so_does_a_question_about_it():
    assert built().ask(tool="backup", instead=INSTEAD).call_state().instead == INSTEAD


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (lambda: given_over().dispatch(tool="pay"), "backup stands in for"),
        (
            lambda: stands_in(given_over()).fail(**NONE).dispatch(tool="pay", idempotency_key="another"),
            "backup stands in for",
        ),
        (lambda: stands_in(built(), tool="other"), "where backup stands in"),
        (lambda: stands_in(built().dispatch(tool="pay").fail(effect=Effect.UNKNOWN)), "unconcluded"),
        (
            lambda: stands_in(built().dispatch(tool="pay", recovery="idempotent").fail(effect=Effect.UNKNOWN)),
            "idempotency key",
        ),
        (lambda: built().dispatch(tool="pay").fail(effect=Effect.UNKNOWN, instead=INSTEAD), "which can't be"),
        (lambda: stands_in(given_over()).fail(**NONE, instead=INSTEAD), "which can't be"),
        (lambda: stands_in(given_over()).fail(**NONE).dispatch(tool="backup", instead=INSTEAD), "idempotency key"),
    ],
)
def test_what_cant_be(log, why):
    with pytest.raises(LogBroken, match=why):
        log().state()


def test_an_earlier_answer_may_stand_where_nothing_was_dispatched_and_nothing_else_may():
    def answered(fallback):
        log = built()
        return log.add(
            FunctionResponse(
                call_id=log.call_id(), lane="refused", status=Status.SUCCESS, effect=Effect.NONE, fallback=fallback
            )
        )

    log = answered(Fallback(source=CACHE, of="pay", why="breaker_open", age_ms=5))
    assert log.call_state().response.fallback.age_ms == 5
    with pytest.raises(LogBroken, match="without having been dispatched"):
        answered(None).state()


def test_an_earlier_answer_is_no_success_of_the_tool():
    log = built().dispatch(tool="pay").settle(fallback=Fallback(source=CACHE, of="pay", why="closed"), **NONE)
    assert log.state().succeeded == set()


def test_a_breaker_opens_at_the_end_of_a_call_and_changes_nothing_in_the_session():
    log = built().dispatch(tool="pay")
    opened = BreakerOpened(call_id=log.call_id(), tool="pay", reason="5 of its last 5 calls failed", until=5)
    before = log.call_state()
    log.add(opened)
    assert log.call_state() == before
    with pytest.raises(LogBroken, match="has its response"):
        log.settle().add(opened).state()
