"""What happens when two hands reach for one call, a commit fails, or something of an attempt goes on."""

from __future__ import annotations

import asyncio
import threading

import pytest

from callslip import Context, Runtime, tool
from callslip.core.event import draft
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.result import Status
from callslip.core.wait import WaitKind
from callslip.errors import Busy, LedgerUnavailable, LogBroken, UsageError
from callslip.ledgers.memory import MemoryLedger
from callslip.ports.policy import Verdict
from callslip.runtime.live import Partial, Progress
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.anyio


def call(tool_name: str, **arguments):
    return {"name": tool_name, "input": arguments}


async def records(runtime, kind, session="s"):
    return [r.record.event for r in await runtime.parts.ledger.read(session) if isinstance(r.record.event, kind)]


async def test_one_step_dispatched_twice_at_once_runs_once(runtime, world):
    world.gate.set()
    step = [call("pay", cents=1), call("slow", name="x")]
    first = asyncio.create_task(runtime.dispatch(step, session="s", step="1"))
    await asyncio.sleep(0)
    results = await asyncio.gather(
        first, *[runtime.dispatch(step, session="s", step="1") for _ in range(5)], return_exceptions=True
    )
    batches = [result for result in results if not isinstance(result, Busy)]
    assert len({batch.results for batch in batches}) == 1
    assert world.effects["pay"] == 1
    assert len(await records(runtime, ToolDispatch)) == 2


async def test_two_tasks_never_own_one_session(runtime, world):
    results = await asyncio.gather(
        *[runtime.dispatch([call("add", a=n, b=0)], session="s", step=str(n)) for n in range(4)],
        return_exceptions=True,
    )
    assert sum(not isinstance(result, Exception) for result in results) >= 1
    assert len(await records(runtime, RunStarted)) == 1


@pytest.mark.requirement("RECO-05")
async def test_an_idempotent_call_whose_t2_failed_goes_on_at_once_in_the_same_process(world):
    class Flaky(MemoryLedger):
        failing = True

        async def append(self, session, drafts, **how):
            if self.failing and any(d.record.event.__struct_config__.tag == "function_response" for d in drafts):
                raise LedgerUnavailable("The disk is full. Nothing was written.")
            return await super().append(session, drafts, **how)

    async with Runtime(tools=world.tools()) as runtime:
        runtime.parts.ledger = Flaky()
        with pytest.raises(LedgerUnavailable):
            await runtime.dispatch([call("put", text="x")], session="s", step="1")
        runtime.parts.ledger.failing = False
        batch = await runtime.dispatch([call("put", text="x")], session="s", step="1")
    assert (batch.results[0].status, batch.results[0].attempt) == (Status.SUCCESS, 2)
    assert world.keys[0] == world.keys[1]


@pytest.mark.requirement("LEDG-06")
async def test_nothing_is_written_that_could_not_be_read_back(runtime):
    await runtime.dispatch([call("pay", cents=1)], session="s", step="1")
    drive = runtime._sessions.held["s"].drive
    (t1,) = await records(runtime, ToolDispatch)
    before = (await runtime.parts.ledger.heads("s"))[0].seq
    with pytest.raises(LogBroken):
        await drive.append(t1)
    assert (await runtime.parts.ledger.heads("s"))[0].seq == before


@pytest.mark.requirement("RESI-03")
class TestWhatCantBeEnded:
    async def test_a_thread_that_goes_on_is_late_and_its_call_is_not_repeated_beside_it(self):
        works, go, ran = threading.Event(), threading.Event(), []

        @tool(risk="write", recovery="idempotent", local_effect=True, timeout=10)
        def stubborn() -> str:
            """Stubborn."""
            ran.append(1)
            works.set()
            go.wait(60)
            return "late"

        clock = FakeClock(auto=1.0)
        async with Runtime(tools=[stubborn], limits=Limits(grace=0.02), clock=clock) as runtime:
            task = asyncio.ensure_future(runtime.dispatch([call("stubborn")], session="s", step="1"))
            while not works.is_set():
                await asyncio.sleep(0.001)
            clock.advance(10)
            batch = await task
            assert batch.results[0].error_code == "parked"
            assert "still runs" in batch.results[0].error_message
            assert len(ran) == 1
            go.set()
            for _ in range(6000):
                late = await records(runtime, LateOutcome)
                if late:
                    break
                await asyncio.sleep(0.01)
            assert [event.ok for event in late] == [True]

    async def test_a_coroutine_that_swallows_its_cancellation(self):
        end = asyncio.Event()

        @tool(risk="read", timeout=0.02)
        async def deaf() -> str:
            """Deaf."""
            while not end.is_set():
                try:
                    await end.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        async with Runtime(tools=[deaf], limits=Limits(grace=0.02)) as runtime:
            batch = await runtime.dispatch([call("deaf")], session="s", step="1")
            assert batch.results[0].status is Status.TIMEOUT
            assert runtime.parts.left_behind[0].still_running
            end.set()
            for _ in range(6000):
                if await records(runtime, LateOutcome):
                    break
                await asyncio.sleep(0.01)
            assert not runtime.parts.left_behind[0].still_running

    @pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
    async def test_whatever_a_tool_raises_takes_nobody_down(self, error):
        @tool(risk="read")
        async def leave() -> str:
            """Leave."""
            raise error

        @tool(risk="read")
        async def stay() -> str:
            """Stay."""
            return "here"

        async with Runtime(tools=[leave, stay]) as runtime:
            batch = await runtime.dispatch([call("leave"), call("stay")], session="s", step="1")
        assert [outcome.status.value for outcome in batch.results] == ["fatal_error", "success"]


async def test_types_that_refuse_valid_arguments_refuse_before_the_dispatch():
    from typing import Annotated

    from pydantic import AfterValidator

    def even(value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value

    @tool(risk="write")
    async def halve(n: Annotated[int, AfterValidator(even)]) -> int:
        """Halve."""
        return n // 2

    async with Runtime(tools=[halve]) as runtime:
        batch = await runtime.dispatch([call("halve", n=3)], session="s", step="1")
        assert batch.results[0].status is Status.INVALID_ARGUMENTS
        assert not await records(runtime, ToolDispatch)


def test_lone_surrogates_never_break_a_record():
    from callslip.core.events.user_message import UserMessage

    made = draft(UserMessage(text="a\ud800b"), at=1, by="\udfff", epoch=0, run="")
    assert made.record.event.text == "a�b"


@pytest.mark.requirement("ORCH-04")
@pytest.mark.parametrize("repeated", [False, True])
async def test_a_stop_in_the_very_moment_of_t1_begins_nothing(world, repeated):
    class Slow(MemoryLedger):
        async def append(self, session, drafts, **how):
            stored = await super().append(session, drafts, **how)
            t1s = [d.record.event for d in drafts if isinstance(d.record.event, ToolDispatch)]
            if t1s and t1s[0].attempt == (2 if repeated else 1):
                task.cancel()
                for _ in range(20):  # until the cancellation has come down to the call
                    await asyncio.sleep(0)
            return stored

    async with Runtime(tools=world.tools()) as runtime:
        runtime.parts.ledger = Slow()
        task = asyncio.create_task(runtime.dispatch([call("put", text="fail2")], session="s", step="1"))
        with pytest.raises(asyncio.CancelledError):
            await task
        state = await runtime.state("s")
    (only,) = state.calls.values()
    if repeated:  # its first attempt may have taken effect, so it can't be said that nothing happened
        assert (only.response, only.attempts, world.effects["put"]) == (None, 2, 1)
    else:
        assert (only.response.error_code, only.response.effect, world.effects["put"]) == ("cancelled", "none", 0)


class TestTheQuietPeriodHoldsInALivingProcessToo:
    """A request that was sent before the attempt was given up may still arrive."""

    @pytest.mark.requirement("RECO-01")
    @pytest.mark.parametrize(("local", "waits"), [(False, True), (True, False)])
    async def test_a_probe_is_asked_only_after_it(self, local, waits):
        asked, effects = [], []

        async def probe(context):
            asked.append(1)
            return

        @tool(risk="write", recovery="probe", probe=probe, quiet=3600, local_effect=local)
        async def charge() -> str:
            """Charge."""
            effects.append(1)
            if len(effects) == 1:
                raise ConnectionError("reading the answer failed; the request is on its way")
            return "charged"

        async with Runtime(tools=[charge]) as runtime:
            batch = await runtime.dispatch([call("charge")], session="s", step="1")
        if waits:
            assert (batch.results[0].error_code, len(effects), asked) == ("time", 1, [])
            assert batch.waits[0].wake_at is not None
        else:
            assert (batch.results[0].result.structured, len(effects), asked) == ("charged", 2, [1])


async def test_a_call_that_never_got_a_thread_had_no_effect(monkeypatch):
    import anyio.to_thread

    occupied, release = threading.Event(), threading.Event()

    @tool(risk="read")
    def occupy() -> str:
        """Occupy."""
        occupied.set()
        release.wait(60)
        return ""

    @tool(risk="write", timeout=0.05)
    def act() -> str:
        """Act."""
        raise AssertionError

    async with Runtime(tools=[occupy, act], limits=Limits(grace=0.05)) as runtime:
        anyio.to_thread.current_default_thread_limiter().total_tokens = 1
        blocking = asyncio.create_task(runtime.dispatch([call("occupy")], session="a", step="1"))
        while not occupied.is_set():
            await asyncio.sleep(0.01)
        batch = await runtime.dispatch([call("act")], session="b", step="1")
        assert (batch.results[0].status, batch.results[0].effect) == (Status.TIMEOUT, "none")
        release.set()
        await blocking


async def test_a_steer_or_stop_meant_for_one_step_of_a_dispatcher_does_not_outlive_it(runtime, world):
    await runtime.dispatch([call("add", a=1, b=1)], session="s", step="1")
    await runtime.send("s", "no", steer=True)
    await runtime.stop("s")
    batch = await runtime.dispatch([call("add", a=1, b=1)], session="s", step="2")
    assert batch.results[0].ok


async def test_redaction_loses_no_value():
    from callslip.runtime.redact import Redactor

    cleaned = Redactor(["correcthorse", "hunter2hunter2"]).clean_json(b'{"correcthorse":1,"hunter2hunter2":2,"n":3}')
    assert cleaned == b'{"[redacted]":1,"[redacted]\'":2,"n":3}'
    assert Redactor(["12345678"]).clean_json(b'{"n":12345678,"s":"12345678"}') == b'{"n":12345678,"s":"[redacted]"}'


async def test_a_read_that_never_answers_is_settled_not_parked():
    from callslip import ToolFailed

    @tool(risk="read", recovery="idempotent", local_effect=True)
    async def look() -> str:
        """Look."""
        raise ToolFailed("Who knows.", effect="unknown")

    async with Runtime(tools=[look]) as runtime:
        runtime.parts.draw = lambda: 0.0
        batch = await runtime.dispatch([call("look")], session="s", step="1")
    assert (batch.results[0].status, batch.results[0].error_code) == (Status.RETRYABLE_ERROR, "attempts_exhausted")


class TestOrdersThatCantBe:
    """Facts that contradict the life of a run are refused, like all that can't be true."""

    @pytest.mark.requirement("LEDG-06")
    @pytest.mark.parametrize(
        "more",
        [
            lambda log: log.refuse().add(log.records[5].record.event),
            lambda log: log.add(RunEnded(status="idle")).add(RunEnded(status="idle")),
            lambda log: log.add(RunEnded(status="idle")).dispatch(),
            lambda log: log.add(RunEnded(status="idle"), epoch=2),
            lambda log: log.add(WaitOpened(wait_id="w", kind=WaitKind.TIME, reason="r", call_id="call-unknown")),
        ],
        ids=["a call too many", "ended twice", "after the end", "an epoch nobody began", "a wait for no call"],
    )
    def test_the_log_is_closed(self, more):
        log = LogBuilder().user().step("t")
        log.state()
        with pytest.raises(LogBroken):
            more(log).state()


async def test_what_is_seen_live_holds_no_secret():
    seen = []

    @tool(risk="read")
    async def talk(context: Context) -> str:
        """Talk."""
        context.partial("it is hunter2hunter2")
        context.progress("with hunter2hunter2")
        return "done"

    async with Runtime(tools=[talk], secrets=["hunter2hunter2"], watch=seen.append) as runtime:
        await runtime.dispatch([call("talk")], session="s", step="1")
    assert [one.text for one in seen if isinstance(one, Partial)] == ["it is [redacted]"]
    assert [one.message for one in seen if isinstance(one, Progress)] == ["with [redacted]"]


async def test_the_rule_that_denied_stands_in_the_log(world):
    class Policy:
        def decide(self, question):
            return Verdict(decision="deny", rules=("r7",), reason="No.")

    async with Runtime(tools=world.tools(), policy=Policy()) as runtime:
        await runtime.dispatch([call("add", a=1, b=1)], session="s", step="1")
        (response,) = await records(runtime, FunctionResponse)
    assert response.rules == ("r7",)


async def test_who_looks_on_cant_break_off_a_call(world, caplog):
    def watch(live):
        raise BrokenPipeError

    async with Runtime(tools=world.tools(), watch=watch) as runtime:
        batch = await runtime.dispatch([call("pay", cents=1)], session="s", step="1")
    assert batch.results[0].ok
    assert [record.message.split(";")[0] for record in caplog.records] == ["The watcher of a runtime failed"]


async def test_a_disk_that_fills_up_during_the_call_says_that_it_was_dispatched(world):
    class Full(MemoryLedger):
        async def append(self, session, drafts, **how):
            if any(isinstance(draft.record.event, FunctionResponse) for draft in drafts):
                raise LedgerUnavailable("The disk is full. Nothing was written. Make room, then resume.")
            return await super().append(session, drafts, **how)

    async with Runtime(tools=world.tools()) as runtime:
        runtime.parts.ledger = Full()
        with pytest.raises(
            LedgerUnavailable, match=r"pay was dispatched and has ended, but its outcome .* disk is full"
        ):
            await runtime.dispatch([call("pay", cents=1)], session="s", step="1")


@pytest.mark.requirement("LEDG-05")
async def test_a_payload_that_is_gone_is_a_broken_log(runtime):
    long = "x" * 10_000
    await runtime.dispatch([call("put", text=long)], session="s", step="1")
    runtime.parts.blobs.behind._data.clear()
    with pytest.raises(LogBroken, match=r"is not there\. Nothing was executed. Restore"):
        await runtime.dispatch([call("put", text=long)], session="s", step="1")


async def test_what_the_sdks_give_is_taken_as_it_is(runtime):
    class FromSdk:
        def model_dump(self):
            return {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":2}'}}

    batch = await runtime.dispatch([FromSdk()], session="s", step="1")
    assert batch.results[0].result.structured == 3
    with pytest.raises(UsageError, match="type int has no known shape"):
        await runtime.dispatch([3], session="s", step="2")


@pytest.mark.parametrize("limits", [{"steps_per_turn": 0}, {"result_bytes": 0}, {"poll": 0}, {"grace": -1}])
def test_limits_that_mean_nothing(limits):
    with pytest.raises(ValueError, match=r"at least 1|not negative"):
        Limits(**limits)


@pytest.mark.requirement("ORCH-04")
async def test_a_stop_does_not_wait_for_a_look_at_the_target():
    looking = asyncio.Event()

    async def prepare():
        looking.set()
        await asyncio.Event().wait()

    @tool(risk="write", recovery="evidence", prepare=prepare, digest=lambda target: "")
    async def change() -> str:
        """Change."""
        raise AssertionError

    @tool(risk="write")
    async def fail() -> str:
        """Fail the step, which stops its siblings."""
        await looking.wait()
        await runtime.stop("s")
        return "done"

    async with Runtime(tools=[change, fail], limits=Limits(poll=0.01)) as runtime:
        batch = await asyncio.wait_for(
            runtime.dispatch([call("change"), call("fail")], session="s", step="1"), timeout=60
        )
    assert [(one.error_code, one.effect) for one in batch.results] == [("cancelled", "none"), (None, "done")]
