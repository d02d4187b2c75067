"""Why a call ends is decided by whatever comes first, and what comes later is late (RESI-03)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time

import pytest

from callslip import Context, Runtime, ToolFailed, tool
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.result import Effect, Status
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RESI-03"), pytest.mark.usefixtures("nothing_left")]

DAY = 86_400.0


def call(made, **arguments):
    return {"name": made.spec.name, "input": arguments}


async def until(true):
    while not true():
        await asyncio.sleep(0)


async def log(runtime, kind):
    return [one.record.event for one in await runtime.parts.ledger.read("s") if isinstance(one.record.event, kind)]


async def late(runtime):
    while not (found := await log(runtime, LateOutcome)):
        await asyncio.sleep(0.001)
    return found


class Begun:
    """A runtime under a clock that stands still, and a step of it that has begun."""

    def __init__(self, *tools, **limits):
        self.clock = FakeClock()
        self.runtime = Runtime(tools=tools, clock=self.clock, limits=Limits(poll=0.001, **limits))
        self.tools = tools

    async def __aenter__(self):
        step = [call(one) for one in self.tools]
        self.task = asyncio.ensure_future(self.runtime.dispatch(step, session="s", step="1"))
        await until(lambda: self.clock.sleepers == len(self.tools) or self.task.done())
        return self

    async def __aexit__(self, *error):
        await self.runtime.aclose()

    async def outcomes(self):
        return (await self.task).results


@tool(risk="read", timeout=10)
async def wait_for_ever() -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return ""


class TestTheFirstCauseStays:
    async def test_a_deadline_before_a_stop(self):
        heard = asyncio.Event()

        @tool(risk="read", timeout=10)
        async def tidy() -> str:
            """Take a while to end."""
            try:
                await asyncio.Event().wait()
            finally:
                heard.set()
                await asyncio.sleep(0.05)
            return ""

        async with Begun(tidy) as begun:
            begun.clock.advance(10)
            await heard.wait()
            await begun.runtime.stop("s")
            (outcome,) = await begun.outcomes()
        assert (outcome.status, outcome.error_code) == (Status.TIMEOUT, "timeout")

    async def test_a_stop_before_the_deadline(self):
        async with Begun(wait_for_ever) as begun:
            await begun.runtime.stop("s")
            while begun.clock.sleepers < 2:
                await asyncio.sleep(0.001)
            begun.clock.advance(10)
            (outcome,) = await begun.outcomes()
        assert (outcome.status, outcome.error_code) == (Status.RETRYABLE_ERROR, "cancelled")
        assert outcome.error_message == "The call was cancelled while it ran: the session was asked to stop."

    async def test_the_end_of_the_run_before_a_stop(self):
        async with Begun(wait_for_ever) as begun:
            begun.task.cancel()
            await until(lambda: begun.clock.sleepers == 2)
            await begun.runtime.stop("s")
            begun.clock.advance(5)
            with pytest.raises(asyncio.CancelledError):
                await begun.task
            (response,) = await log(begun.runtime, FunctionResponse)
        assert response.error_message == "The call was cancelled while it ran: its run was ended."

    async def test_an_answer_before_all_of_them(self):
        go = asyncio.Event()

        @tool(risk="write", timeout=10)
        async def obey(context: Context) -> str:
            """End in order when told to."""
            while not context.cancelled:
                await asyncio.sleep(0)
            go.set()
            return "in order"

        async with Begun(obey) as begun:
            await begun.runtime.stop("s")
            (outcome,) = await begun.outcomes()
        assert outcome.result.structured == "in order"


class TestWhatComesAfterTheDeadline:
    async def test_a_coroutine_that_swallows_its_cancellation_and_returns(self):
        @tool(risk="write", timeout=10)
        async def deaf() -> str:
            """Return all the same."""
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return "late"

        async with Begun(deaf) as begun:
            begun.clock.advance(10)
            (outcome,) = await begun.outcomes()
            found = await late(begun.runtime)
            order = [type(one.record.event) for one in await begun.runtime.parts.ledger.read("s")]
            assert not await log(begun.runtime, FunctionResponse)
        assert outcome.error_code == "parked"
        assert [(one.ok, one.result.value()) for one in found] == [(True, "late")]
        assert order.index(AttemptFailed) < order.index(LateOutcome)

    async def test_a_coroutine_that_says_what_it_did_as_it_ends(self):
        @tool(risk="write", timeout=10)
        async def undo() -> str:
            """Undo everything when cancelled."""
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ToolFailed("Undone again.", effect="none") from None
            return ""

        async with Begun(undo) as begun:
            begun.clock.advance(10)
            (outcome,) = await begun.outcomes()
        assert (outcome.status, outcome.error_code, outcome.effect) == ("timeout", "timeout", "none")

    @pytest.mark.parametrize("asynchronous", [True, False])
    async def test_one_that_blocks_or_computes_past_it_and_then_returns(self, asynchronous):
        clock = FakeClock()

        @tool(risk="read", timeout=10)
        async def block() -> str:
            """Hold the event loop; the clock goes on meanwhile."""
            clock.advance(11)
            return "too late"

        @tool(risk="read", timeout=10)
        def compute() -> str:
            """Hold a thread. Nobody looks at the clock until it is back."""
            clock._move(clock._now + 11_000_000_000)
            return "too late"

        made = block if asynchronous else compute
        async with Runtime(tools=[made], clock=clock) as runtime:
            (outcome,) = (await runtime.dispatch([call(made)], session="s", step="1")).results
            found = await late(runtime)
        assert (outcome.status, outcome.effect) == (Status.TIMEOUT, Effect.NONE)
        assert [(one.ok, one.result.value()) for one in found] == [(True, "too late")]

    async def test_siblings_of_one_that_blocks_are_judged_right_afterwards(self):
        @tool(risk="read", timeout=0.05)
        async def block() -> str:
            """Hold the event loop."""
            await asyncio.sleep(0)
            time.sleep(0.3)
            await asyncio.Event().wait()
            return ""

        @tool(risk="read", timeout=0.05)
        async def sibling() -> str:
            """Would have been asked to end meanwhile."""
            await asyncio.Event().wait()
            return ""

        @tool(risk="read", timeout=60)
        async def patient() -> str:
            """Has time."""
            await asyncio.sleep(0)
            return "here"

        async with Runtime(tools=[block, sibling, patient]) as runtime:
            batch = await runtime.dispatch([call(block), call(sibling), call(patient)], session="s", step="1")
        assert [one.status for one in batch.results] == ["timeout", "timeout", "success"]

    async def test_a_thread_that_hears_ends_within_the_grace_time(self):
        @tool(risk="write", recovery="idempotent", local_effect=True, timeout=10)
        def loop(context: Context) -> str:
            """Work, and look now and then."""
            works.set()
            while context.attempt == 1:
                context.check()
                time.sleep(0.001)
            return "done at the second attempt"

        clock, works = FakeClock(auto=3), threading.Event()
        async with Runtime(tools=[loop], clock=clock) as runtime:
            task = asyncio.ensure_future(runtime.dispatch([call(loop)], session="s", step="1"))
            await until(lambda: clock.sleepers and works.is_set())
            clock.advance(10)
            (outcome,) = (await task).results
            (failed,) = await log(runtime, AttemptFailed)
        assert (failed.code, failed.ended) == ("timeout", True)  # so it could be repeated at once
        assert outcome.result.structured == "done at the second attempt"

    async def test_a_thread_that_is_deaf_is_not_waited_for(self):
        go, works = threading.Event(), threading.Event()

        @tool(risk="read", timeout=10)
        def deaf() -> str:
            """It has no context to look at."""
            works.set()
            go.wait(60)
            return "late"

        async with Begun(deaf) as begun:
            await until(works.is_set)
            begun.clock.advance(10)
            (outcome,) = await begun.outcomes()  # the grace time did not pass
            assert outcome.status is Status.TIMEOUT
            go.set()
            assert (await late(begun.runtime))[0].ok

    async def test_a_thread_that_ends_in_that_moment_is_late_once(self):
        go, works = threading.Event(), threading.Event()

        @tool(risk="read", timeout=10)
        def slow() -> str:
            """Ends just when it is given up."""
            works.set()
            go.wait(60)
            return "late"

        async with Begun(slow) as begun:
            await until(works.is_set)
            go.set()
            time.sleep(0.05)  # most likely the thread has ended, and the loop has not heard of it
            begun.clock.advance(10)
            (outcome,) = await begun.outcomes()
            settled = len(await log(begun.runtime, FunctionResponse)), len(await log(begun.runtime, LateOutcome))
        assert outcome.status in {Status.SUCCESS, Status.TIMEOUT}
        assert settled in {(1, 0), (1, 1)}


class TestRoomThatComesTooLate:
    async def test_a_call_does_not_begin_after_its_deadline(self, monkeypatch):
        begun, begin = [], Context.begin

        def held_up(context):  # the machine is busy: the thread is there, and its deadline passes before it runs
            scene.clock._now += 10_000_000_000
            begin(context)

        @tool(risk="write", timeout=10)
        def post() -> str:
            """Post."""
            begun.append(1)
            return "posted"

        monkeypatch.setattr(Context, "begin", held_up)
        async with Begun(post) as scene:
            outcome = (await scene.outcomes())[0]
            assert not await log(scene.runtime, AttemptFailed)
        assert not begun
        assert (outcome.status, outcome.effect, outcome.error_code) == (Status.TIMEOUT, Effect.NONE, "timeout")
        assert outcome.error_message.endswith("before there was room for it to begin. Nothing was executed.")


class TestWhatATooLRaises:
    @pytest.mark.parametrize("asynchronous", [True, False])
    @pytest.mark.parametrize(
        "kind",
        [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, StopAsyncIteration, asyncio.CancelledError],
    )
    async def test_nothing_takes_its_siblings_down(self, kind, asynchronous):
        if asynchronous:

            @tool(risk="read", timeout=10)
            async def leave() -> str:
                """Leave."""
                raise kind

        else:

            @tool(risk="read", timeout=10)
            def leave() -> str:
                """Leave."""
                raise kind

        @tool(risk="read")
        async def stay() -> str:
            """Stay."""
            await asyncio.sleep(0)
            return "here"

        async with Runtime(tools=[leave, stay]) as runtime:
            batch = await runtime.dispatch([call(leave), call(stay)], session="s", step="1")
        assert batch.results[0].status in {"fatal_error", "retryable_error"}
        assert batch.results[1].result.structured == "here"

    async def test_its_own_cancellation_after_it_was_told_to_stop(self):
        @tool(risk="write", timeout=10)
        async def give_up(context: Context) -> str:
            """Gives up by itself."""
            while not context.cancelled:
                await asyncio.sleep(0)
            raise asyncio.CancelledError

        async with Begun(give_up) as begun:
            await begun.runtime.stop("s")
            await begun.task
            (failed,) = await log(begun.runtime, AttemptFailed)
        assert (failed.code, failed.effect, failed.ended) == ("cancelled", Effect.UNKNOWN, True)


class TestAClockThatIsSet:
    @pytest.mark.parametrize("seconds", [-DAY, DAY])
    async def test_ends_nothing_early_and_nothing_late(self, seconds):
        seen = []

        @tool(risk="read", timeout=10)
        async def look(context: Context) -> str:
            """Look how much time is left."""
            clock.step(seconds)
            seen.append(context.remaining())
            await clock.sleep(9)
            seen.append(context.remaining())
            return "in time"

        clock = FakeClock(auto=9)
        async with Runtime(tools=[look], clock=clock) as runtime:
            (outcome,) = (await runtime.dispatch([call(look)], session="s", step="1")).results
        assert outcome.result.structured == "in time"
        assert seen == [10, 1]

    @pytest.mark.parametrize("seconds", [-DAY, DAY])
    async def test_the_deadline_comes_when_it_was_to_come(self, seconds):
        async with Begun(wait_for_ever) as begun:
            begun.clock.step(seconds)
            begun.clock.advance(9.9)
            for _ in range(20):
                await asyncio.sleep(0)
            assert not begun.task.done()
            begun.clock.advance(0.2)
            (outcome,) = await begun.outcomes()
            (t1,) = await log(begun.runtime, ToolDispatch)
        assert outcome.status is Status.TIMEOUT
        assert t1.deadline == 1_700_000_010_000  # in the log by the clock on the wall, as it was then


async def test_a_runtime_that_is_closed_waits_for_its_calls():
    async with Begun(wait_for_ever) as begun:
        closing = asyncio.ensure_future(begun.runtime.aclose())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not closing.done()
        begun.clock.advance(10)
        (outcome,) = await begun.outcomes()
        await closing
    assert outcome.status is Status.TIMEOUT
