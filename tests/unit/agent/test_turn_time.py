"""The time of a turn: read off the log, above the time limit of each tool, and an end that can be resumed (RESI-03)."""

from __future__ import annotations

import asyncio

import pytest

from callslip import Runtime, tool
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock
from callslip.testing.log_builder import LogBuilder

pytestmark = [pytest.mark.requirement("RESI-03"), pytest.mark.usefixtures("nothing_left")]
BEGAN = 1_700_000_000_000
WHY = "the turn used its 60 seconds; resume to allow as many again"


class World:
    def __init__(self, *, replies, state=None):
        self.clock = FakeClock()
        self.ran, self.gate = [], asyncio.Event()
        world = self

        @tool(risk="read", timeout=600, claims=("desk",))
        async def work(n: int) -> int:
            """Work until the gate opens."""
            world.ran.append(n)
            await world.gate.wait()
            return n

        @tool(risk="read", timeout=600)
        async def free(n: int) -> int:
            """The same, beside others."""
            world.ran.append(n)
            await world.gate.wait()
            return n

        self.model = Scripted(replies)
        self.runtime = Runtime(
            tools=[work, free], model=self.model, clock=self.clock, state=state,
            limits=Limits(turn_seconds=60, poll=0.001),
        )  # fmt: skip

    async def until(self, true):
        while not true():
            await asyncio.sleep(0.001)

    async def log(self, kind):
        records = await self.runtime.parts.ledger.read("s")
        return [one.record.event for one in records if isinstance(one.record.event, kind)]


@pytest.mark.anyio
class TestARun:
    async def test_a_call_ends_with_its_turn_and_a_resume_allows_as_much_again(self):
        world = World(replies=[calling(("free", {"n": 1})), calling(("free", {"n": 2})), "Done."])
        async with world.runtime as runtime:
            task = asyncio.ensure_future(runtime.run("Go.", session="s"))
            await world.until(lambda: world.ran and world.clock.sleepers > 1)
            (t1,) = await world.log(ToolDispatch)
            assert t1.deadline == BEGAN + 60_000  # the turn's, and not the tool's own
            world.clock.advance(60)
            run = await task
            assert (run.status, run.reason) == ("stopped", WHY)
            (response,) = await world.log(FunctionResponse)
            assert (response.status, response.error_code) == ("timeout", "turn_timeout")
            assert (await world.log(RunEnded))[-1].reason == WHY
            task = asyncio.ensure_future(runtime.resume("s"))
            await world.until(lambda: len(world.ran) == 2 and world.clock.sleepers > 1)
            assert (await world.log(ToolDispatch))[-1].deadline == BEGAN + 120_000
            world.gate.set()
            assert (await task).text == "Done."

    async def test_what_waits_for_a_claim_is_not_begun_and_not_lost(self):
        world = World(replies=[calling(("work", {"n": 1}), ("work", {"n": 2})), "Done."])
        async with world.runtime as runtime:
            task = asyncio.ensure_future(runtime.run("Go.", session="s"))
            await world.until(lambda: world.ran and world.clock.sleepers > 1)
            world.clock.advance(60)
            run = await task
            assert (run.status, run.reason, world.ran) == ("stopped", WHY, [1])
            assert len(await world.log(ToolDispatch)) == 1
            world.gate.set()
            assert (await runtime.resume("s")).text == "Done."
        assert world.ran == [1, 2]

    async def test_a_request_to_the_model_is_given_up(self):
        asked = asyncio.Event()

        class Slow(Scripted):
            async def reply(self, request, on_delta=None):
                if len(self.requests) == 1:
                    self.requests.append(request)
                    asked.set()
                    await asyncio.Event().wait()
                return await super().reply(request, on_delta)

        world = World(replies=[calling(("free", {"n": 1})), "Done."])
        world.gate.set()
        world.runtime.use_model(Slow([calling(("free", {"n": 1})), "Done."]))
        async with world.runtime as runtime:
            task = asyncio.ensure_future(runtime.run("Go.", session="s"))
            await asked.wait()
            world.clock.advance(60)
            run = await task
            assert (run.status, run.reason) == ("stopped", WHY)
            assert (await runtime.resume("s")).text == "Done."

    async def test_the_first_request_has_as_long(self):
        class Mute(Scripted):
            async def reply(self, request, on_delta=None):
                self.requests.append(request)
                return await asyncio.Event().wait()

        world, mute = World(replies=[]), Mute([])
        world.runtime.use_model(mute)
        async with world.runtime as runtime:
            task = asyncio.ensure_future(runtime.run("Go.", session="s"))
            await world.until(lambda: mute.requests and world.clock.sleepers)
            world.clock.advance(60)
            assert (await task).reason == WHY

    async def test_an_answer_that_came_in_time_is_no_stop(self):
        world = World(replies=[calling(("free", {"n": 1})), "Done."])
        world.gate.set()
        async with world.runtime as runtime:
            world.clock.advance(1)
            assert (await runtime.run("Go.", session="s")).status == "finished"
            world.clock.advance(600)  # the next turn has a time of its own
            world.model._replies = (*world.model._replies, "Again.")
            assert (await runtime.run("More.", session="s")).text == "Again."

    async def test_a_clock_that_is_set_back_gives_no_more_time(self):
        world = World(replies=[calling(("free", {"n": 1})), "Done."])
        async with world.runtime as runtime:
            task = asyncio.ensure_future(runtime.run("Go.", session="s"))
            await world.until(lambda: world.ran and world.clock.sleepers > 1)
            world.clock.step(-86_400)
            world.clock.advance(60)
            assert (await task).reason == WHY

    async def test_a_dispatcher_has_no_turns(self):
        world = World(replies=[])
        world.gate.set()
        async with world.runtime as runtime:
            for number in range(3):
                batch = await runtime.dispatch([{"name": "free", "input": {"n": 1}}], session="s", step=str(number))
                assert batch.results[0].ok
                world.clock.advance(60)
            assert (await world.log(ToolDispatch))[0].deadline == BEGAN + 600_000


class TestInTheLog:
    def began(self):
        log = LogBuilder()
        log.user().step("t")
        return log, log.now

    def test_it_counts_from_the_first_request(self):
        log, at = self.began()
        log.now += 5_000
        log.dispatch()
        assert log.state().turn_from == at

    def test_it_goes_on_counting_over_a_crash(self):
        log, at = self.began()
        assert log.crash(after_ms=50_000).state().turn_from == at

    @pytest.mark.parametrize("status", ["waiting", "left", "failed"])
    def test_it_stands_still_while_nobody_works(self, status):
        log, at = self.began()
        log.now += 3_000
        log.add(RunEnded(status=status))
        assert log.crash(after_ms=50_000).state().turn_from == at + 50_000

    def test_after_a_stop_it_begins_anew(self):
        log, _ = self.began()
        log.add(RunEnded(status="stopped"))
        assert log.crash(after_ms=50_000).state().turn_from == log.now


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_times_that_mean_nothing(seconds):
    with pytest.raises(ValueError, match="turn_seconds"):
        Limits(turn_seconds=seconds)
