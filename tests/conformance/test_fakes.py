"""The fakes that users are given do what they say."""

import asyncio

import pytest

from callslip import Runtime
from callslip.ports.clock import Clock
from callslip.ports.executor import Executor
from callslip.providers.scripted import Scripted, calling
from callslip.testing.clock import FakeClock
from callslip.testing.effects import EffectCounter
from callslip.testing.fakes import FakeTool

pytestmark = pytest.mark.anyio


class TestFakeClock:
    async def sleeper(self, clock, seconds, woken):
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic()))

    async def test_time_stands_still(self):
        clock: Clock = FakeClock(now=5_000)
        assert (clock.now(), clock.monotonic()) == (5_000, 0.0)
        await clock.sleep(0)
        assert clock.now() == 5_000

    async def test_sleepers_wake_in_the_order_of_their_times(self):
        clock, woken = FakeClock(), []
        tasks = [asyncio.ensure_future(self.sleeper(clock, seconds, woken)) for seconds in (3, 1, 2, 10)]
        await asyncio.sleep(0)
        assert (clock.sleepers, clock.until_next()) == (4, 1.0)
        clock.advance(2.5)
        await asyncio.sleep(0)
        assert [seconds for seconds, _ in woken] == [1, 2]
        assert (clock.monotonic(), clock.until_next()) == (2.5, 0.5)
        clock.advance(10)
        await asyncio.gather(*tasks)
        assert [seconds for seconds, _ in woken] == [1, 2, 3, 10]
        assert (clock.sleepers, clock.until_next()) == (0, None)

    async def test_a_sleeper_that_is_cancelled_moves_nothing(self):
        clock = FakeClock(auto=5)
        task = asyncio.ensure_future(clock.sleep(1))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (clock.monotonic(), clock.sleepers) == (0.0, 0)

    async def test_short_sleeps_move_the_time_by_themselves(self):
        clock, woken = FakeClock(auto=5), []
        long = asyncio.ensure_future(self.sleeper(clock, 6, woken))
        await asyncio.gather(*(self.sleeper(clock, seconds, woken) for seconds in (3, 1, 0.0001)))
        assert [seconds for seconds, _ in woken] == [3, 1, 0.0001] or [seconds for seconds, _ in woken] == [
            0.0001,
            1,
            3,
        ]
        assert clock.monotonic() == 3
        assert not long.done()
        await clock.sleep(4)
        await long
        assert clock.monotonic() == 7

    async def test_a_sleep_is_never_too_short(self):
        clock = FakeClock(auto=5)
        for seconds in (0.001, 1 / 3, 1e-9):
            until = clock.monotonic() + seconds
            await clock.sleep(seconds)
            assert clock.monotonic() >= until

    async def test_a_runtime_lives_by_it(self):
        clock = FakeClock(auto=30)
        put = FakeTool("put", answers=[RuntimeError(), RuntimeError(), "done"], recovery="idempotent")
        model = Scripted([calling(("put", {})), "Done."])
        async with Runtime(tools=[put], model=model, clock=clock) as runtime:
            run = await runtime.run("Do it.", session="s")
        assert run.status == "finished"
        assert [call.attempt for call in put.calls] == [1, 2, 3]
        assert clock.monotonic() > 0, "the pauses between attempts passed without being waited for"


class TestFakeTool:
    async def test_it_keeps_what_it_was_called_with(self):
        pay: Executor = FakeTool("pay", answers=[lambda arguments: {"paid": arguments["cents"]}])
        model = Scripted([calling(("pay", {"cents": 5}), ("pay", {"cents": 6})), "Done."])
        async with Runtime(tools=[pay], model=model) as runtime:
            await runtime.run("Pay.", session="s")
            state = await runtime.state("s")
        assert [call.arguments for call in pay.calls] == [{"cents": 5}, {"cents": 6}]
        assert len({call.idempotency_key for call in pay.calls}) == 2
        assert {call.session for call in pay.calls} == {"s"}
        assert {call.call_id for call in pay.calls} == {call.call_id for call in state.items[1].calls}

    async def test_its_probe_answers_by_what_was_called(self):
        tool = FakeTool("t", recovery="probe")

        class Context:
            idempotency_key = "k"

        assert (await tool.probe({}, Context())).happened is False


class TestEffectCounter:
    async def test_worlds_are_apart_and_processes_together(self, tmp_path):
        class Context:
            idempotency_key = "k"
            attempt = 1

        with EffectCounter(tmp_path) as counter:
            one, two = counter.world("one"), counter.world("two")
            await asyncio.gather(
                *(asyncio.to_thread(one.take, Context(), "t", target="x", value=str(number)) for number in range(20))
            )
            assert len(one.arrivals()) == 20
            assert two.arrivals() == []
            assert one.happened("k").tool == "t"
            assert two.happened("k") is None
            assert one.value("x") == one.arrivals()[-1].value
            assert one.value("y") == ""
        assert not counter.path.exists()
