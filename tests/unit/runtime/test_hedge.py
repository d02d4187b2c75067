"""A read that is slow is executed a second time within its attempt, and the first answer counts (RESI-01, RESI-03)."""

from __future__ import annotations

import asyncio
import copy
import threading

import anyio.to_thread
import hedge_tools
import msgspec
import pytest

from callslip import Context, Runtime, ToolFailed, tool
from callslip.core.breaker import BreakerRules, Heard
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.hedging import CALLS, Hedged
from callslip.core.result import Effect, Status
from callslip.core.retry import Retry
from callslip.errors import ToolDefinitionError
from callslip.gate.catalogue import Catalogue, bindable
from callslip.ports.authority import Capacity
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.live import Partial, Progress
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RESI-01"), pytest.mark.usefixtures("nothing_left")]

HEDGE = 0.2
TIMEOUT = 10.0


async def until(true):
    while not true():
        await asyncio.sleep(0.001)


async def settle():
    """Let everything go on that can."""
    for _ in range(30):
        await asyncio.sleep(0)


deaf_until: list[asyncio.Event] = []
"""What executions wait for that hear nothing else; for a test that fails."""


class Run:
    """One execution; its test says how it ends."""

    def __init__(self, context):
        self.context = context
        self.end = asyncio.get_running_loop().create_future()
        self.cancelled = False


class Scene:
    """A runtime under a clock that stands still, with a tool whose executions end as the test says."""

    def __init__(self, *tools, capacities=None, breakers=None, watch=None, model=None, **limits):
        self.runs = []
        self.clock = FakeClock()
        made = {"retry": Retry(attempts=1), "poll": 0.001, **limits}
        settings = {} if watch is None else {"watch": watch}
        self.runtime = Runtime(
            tools=tools or [self.look()], clock=self.clock, limits=Limits(**made),
            breakers=breakers or BreakerRules(), model=model, **settings,
        )  # fmt: skip
        self.runtime.parts.draw = lambda: 1.0
        if capacities:
            self.runtime.parts.capacities = capacities
        self.step = 0

    def look(self, **declared):
        @tool(**{"risk": "read", "timeout": TIMEOUT, "hedge_after": HEDGE, **declared})
        async def look(context: Context) -> str:
            """Look."""
            run = Run(context)
            self.runs.append(run)
            try:
                return await run.end
            except asyncio.CancelledError:
                run.cancelled = True
                raise

        return look

    async def __aenter__(self):
        await self.runtime.__aenter__()
        return self

    async def __aexit__(self, *error):
        if error[0] is not None:  # let what was not expected to run come to an end, too
            for go in deaf_until:
                go.set()
            for run in self.runs:
                if not run.end.done():
                    run.end.set_result("")
        await self.runtime.__aexit__(*error)

    def call(self, name="look", **arguments):
        """Begin a call."""
        self.step += 1
        step = [{"name": name, "input": arguments}]
        return asyncio.ensure_future(self.runtime.dispatch(step, session="s", step=str(self.step)))

    async def executions(self, many):
        await until(lambda: len(self.runs) >= many)
        await settle()
        assert len(self.runs) == many
        return self.runs

    async def twice(self):
        """A call that is executed twice."""
        task = self.call()
        await self.executions(1)
        self.clock.advance(HEDGE)
        first, second = await self.executions(2)
        return task, first, second

    async def events(self, kind):
        log = await self.runtime.parts.ledger.read("s")
        return [one.record.event for one in log if isinstance(one.record.event, kind)]

    async def response(self):
        return (await self.events(FunctionResponse))[-1]


async def outcome(task):
    return (await asyncio.wait_for(task, 60)).results[0]


class TestTheFirstAnswerCounts:
    async def test_of_the_second(self):
        async with Scene() as scene:
            task, first, second = await scene.twice()
            second.end.set_result("here")
            found = await outcome(task)
            t1s, response = await scene.events(ToolDispatch), await scene.response()
            assert not await scene.events(AttemptFailed)
        assert (found.result.structured, found.attempt, len(t1s)) == ("here", 1, 1)
        assert response.hedged == Hedged(after_ms=200, answered="second")
        assert (first.cancelled, second.cancelled) == (True, False)
        assert first.context.idempotency_key == second.context.idempotency_key == t1s[0].idempotency_key
        assert (first.context.attempt, second.context.attempt) == (1, 1)
        assert first.context.deadline == second.context.deadline == t1s[0].deadline

    async def test_of_the_first(self):
        async with Scene() as scene:
            task, first, second = await scene.twice()
            first.end.set_result("after all")
            assert (await outcome(task)).result.structured == "after all"
            assert (await scene.response()).hedged == Hedged(after_ms=200, answered="first")
        assert (first.cancelled, second.cancelled) == (False, True)

    async def test_of_both_in_the_same_moment_one_and_the_other_is_late(self):
        async with Scene() as scene:
            task, first, second = await scene.twice()
            second.end.set_result("two")
            first.end.set_result("one")
            assert (await outcome(task)).result.structured == "one"
            await until_late(scene)
            (late,) = await scene.events(LateOutcome)
            assert (late.ok, late.result.value(), late.beaten) == (True, "two", True)

    async def test_one_that_answers_before_is_executed_once(self):
        async with Scene() as scene:
            task = scene.call()
            (run,) = await scene.executions(1)
            scene.clock.advance(HEDGE - 0.01)
            await settle()
            run.end.set_result("quick")
            assert (await outcome(task)).result.structured == "quick"
            assert (await scene.response()).hedged is None
            scene.clock.advance(HEDGE)
            await scene.executions(1)
            assert not scene.clock.sleepers, "no timer is left"

    async def test_what_the_other_one_kept_is_no_part_of_it(self):
        async with Scene() as scene:
            task, first, second = await scene.twice()
            first.context.artifact("one", b"first")
            kept = second.context.artifact("two", b"second")
            second.end.set_result("here")
            found = await outcome(task)
        assert [one.address for one in found.result.evidence] == [kept.address]

    async def test_what_the_second_shows_meanwhile_is_not_passed_on(self):
        seen = []
        async with Scene(watch=seen.append) as scene:
            task, first, second = await scene.twice()
            for run in (first, second):
                run.context.progress("half", 0.5)
                run.context.partial("a piece")
            second.end.set_result("here")
            await outcome(task)
        assert len([one for one in seen if isinstance(one, Progress | Partial)]) == 2

    async def test_neither_sees_what_the_other_does_to_its_arguments(self):
        seen, gate = [], asyncio.Event()

        @tool(risk="read", timeout=TIMEOUT, hedge_after=HEDGE)
        async def take(what: dict) -> int:
            """Take something out."""
            return 0

        async def run(arguments, context):
            seen.append(copy.deepcopy(arguments["what"]))
            arguments["what"]["a"].clear()
            if len(seen) == 1:
                await gate.wait()
            return len(seen)

        take.run = run  # of an executor that makes no values of its own from them
        async with Scene(take) as scene:
            task = scene.call("take", what={"a": [1]})
            await until(lambda: seen)
            scene.clock.advance(HEDGE)
            assert (await outcome(task)).result.structured == 2
        assert seen == [{"a": [1]}, {"a": [1]}]


async def until_late(scene):
    while not await scene.events(LateOutcome):
        await asyncio.sleep(0.001)


class TestAFailure:
    @pytest.mark.parametrize("which", [0, 1])
    async def test_of_one_is_none_if_the_other_answers(self, which):
        async with Scene() as scene:
            task, *runs = await scene.twice()
            runs[which].end.set_exception(ConnectionResetError("broken"))
            await settle()
            assert not task.done(), "the other one is awaited"
            assert not runs[1 - which].context.cancelled
            runs[1 - which].end.set_result("here")
            found = await outcome(task)
            response = await scene.response()
            assert not await scene.events(LateOutcome)
        assert (found.result.structured, found.attempt) == ("here", 1)
        answered = ("second", "first")[which]
        assert response.hedged == Hedged(after_ms=200, answered=answered, failed="ConnectionResetError")

    @pytest.mark.parametrize("which", [0, 1])
    async def test_of_both_is_the_first_one(self, which):
        async with Scene() as scene:
            task, *runs = await scene.twice()
            runs[which].end.set_exception(ToolFailed("This came first.", code="one", retryable=True))
            await settle()
            runs[1 - which].end.set_exception(ToolFailed("This came then.", code="two"))
            found = await outcome(task)
            response = await scene.response()
        assert (found.error_code, found.error_message, found.effect) == ("one", "This came first.", Effect.NONE)
        assert response.hedged == Hedged(after_ms=200, answered="neither", failed="two")

    async def test_before_the_second_has_begun_is_not_hedged(self):
        async with Scene() as scene:
            task = scene.call()
            (run,) = await scene.executions(1)
            run.end.set_exception(ConnectionResetError())
            assert (await outcome(task)).error_code == "unavailable"
            assert (await scene.response()).hedged is None
            scene.clock.advance(TIMEOUT)
            await scene.executions(1)

    async def test_of_both_is_tried_again_as_the_rule_says(self):
        async with Scene(retry=Retry(attempts=2)) as scene:
            task, *runs = await scene.twice()
            for run in runs:
                run.end.set_exception(ConnectionResetError())
            await until(lambda: scene.clock.until_next() == 1)
            (failed,) = await scene.events(AttemptFailed)
            scene.clock.advance(1)
            (*_, third) = await scene.executions(3)
            third.end.set_result("here")
            found = await outcome(task)
            t1s, response = await scene.events(ToolDispatch), await scene.response()
        assert failed.hedged == Hedged(after_ms=200, answered="neither", failed="ConnectionResetError")
        assert (failed.code, failed.ended, failed.retry_at is not None) == ("unavailable", True, True)
        assert (found.attempt, [one.attempt for one in t1s], response.hedged) == (2, [1, 2], None)


class TestWhatEndsItEndsBoth:
    async def test_the_deadline(self):
        async with Scene() as scene:
            task, first, second = await scene.twice()
            scene.clock.advance(TIMEOUT - HEDGE)
            found = await outcome(task)
            response = await scene.response()
        assert (found.status, found.error_code) == (Status.TIMEOUT, "timeout")
        assert response.hedged == Hedged(after_ms=200, answered="neither", failed="timeout")
        assert first.cancelled
        assert second.cancelled

    async def test_the_end_of_the_turn(self):
        async with Scene(model=Scripted([calling(("look", {})), "Done."]), turn_seconds=1.0) as scene:
            task = asyncio.ensure_future(scene.runtime.run("Look.", session="s"))
            await scene.executions(1)
            scene.clock.advance(HEDGE)
            first, second = await scene.executions(2)
            scene.clock.advance(1 - HEDGE)
            assert (await asyncio.wait_for(task, 60)).status == "stopped"
            assert (await scene.response()).error_code == "turn_timeout"
        assert first.cancelled
        assert second.cancelled

    async def test_a_stop(self):
        async with Scene() as scene:
            task, first, second = await scene.twice()
            await scene.runtime.stop("s")
            await until(lambda: first.context.cancelled and second.context.cancelled)
            scene.clock.advance(5)
            found = await outcome(task)
        assert found.error_message == "The call was cancelled while it ran: the session was asked to stop."
        assert first.cancelled
        assert second.cancelled

    async def test_a_stop_after_which_one_answers_within_the_grace_time(self):
        async with Scene() as scene:
            task, first, second = await scene.twice()
            await scene.runtime.stop("s")
            await until(lambda: first.context.cancelled and second.context.cancelled)
            second.end.set_result("in order")
            await settle()
            scene.clock.advance(5)
            assert (await outcome(task)).result.structured == "in order"

    async def test_the_end_of_its_run(self):
        async with Scene() as scene:
            task, first, second = await scene.twice()
            task.cancel()
            await until(lambda: first.context.cancelled and second.context.cancelled)
            scene.clock.advance(5)
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await scene.response()).error_code == "cancelled"
        assert first.cancelled
        assert second.cancelled

    async def test_nothing_is_begun_after_a_stop(self):
        async with Scene() as scene:
            task = scene.call()
            (run,) = await scene.executions(1)
            await scene.runtime.stop("s")
            await until(lambda: run.context.cancelled)
            scene.clock.advance(HEDGE)
            await scene.executions(1)
            scene.clock.advance(5)
            assert (await outcome(task)).error_code == "cancelled"

    async def test_one_that_swallows_its_end_is_left_behind_after_the_grace_time(self):
        go = asyncio.Event()
        deaf_until[:] = [go]
        begun = []

        @tool(risk="read", timeout=TIMEOUT, hedge_after=HEDGE)
        async def deaf() -> str:
            """Deaf, the first time."""
            begun.append(1)
            if len(begun) == 2:
                return "here"
            while not go.is_set():
                try:
                    await go.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        async with Scene(deaf) as scene:
            task = scene.call("deaf")
            await until(lambda: begun)
            scene.clock.advance(HEDGE)
            await until(lambda: len(begun) == 2)
            for _ in range(20):
                await settle()
            assert task.done(), "no time has passed"
            assert (await outcome(task)).result.structured == "here"
            assert not scene.runtime.parts.left_behind, "the other one has its grace time"
            releasing = asyncio.ensure_future(scene.runtime.release("s"))
            await settle()
            assert not releasing.done(), "nothing outlives its owner unseen"
            scene.clock.advance(5)
            await asyncio.wait_for(releasing, 60)
            (left,) = scene.runtime.parts.left_behind
            assert left.still_running
            go.set()
            await until_late(scene)
            (late,) = await scene.events(LateOutcome)
            assert not left.still_running
        assert (late.ok, late.result.value(), late.attempt, late.beaten) == (True, "late", 1, True)


class Stubborn:
    """A read whose first execution ends only when its test says so, whatever it is told."""

    def __init__(self):
        self.go, self.began, self.wrote = asyncio.Event(), 0, []
        deaf_until[:] = [self.go]

    def tools(self):
        @tool(risk="read", timeout=TIMEOUT, hedge_after=HEDGE, claims=["read it"])
        async def look() -> str:
            """Look."""
            self.began += 1
            if self.began > 1:
                return "here"
            while not self.go.is_set():
                try:
                    await self.go.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        @tool(risk="write", claims=["it"], local_effect=True)
        async def put() -> str:
            """Put."""
            self.wrote.append(self.go.is_set())
            return "put"

        return [look, put]

    async def answered(self, scene, step):
        await until(lambda: self.began)
        scene.clock.advance(HEDGE)
        return await outcome(step)


@pytest.mark.requirement("PARA-05")
class TestWhatGoesOnAfterTheAnswer:
    async def test_holds_what_it_reads_until_it_has_ended(self):
        it = Stubborn()
        async with Scene(*it.tools()) as scene:
            assert (await it.answered(scene, scene.call())).ok
            writing = scene.call("put")
            await settle()
            assert (it.wrote, writing.done()) == ([], False)
            it.go.set()
            assert (await outcome(writing)).ok
            assert it.wrote == [True]
            assert not scene.runtime.parts.authority.standing()

    async def test_or_is_left_behind(self):
        it = Stubborn()
        async with Scene(*it.tools()) as scene:
            await it.answered(scene, scene.call())
            writing = scene.call("put")
            await settle()
            scene.clock.advance(5)
            assert (await outcome(writing)).ok
            assert it.wrote == [False]
            it.go.set()
            await until_late(scene)

    async def test_a_run_goes_on_meanwhile_and_does_not_end_before_it(self):
        it = Stubborn()
        model = Scripted([calling(("look", {})), "Done."])
        async with Scene(*it.tools(), model=model) as scene:
            run = asyncio.ensure_future(scene.runtime.run("Look.", session="s"))
            await until(lambda: it.began)
            scene.clock.advance(HEDGE)
            await until(lambda: len(model.requests) == 2)
            await settle()
            assert not run.done()
            it.go.set()
            assert (await asyncio.wait_for(run, 60)).status == "finished"
            log = [type(one.record.event).__name__ for one in await scene.runtime.parts.ledger.read("s")]
            assert log[-2:] == ["LateOutcome", "RunEnded"]

    async def test_nor_does_a_run_that_is_cancelled(self):
        it = Stubborn()
        model = Scripted([calling(("look", {})), "Done."])
        async with Scene(*it.tools(), model=model) as scene:
            run = asyncio.ensure_future(scene.runtime.run("Look.", session="s"))
            await until(lambda: it.began)
            scene.clock.advance(HEDGE)
            await until(lambda: len(model.requests) == 2)
            run.cancel()
            await settle()
            assert not run.done()
            it.go.set()
            with pytest.raises(asyncio.CancelledError):
                await run
            assert await scene.events(LateOutcome)

    async def test_a_runtime_that_is_closed_waits_for_it(self):
        it = Stubborn()
        async with Scene(*it.tools()) as scene:
            await it.answered(scene, scene.call())
            closing = asyncio.ensure_future(scene.runtime.aclose())
            await settle()
            assert not closing.done()
            it.go.set()
            await asyncio.wait_for(closing, 60)


class TestThreads:
    async def test_one_that_hears_is_told_and_awaited(self):
        runs, go = [], threading.Event()

        @tool(risk="read", timeout=TIMEOUT, hedge_after=HEDGE)
        def look(context: Context) -> str:
            """Look now and then whether to go on."""
            runs.append(context)
            if len(runs) == 2:
                return "here"
            while not context.cancelled:
                go.wait(0.001)
            context.check()
            return ""

        async with Scene(look) as scene:
            task = scene.call()
            await until(lambda: runs)
            scene.clock.advance(HEDGE)
            assert (await outcome(task)).result.structured == "here"
            assert (await scene.response()).hedged.answered == "second"
            await scene.runtime.release("s")
            assert not runs[0].still_running
            assert not scene.runtime.parts.left_behind

    async def test_one_that_is_deaf_is_left_behind_at_once(self):
        runs, go = [], threading.Event()

        @tool(risk="read", timeout=TIMEOUT, hedge_after=HEDGE)
        def look() -> str:
            """It has nothing to look at."""
            runs.append(1)
            if len(runs) == 2:
                return "here"
            go.wait(60)
            return "late"

        async with Scene(look) as scene:
            task = scene.call()
            await until(lambda: runs)
            scene.clock.advance(HEDGE)
            assert (await outcome(task)).result.structured == "here"  # the grace time did not pass
            await scene.runtime.release("s")
            (left,) = scene.runtime.parts.left_behind
            assert left.still_running
            go.set()
            await until_late(scene)
            assert [(one.ok, one.beaten) for one in await scene.events(LateOutcome)] == [(True, True)]

    async def test_two_that_run_past_the_deadline_are_both_recorded(self):
        runs, go = [], threading.Event()

        @tool(risk="read", timeout=TIMEOUT, hedge_after=HEDGE)
        def look() -> int:
            """It has nothing to look at."""
            runs.append(1)
            mine = len(runs)
            go.wait(60)
            return mine

        async with Scene(look) as scene:
            task = scene.call()
            await until(lambda: runs)
            scene.clock.advance(HEDGE)
            await until(lambda: len(runs) == 2)
            scene.clock.advance(TIMEOUT)
            assert (await outcome(task)).status is Status.TIMEOUT
            assert len(scene.runtime.parts.left_behind) == 2
            go.set()
            while len(late := await scene.events(LateOutcome)) < 2:
                await asyncio.sleep(0.001)
        assert sorted(one.result.value() for one in late) == [1, 2]
        assert not any(one.beaten for one in late), "neither has answered"

    async def test_one_that_waits_for_a_thread_is_given_its_time_again(self):
        runs, go = [], threading.Event()

        @tool(risk="read", timeout=TIMEOUT, hedge_after=HEDGE)
        def look() -> str:
            """Look."""
            runs.append(1)
            if len(runs) == 1:
                go.wait(60)
            return f"{len(runs)}"

        pool = anyio.to_thread.current_default_thread_limiter()
        before, pool.total_tokens = pool.total_tokens, 1
        try:
            async with Scene(look) as scene:
                blocker = asyncio.ensure_future(anyio.to_thread.run_sync(go.wait, 20, abandon_on_cancel=True))
                await settle()
                task = scene.call()
                await until(lambda: scene.clock.sleepers == 2)
                scene.clock.advance(HEDGE)
                await settle()
                assert pool.statistics().tasks_waiting == 1, "no second one stands behind it"
                pool.total_tokens = 3
                await until(lambda: runs)
                await until(lambda: scene.clock.sleepers == 2)
                scene.clock.advance(HEDGE)
                assert (await outcome(task)).result.structured == "2"
                assert (await scene.response()).hedged.after_ms == 400
                go.set()
                await blocker
        finally:
            pool.total_tokens = before


async def test_of_two_processes_the_one_that_lost_ends_with_all_that_it_started(tmp_path):
    async with Scene(hedge_tools.look) as scene:
        task = scene.call("hedge_look", folder=str(tmp_path))
        await until((tmp_path / "grandchild").exists)
        scene.clock.advance(hedge_tools.AFTER)
        await until((tmp_path / "answered").exists)
        found = await outcome(task)
        releasing = asyncio.ensure_future(scene.runtime.release("s"))
        while not releasing.done():  # what lost is given time by the clock: to end as it was asked to
            await asyncio.sleep(0.01)
            if (scene.clock.until_next() or 99.0) <= 5.0:
                scene.clock.advance(scene.clock.until_next())
        assert (found.result.structured, (await scene.response()).hedged.answered) == ("second", "second")
        assert hedge_tools.gone(int((tmp_path / "grandchild").read_text()))


class TestHowOften:
    async def test_at_most_one_call_in_ten(self):
        @tool(risk="read", timeout=TIMEOUT, hedge_after=HEDGE)
        async def slow(context: Context) -> str:
            """Always slow."""
            executions.append(1)
            await context.sleep(1)
            return ""

        executions, calls = [], 60
        async with Scene(slow) as scene:
            scene.clock._auto = 1.0
            for _ in range(calls):
                await outcome(scene.call("slow"))
            hedged = [one.hedged is not None for one in await scene.events(FunctionResponse)]
        assert hedged[0], "the first slow one may be"
        assert sum(hedged) == 1 + calls // CALLS
        assert len(executions) == calls + sum(hedged)

    async def test_each_tool_has_its_own(self):
        async with Scene() as scene:
            task, _, second = await scene.twice()
            second.end.set_result("")
            await outcome(task)
            assert set(scene.runtime.parts.hedging) == {"look"}

    async def test_not_while_its_breaker_is_open(self):
        async with Scene(breakers=BreakerRules(least=5)) as scene:
            task = scene.call()
            (run,) = await scene.executions(1)
            breakers = scene.runtime.parts.breakers
            for _ in range(5):  # other callers, meanwhile
                breakers.leave(breakers.enter("look", 1), Heard.FAILURE)
            assert breakers.barred("look") is not None
            scene.clock.advance(HEDGE)
            await scene.executions(1)
            run.end.set_result("after all")
            await outcome(task)
            assert (await scene.response()).hedged is None

    async def test_not_once_an_open_one_may_be_tried_and_the_try_is_left_to_others(self):
        async with Scene(self.never(), breakers=BreakerRules(least=5, open_for=0.1)) as scene:
            task = scene.call("never")
            await until(lambda: scene.clock.sleepers)
            await settle()
            breakers = scene.runtime.parts.breakers
            for _ in range(5):
                breakers.leave(breakers.enter("never", 1), Heard.FAILURE)
            scene.clock.advance(HEDGE)
            await settle()
            assert self.began == 1
            assert breakers.enter("never", 1).trial, "whoever comes may try it"
            scene.clock.advance(TIMEOUT)
            await outcome(task)

    def never(self):
        self.began = 0

        @tool(risk="read", timeout=TIMEOUT, hedge_after=HEDGE)
        async def never() -> str:
            """Never answer."""
            self.began += 1
            await asyncio.Event().wait()
            return ""

        return never

    async def test_not_the_one_call_that_tries_it(self):
        async with Scene(breakers=BreakerRules(least=5, open_for=1)) as scene:
            breakers = scene.runtime.parts.breakers
            for _ in range(5):
                breakers.leave(breakers.enter("look", 1), Heard.FAILURE)
            scene.clock.advance(1)
            task = scene.call()
            (run,) = await scene.executions(1)
            assert breakers.barred("look").again_in is None, "it is being tried"
            scene.clock.advance(HEDGE)
            await scene.executions(1)
            run.end.set_result("well again")
            assert (await outcome(task)).ok

    async def test_not_where_only_so_many_may_run_at_once(self):
        async with Scene(capacities={"tool.look": Capacity(at_once=1)}) as scene:
            task = scene.call()
            (run,) = await scene.executions(1)
            scene.clock.advance(HEDGE)
            await scene.executions(1)
            run.end.set_result("")
            assert (await outcome(task)).ok


class TestDeclared:
    @pytest.mark.parametrize(
        ("declared", "said"),
        [
            ({"risk": "write"}, "only read"),
            ({"risk": "dangerous"}, "only read"),
            ({"client_owned": True}, "answer here"),
            ({"poll": lambda handle, context: None}, "answer here"),
            ({"hedge_after": 0}, "positive"),
            ({"hedge_after": 0.0001}, "positive"),
            ({"hedge_after": -1}, "positive"),
            ({"hedge_after": 10}, "less than timeout"),
            ({"hedge_after": float("nan")}, "a number of seconds"),
            ({"hedge_after": float("inf")}, "a number of seconds"),
            ({"hedge_after": "0.2"}, "a number of seconds"),
            ({"hedge_after": True}, "a number of seconds"),
            ({"claims": ["browser"]}, "for one alone"),
        ],
    )
    async def test_what_can_not_be_hedged_is_refused(self, declared, said):
        with pytest.raises(ToolDefinitionError, match=said):

            @tool(**{"risk": "read", "timeout": 10, "hedge_after": 0.2, **declared})
            async def look() -> str:
                """Look."""
                return ""

    async def test_also_of_a_tool_from_elsewhere(self):
        @tool(risk="write")
        async def put() -> str:
            """Put."""
            return ""

        put.spec = msgspec.structs.replace(put.spec, hedge_after_ms=200)
        with pytest.raises(ToolDefinitionError, match=r"put: .*only read.*Nothing was started"):
            Catalogue([put])
        kept, refused = bindable([put])
        assert not kept
        assert "only read" in refused["put"]

    async def test_it_is_no_part_of_the_version(self):
        assert Scene().look().version == Scene().look(hedge_after=None).version
