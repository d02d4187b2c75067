"""What the log says of tools and models, from logs that are written by hand (OBSV-02, OBSV-03)."""

from __future__ import annotations

import msgspec
import pytest

from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_replied import ModelReplied, Usage
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.hedging import Hedged
from callslip.core.instead import Fallback, Instead
from callslip.core.result import Effect, Status
from callslip.core.wait import WaitKind
from callslip.stats.tally import Tally
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.requirement("OBSV-02")


class Log(LogBuilder):
    """A log whose dispatches name the tool that was called."""

    def step(self, *tools, **options):
        self.names = tools
        return super().step(*tools, **options)

    def dispatch(self, position=0, **changes):
        return super().dispatch(position, **{"tool": self.names[position]} | changes)

    def after(self, milliseconds):
        self.now += milliseconds
        return self

    def late(self, position=0, **changes):
        t1 = self._dispatches[position]
        event = LateOutcome(call_id=t1.call_id, attempt=t1.attempt, nonce=t1.nonce, ok=True, **changes)
        return self.add(event, outsider=True)

    def replied(self, finish="stop", model="openai:m", took=None, **usage):
        self.add(ModelRequested(step="1.1", turn=1, model=model))
        return self.add(
            ModelReplied(step="1.1", text="", finish=finish, calls=0, usage=Usage(**usage), duration_ms=took)
        )


def figures(*logs, since=None):
    tally = Tally(since)
    for log in logs:
        tally.begin()
        for stored in log.records:
            tally.add(stored)
    return tally.stats()


def one(*logs, tool="find", **options):
    return next(row for row in figures(*logs, **options).tools if row.tool == tool)


def reasons(found):
    return [(reason.layer, reason.code, reason.count) for reason in found]


def test_every_proposed_call_is_counted_once_by_how_it_ended():
    log = Log().step("find", "find", "find", "find")
    log.dispatch(0).settle(0, duration_ms=10)
    log.dispatch(1).settle(1, status=Status.FATAL_ERROR, error_code="no_such_thing", duration_ms=30)
    log.refuse(2, code="policy_denied")
    found = one(log)
    assert (found.calls, found.succeeded, found.failed, found.refused, found.open) == (4, 1, 1, 1, 1)
    assert found.success_rate == 0.5  # what was refused says nothing of how well a tool does
    assert (found.durations.count, found.durations.p50_ms, found.durations.longest_ms) == (2, 10, 30)


@pytest.mark.requirement("OBSV-03")
def test_failures_are_counted_by_layer_and_code():
    log = Log().step("find", "find", "find", "find", "find")
    log.refuse(0, code="invalid_arguments").refuse(1, code="invalid_arguments").refuse(2, code="policy_denied")
    log.dispatch(3).settle(3, status=Status.RETRYABLE_ERROR, error_code="unavailable", layer="network")
    log.dispatch(4).settle(4, status=Status.FATAL_ERROR, error_code="my_own_code")
    stats = figures(log)
    assert reasons(stats.tools[0].failures) == [
        ("validation", "invalid_arguments", 2), ("network", "unavailable", 1), ("policy", "policy_denied", 1),
        ("tool", "my_own_code", 1),
    ]  # fmt: skip
    assert stats.layers == {
        "model": 0, "protocol": 0, "validation": 2, "policy": 1, "runtime": 0, "tool": 1, "network": 1,
    }  # fmt: skip


def test_a_retry_is_an_attempt_beyond_the_first_and_its_pause_a_wait():
    log = Log().step("find").dispatch()
    log.after(5).fail(effect=Effect.NONE, code="unavailable", layer="network", retry_at=1, duration_ms=5)
    log.after(400).dispatch().after(7).settle(duration_ms=7)
    found = one(log)
    assert (found.calls, found.attempts, found.retries, found.succeeded, found.success_rate) == (1, 2, 1, 1, 1.0)
    assert reasons(found.attempt_failures) == [("network", "unavailable", 1)]
    assert found.failures == ()
    assert [(wait.kind, wait.durations.total_ms) for wait in found.waits] == [("retry", 400)]
    assert found.durations.count == 2


def test_waits_are_told_apart_by_what_is_waited_for():
    log = Log().step("find").ask(tool="find").after(60_000).decide()
    log.dispatch(waited_ms=250, waited_for=("other",)).settle()
    assert {wait.kind: wait.durations.total_ms for wait in one(log).waits} == {"approval": 60_000, "claims": 250}


def test_an_outcome_that_came_late_counts_as_late_and_never_as_a_success():
    log = Log().step("find").dispatch(risk="read").settle(status=Status.TIMEOUT, error_code="timeout", duration_ms=9)
    found = one(log.late())
    assert (found.late, found.succeeded, found.failed) == (1, 0, 1)


def test_attempts_that_were_executed_twice_are_counted_with_who_answered():
    log = Log().step("find", "find", "find", "find")
    log.dispatch(0).settle(0, hedged=Hedged(after_ms=200, answered="second"))
    log.dispatch(1).settle(1, hedged=Hedged(after_ms=200, answered="first"))
    log.dispatch(2).settle(2)
    neither = Hedged(after_ms=200, answered="neither", failed="timeout")
    log.dispatch(3, risk="read").fail(3, effect=Effect.NONE, hedged=neither, retry_at=5)
    log.dispatch(3, risk="read").settle(3)
    found = one(log)
    assert (found.attempts, found.hedged, found.won_by_second) == (5, 3, 1)


def test_what_the_beaten_one_gives_is_not_late():
    log = Log().step("find", "find").dispatch(0).settle(0, hedged=Hedged(after_ms=200, answered="second"))
    assert one(log.late(beaten=True)).late == 0


def test_a_call_that_is_parked_is_counted_once_however_often_that_is_said():
    log = Log().step("find").dispatch().fail().park().park(code="still_running")
    assert (one(log).parked, one(log).open) == (1, 1)


def test_what_a_fallback_answers_is_no_success_of_the_tool_that_was_called():
    log = Log().step("find").dispatch()
    instead = Instead(tool="spare", of="find", why="unavailable")
    log.fail(effect=Effect.NONE, code="unavailable", last=True, instead=instead, duration_ms=3)
    log.dispatch(tool="spare", instead=instead)
    log.settle(fallback=Fallback(source="spare", of="find", why="unavailable"), duration_ms=1)
    found, spare = one(log), one(log, tool="spare")
    assert (found.calls, found.succeeded, found.failed, found.fallbacks, found.retries) == (1, 0, 1, 1, 0)
    assert (spare.calls, spare.succeeded, spare.stood_in, spare.retries) == (0, 1, 1, 0)
    assert (found.durations.total_ms, spare.durations.total_ms) == (3, 1)


def test_an_earlier_answer_is_no_success_either():
    log = Log().step("find")
    log.refuse(status=Status.SUCCESS)
    event = log.records[-1].record.event
    fallback = Fallback(source="cache", of="find", why="breaker_open")
    cached = msgspec.structs.replace(event, error_code=None, fallback=fallback)
    log.records.pop()
    found = one(log.add(cached))
    assert (found.calls, found.succeeded, found.failed, found.fallbacks) == (1, 0, 1, 1)
    assert reasons(found.failures) == [("runtime", "breaker_open", 1)]


def test_a_job_takes_as_long_as_it_goes_on():
    log = Log().step("find").dispatch(background=True).job().after(90_000).settle()
    found = one(log)
    assert found.durations.p50_ms == 90_000
    assert [wait.kind for wait in found.waits] == []  # its wait is not closed in this log


def test_names_that_models_make_up_are_one_row():
    log = Log().step("find").dispatch().settle()
    for n in range(50):
        log.step("find", step=f"1.{n + 2}")
        made_up = msgspec.structs.replace(log.records[-1].record.event, tool=f"made_up_{n}")
        log.records[-1] = msgspec.structs.replace(
            log.records[-1], record=msgspec.structs.replace(log.records[-1].record, event=made_up)
        )
        log.refuse(code="unknown_tool", status=Status.NOT_FOUND)
    tools = {row.tool: row.calls for row in figures(log).tools}
    assert tools == {"(no such tool)": 50, "find": 1}


@pytest.mark.untraced
def test_codes_that_tools_make_up_are_not_counted_without_end():
    log = Log()
    for n in range(300):
        log.step("find", step=f"1.{n}").dispatch().settle(status=Status.FATAL_ERROR, error_code=f"row_{n}_missing")
    found = one(log).failures
    assert len(found) == 101
    assert (found[0].code, found[0].count) == ("(other)", 200)


def test_what_was_proposed_before_is_left_out_with_all_that_follows_from_it():
    log = Log().step("find").dispatch().after(1000)
    since = log.now
    log.settle(duration_ms=1000)
    log.step("find", step="1.2").dispatch().settle(duration_ms=5)
    found = one(log, since=since)
    assert (found.calls, found.attempts, found.durations.total_ms) == (1, 1, 5)


def test_a_breaker_that_opened_is_counted():
    log = Log().step("find").dispatch()
    log.add(BreakerOpened(call_id=log.call_id(), tool="find", reason="because", until=1)).settle()
    assert one(log).opened == 1


def test_models_are_told_by_replies_tokens_cost_and_time():
    log = Log()
    log.replied("stop", took=100, input_tokens=10, output_tokens=1, cost_micros=7)
    log.replied("length", took=300, input_tokens=20, output_tokens=2)
    log.replied("empty")
    log.add(ModelFailed(step="1.1", attempt=1, model="openai:m", code="model_unavailable", message="", retry_at=1))
    log.add(RunEnded(status="failed", code="model_unavailable"))
    (model,) = figures(log).models
    assert (model.model, model.replies, model.failed, model.unusable) == ("openai:m", 3, 2, 2)
    assert (model.input_tokens, model.output_tokens, model.cost_micros, model.priced) == (30, 3, 7, 1)
    assert (model.durations.count, model.durations.p50_ms, model.durations.p95_ms) == (2, 100, 300)
    assert model.finishes == {"stop": 1, "length": 1, "empty": 1}
    assert reasons(model.failures) == [("network", "model_unavailable", 2)]
    assert figures(log).layers["protocol"] == 2


def test_what_a_dispatcher_or_a_revert_asks_for_is_no_models():
    assert figures(Log().step("find", model="caller").dispatch().settle()).models == ()


def test_sessions_do_not_mix():
    """The same ids in another session are other calls."""
    open_there = Log("a").step("find").dispatch()
    found = figures(open_there, Log("b").step("find").dispatch().settle())
    assert [(row.calls, row.open, row.succeeded) for row in found.tools] == [(2, 1, 1)]
    assert found.sessions == 2


@pytest.mark.untraced
def test_what_is_remembered_does_not_grow_with_the_log():
    log, tally = Log(), Tally()
    tally.begin()
    for n in range(400):
        log.step("find", step=f"1.{n}").dispatch(risk="read")
        log.add(WaitOpened(wait_id=f"w{n}", kind=WaitKind.TIME, reason="because", call_id=log.call_id()))
        log.close(f"w{n}", "elapsed", "clock")
        log.settle(status=Status.TIMEOUT, error_code="timeout")
    for stored in log.records:
        tally.add(stored)
    assert (len(tally._calls), len(tally._waits)) == (0, 0)
    assert len(tally._unsure) == 200
