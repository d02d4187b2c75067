"""What is counted of a log: what was used, and what is repeated."""

from __future__ import annotations

import msgspec
import pytest

from callslip.core import canon, fold, repeat
from callslip.core.event import draft
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.model_replied import ModelReplied, Usage
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded
from callslip.core.payload import Payload, inline
from callslip.core.result import BlobRef, Effect, Status
from callslip.core.tool import Risk
from callslip.testing.log_builder import LogBuilder

FREE = Usage()


def replied(log: LogBuilder, turn: int, step: int, usage: Usage = FREE, *, consumed: bool = True) -> LogBuilder:
    name = f"{turn}.{step}"
    seqs = tuple(message.seq for message in log.state().queued) if consumed else ()
    log.add(ModelRequested(step=name, turn=turn, model="m", visible=(), consumed=seqs))
    return log.add(ModelReplied(step=name, text="", finish="stop", calls=0, usage=usage))


def counted(log: LogBuilder):
    return log.state().counts


def ended(log: LogBuilder, status: str = "stopped", limit: str = "") -> LogBuilder:
    return log.add(RunEnded(status=status, limit=limit))


@pytest.mark.requirement("RESI-06")
class TestUsed:
    def test_tokens_and_money_of_turn_session_and_day(self):
        log = LogBuilder().user()
        replied(log, 1, 1, Usage(input_tokens=100, output_tokens=20, cost_micros=3))
        log.user()
        replied(log, 2, 1, Usage(input_tokens=10, output_tokens=5, cost_micros=2))
        counts = counted(log)
        assert (counts.session.tokens, counts.session.cost_micros) == (135, 5)
        assert (counts.turn.tokens, counts.turn.cost_micros) == (15, 2)
        assert (counts.today.tokens, counts.today.cost_micros) == (135, 5)
        log.now += 86_400_000
        log.user()
        replied(log, 3, 1, Usage(input_tokens=1))
        assert (counted(log).today.tokens, counted(log).session.tokens) == (1, 136)

    def test_a_cost_that_nobody_knows_is_not_nothing(self):
        log = replied(LogBuilder().user(), 1, 1, Usage(input_tokens=100))
        assert (counted(log).session.unpriced, counted(log).session.cost_micros) == (1, 0)
        assert counted(replied(LogBuilder().user(), 1, 1)).session.unpriced == 0, "a recorded reply costs nothing"

    def test_every_call_counts_whatever_becomes_of_it(self):
        log = LogBuilder().user().step("t", "tool_search", "tool_search").refuse(0).dispatch(1).settle(1)
        assert (counted(log).turn.calls, counted(log).turn.searches) == (3, 2)
        log.refuse(2)
        ended(log, "finished").crash()
        log.add(RevertStarted(turn=1, actor="op", prefix_seq=len(log.records))).undo("call-1.1-1", "undo-1")
        assert counted(log).session.calls == 3, "what a person has undone is no call of the model"

    def test_bytes(self):
        log = LogBuilder().user().step("t")
        assert counted(log).session.log_bytes == sum(map(len, log.texts))
        blob = Payload(blob="sha256:" + "a" * 64, size=5000)
        kept = BlobRef(address=blob.blob, size=5000)
        log.dispatch().settle(structured=blob, evidence=(kept, BlobRef(address="sha256:" + "b" * 64, size=70)))
        assert counted(log).session.blob_bytes == 5070
        assert counted(log).turn.blob_bytes == 5070

    def test_time_in_which_runs_were_under_way(self):
        log = LogBuilder()
        log.now += 5000
        assert counted(log).seconds(log.now) == 5
        ended(log.user().step("t"), "waiting")
        log.now += 60_000
        assert counted(log).seconds(log.now) == 5
        log.crash(after_ms=0)
        log.now += 1000
        log.user()
        log.now += 7000  # then it dies, and nobody knows when
        log.crash(after_ms=100_000)
        assert counted(log).seconds(log.now) == 6

    def test_going_on_with_a_turn_is_a_wake_up_and_beginning_one_is_not(self):
        log = replied(LogBuilder().user(), 1, 1)
        ended(log, "finished").crash()
        assert counted(log).session.wakeups == 0
        log.user().step("t", step="2.1", turn=2)
        ended(log, "waiting").crash()
        log.crash()
        assert (counted(log).turn.wakeups, counted(log).session.wakeups) == (2, 2)

    @pytest.mark.parametrize(
        ("limit", "left"),
        [
            ("turn.tokens", {"input_tokens": 0, "output_tokens": 0}),
            ("turn.money", {"cost_micros": 0, "unpriced": 0}),
            ("turn.calls", {"calls": 0}),
            ("turn.log_bytes", {}),
            ("turn.steps", {}),
            ("turn.seconds", {}),
            ("session.tokens", {}),
            ("requester_day.money", {}),
            ("", {}),
        ],
    )
    def test_whoever_goes_on_grants_what_was_used_up_and_nothing_else(self, limit, left):
        log = LogBuilder().user()
        log.step("t", "t", "t").refuse(0).refuse(1).refuse(2)
        replied(log, 1, 2, Usage(input_tokens=7, output_tokens=8, cost_micros=9), consumed=False)
        replied(log, 1, 3, Usage(input_tokens=7), consumed=False)
        ended(log, "stopped", limit)
        before = msgspec.structs.asdict(counted(log).turn)
        assert counted(log).limit == limit
        log.crash()
        after = msgspec.structs.asdict(counted(log).turn)
        if limit == "turn.log_bytes":
            left = {"log_bytes": len(log.texts[-1])}
        else:
            left = left | {"log_bytes": before["log_bytes"] + len(log.texts[-1])}
        assert after == before | left | {"wakeups": before["wakeups"] + (0 if limit else 1)}
        assert counted(log).limit == ""
        assert counted(log).session.tokens == 22

    def test_a_rehearsal_counts_nothing(self):
        log = LogBuilder().user().step("t").dispatch()
        state = log.state()
        before = msgspec.json.encode(state.counts)
        settled = log.settle(status=Status.FATAL_ERROR, error_code="no").records[-1].record
        fold.rehearse(state, [draft(settled.event, at=1, by="o", epoch=log.epoch, run="r")])
        assert msgspec.json.encode(state.counts) == before


def failing(log: LogBuilder, number: int, code: str = "no", *, settled: bool = True, tool: str = "t", **changes):
    """One more step with a call of the tool that fails."""
    log.step(tool, step=f"1.{number}")
    if settled:
        return log.dispatch().settle(status=Status.FATAL_ERROR, effect=Effect.NONE, error_code=code, **changes)
    return log.refuse(code=code)


def failures(log: LogBuilder) -> list[tuple[str, int]]:
    return [(one.same, one.count) for one in counted(log).failures.values()]


@pytest.mark.requirement("ARGS-05")
class TestRepeated:
    def test_the_same_call_with_the_same_fault(self):
        log = LogBuilder().user()
        for number in range(1, 4):
            failing(log, number)
        assert failures(log) == [("no", 3)]
        assert failures(failing(log, 4, "other")) == [("other", 1)]

    def test_what_stands_twice_in_one_reply_was_decided_once(self):
        log = LogBuilder().user().step("t", "t")
        same = log.records[-2].record.event.arguments
        event = log.records[-1].record.event
        assert repeat.call_key(event) != repeat.call_key(msgspec.structs.replace(event, arguments=same))
        log = LogBuilder().user()
        call = log.step("t", "u").records[-1].record.event
        twice = msgspec.structs.replace(call, tool="t", arguments=same)
        log.records.pop()
        log.texts.pop()
        log._digest = log.records[-1].digest
        log.add(twice).refuse(0).refuse(1)
        assert failures(log) == [("no", 1)]

    @pytest.mark.parametrize(
        ("one", "other", "equal"),
        [
            ('{"a":1,"b":2}', '{"b": 2, "a": 1}', True),
            ('{"a":1}', '{"a":2}', False),
            ("{", "{", True),
            ("{", "{{", False),
            ({"a": 1}, '{"a":1}', True),
        ],
    )
    def test_the_same_call_however_it_is_spelled(self, one, other, equal):
        def key(arguments, tool="t"):
            made = inline(canon.canonical(arguments))
            return repeat.call_key(FunctionCall(call_id="c", step="1", position=0, tool=tool, arguments=made))

        assert (key(one) == key(other)) == equal
        assert key(one) != key(one, "u")

    def test_what_was_made_is_known_by_its_final_arguments(self):
        def made(log, number, digest, **changes):
            log.step("t", step=f"1.{number}")
            call = log.records[-1].record.event
            spelled = msgspec.structs.replace(call, arguments=inline(f'"{{\\"a\\": {number}}}"'.encode()))
            log.records.pop()
            log.texts.pop()
            log._digest = log.records[-1].digest
            log.add(spelled).dispatch(arguments_digest=digest, **changes)
            return log.settle(status=Status.FATAL_ERROR, effect=Effect.NONE, error_code="no")

        log = made(made(LogBuilder().user(), 1, "d1"), 2, "d1")
        assert failures(log) == [("no", 2)]
        assert list(counted(log).failures) == [repeat.final_key("t", "d1")]
        assert failures(made(log, 3, "d2")) == [("no", 2), ("no", 1)]
        edited = made(LogBuilder().user(), 1, "d1").call_state()
        edited.kept, edited.kept_edits = edited.call.arguments, ("a: 1 → 2",)
        response = edited.response
        assert repeat.key_of(edited, response) == repeat.call_key(edited.call), "a person's words are not the model's"

    @pytest.mark.parametrize("code", ["cancelled", "budget_spent", "breaker_open"])
    def test_what_says_nothing_of_the_call_does_not_count(self, code):
        assert failures(failing(LogBuilder().user(), 1, code, settled=False)) == []

    def test_what_may_pass_does_not_count_either(self):
        log = LogBuilder().user().step("t").dispatch()
        log.settle(status=Status.RETRYABLE_ERROR, effect=Effect.NONE, error_code="unavailable")
        assert failures(log) == []

    def test_insisting_counts_on(self):
        log = LogBuilder().user()
        for number in range(1, 4):
            failing(log, number)
        same = log.call_id()
        log.step("t", step="1.4").refuse(code="loop", same_as="another")
        assert failures(log) == [("no", 3)]
        log.step("t", step="1.5").refuse(code="loop", same_as=same)
        log.step("t", step="1.6").refuse(code="loop", same_as=same)
        assert failures(log) == [("no", 5)]
        assert repeat.beyond(counted(log).failures, 3).count == 5
        assert repeat.beyond(counted(log).failures, 4) is None
        assert repeat.beyond(counted(log).failures, 0) is None

    def test_after_a_write_what_failed_in_the_world_may_work(self):
        log = failing(LogBuilder().user(), 1)
        failing(log, 2, "invalid_arguments", settled=False, tool="other")
        log.step("write", step="1.3").dispatch(risk=Risk.WRITE).settle()
        assert failures(log) == [("invalid_arguments", 1)]
        log.step("read", step="1.4").dispatch(risk=Risk.READ).settle()
        assert failures(log) == [("invalid_arguments", 1)]

    @pytest.mark.parametrize("after", ["said", "turn", "granted"])
    def test_when_it_is_forgotten(self, after):
        log = failing(LogBuilder().user(), 1)
        log.step("t", step="1.2").dispatch(risk=Risk.READ).settle()
        assert counted(log).failures
        assert counted(log).results
        if after == "granted":
            ended(log, limit="loop").crash()
        else:
            log.user(steer=True).step("t", step="1.3" if after == "said" else "2.1", turn=1 if after == "said" else 2)
        assert (counted(log).failures, counted(log).results) == ({}, {})

    def test_the_same_result_of_a_tool_that_reads(self):
        log = LogBuilder().user()
        for number in range(1, 4):
            log.step("t", step=f"1.{number}").dispatch(risk=Risk.READ).settle()
        assert [one.count for one in counted(log).results.values()] == [3]
        log.step("t", step="1.4").dispatch(risk=Risk.READ).settle(structured=Payload(text=msgspec.Raw(b'"new"')))
        assert [one.count for one in counted(log).results.values()] == [1]

    def test_what_is_remembered_is_bounded(self):
        log = LogBuilder().user()
        for number in range(repeat.KEPT + 6):
            failing(log, number, tool=f"t{number}", settled=False)
        assert len(counted(log).failures) == repeat.KEPT

    def test_a_dispatchers_failures_are_forgotten_in_time_and_insisting_does_not_prolong_it(self):
        log = LogBuilder()

        def step(number, code="no"):
            log.step("t", step=f"s{number}", turn=0, model=fold.CALLER).dispatch(risk=Risk.READ)
            log.settle(status=Status.FATAL_ERROR, effect=Effect.NONE, error_code=code)

        step(1)
        same = log.call_id()
        log.now += repeat.WINDOW_MS // 2
        log.step("t", step="s2", turn=0, model=fold.CALLER).refuse(code="loop", same_as=same)
        assert failures(log) == [("no", 2)]
        log.now += repeat.WINDOW_MS // 2 + 1
        log.step("t", step="s3", turn=0, model=fold.CALLER)
        assert failures(log) == []
