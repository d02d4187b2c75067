"""An attempt that may still take effect is never repeated beside itself, however the session changes hands."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest

from callslip import Runtime, tool
from callslip.core.result import Status
from callslip.errors import Busy, LedgerUnavailable, UsageError
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RECO-01")]

QUICK = Limits(grace=0.05, patience=0.0, poll=0.01)


def call(tool_name: str, **arguments):
    return {"name": tool_name, "input": arguments}


class Slow:
    """A tool whose probe truthfully says "not yet" while its first attempt is under way."""

    def __init__(self, **declared):
        self.effects, self.go, self.begun = [], asyncio.Event(), asyncio.Event()

        @tool(risk="write", recovery="probe", probe=lambda context: None, local_effect=True, **declared)
        async def pay() -> str:
            """Pay."""
            self.begun.set()
            while not self.go.is_set():
                try:
                    await self.go.wait()
                except asyncio.CancelledError:  # it can't be stopped once it has begun
                    continue
            self.effects.append(1)
            return "paid"

        self.tool = pay


async def too_late(runtime, clock, works):
    """The call's deadline passes while it works."""
    task = asyncio.ensure_future(runtime.dispatch([call("pay")], session="s", step="1"))
    while not works.is_set():
        await asyncio.sleep(0.001)
    clock.advance(10)
    return await task


async def test_a_thread_that_goes_on_after_release_is_not_repeated_beside():
    effects, works, go = [], threading.Event(), threading.Event()

    @tool(risk="write", recovery="probe", probe=lambda context: None, local_effect=True, timeout=10)
    def pay() -> str:
        """Pay."""
        works.set()
        go.wait(60)
        effects.append(1)
        return "paid"

    clock = FakeClock(auto=1.0)
    async with Runtime(tools=[pay], limits=QUICK, clock=clock) as runtime:
        batch = await too_late(runtime, clock, works)
        assert batch.results[0].error_code == "parked"
        await runtime.release("s")
        batch = await runtime.dispatch([call("pay")], session="s", step="1")
        assert batch.results[0].error_code == "parked"
        go.set()
    assert effects in ([], [1])


async def test_the_owner_lock_outlives_a_runtime_that_left_something(tmp_path):
    effects, works, go = [], threading.Event(), threading.Event()

    @tool(risk="write", recovery="probe", probe=lambda context: None, local_effect=True, timeout=10)
    def pay() -> str:
        """Pay."""
        works.set()
        go.wait(60)
        effects.append(1)
        return "paid"

    clock = FakeClock(auto=1.0)
    try:
        async with Runtime(tools=[pay], limits=QUICK, state=tmp_path / "s", clock=clock) as runtime:
            await too_late(runtime, clock, works)
            first = runtime.parts.owners
        async with Runtime(tools=[pay], limits=QUICK, state=tmp_path / "s", clock=clock) as runtime:
            batch = await runtime.dispatch([call("pay")], session="s", step="1")
        assert batch.results[0].error_code == "parked"
    finally:
        go.set()
        first.close()


async def test_however_often_it_is_cancelled_a_run_ends_only_with_its_attempts():
    slow = Slow(timeout=30)
    async with Runtime(tools=[slow.tool], limits=Limits(grace=1.0)) as runtime:
        scope = anyio.CancelScope()

        async def impatient():
            with scope:  # cancels anew at every pass of the loop
                await runtime.dispatch([call("pay")], session="s", step="1")

        running = asyncio.create_task(impatient())
        await slow.begun.wait()
        scope.cancel()
        await asyncio.sleep(0.2)
        assert not running.done()
        slow.go.set()
        await running
        batch = await runtime.dispatch([call("pay")], session="s", step="1")
    assert (slow.effects, batch.results[0].status) == ([1], Status.SUCCESS)


async def test_nobody_takes_the_session_from_under_a_dispatch():
    slow = Slow()
    async with Runtime(tools=[slow.tool]) as runtime:
        running = asyncio.create_task(runtime.dispatch([call("pay")], session="s", step="1"))
        await slow.begun.wait()
        for act in (runtime.release("s"), runtime.resume("s"), runtime.run("x", session="s")):
            with pytest.raises(Busy):
                await act
        slow.go.set()
        assert (await running).results[0].ok
    assert slow.effects == [1]


async def test_closing_waits_for_what_is_in_the_world():
    slow = Slow()
    runtime = Runtime(tools=[slow.tool])
    running = asyncio.create_task(runtime.dispatch([call("pay")], session="s", step="1"))
    await slow.begun.wait()
    closing = asyncio.create_task(runtime.aclose())
    await asyncio.sleep(0.1)
    assert not closing.done()
    slow.go.set()
    await closing
    assert (await running).results[0].ok


async def test_a_tool_cant_drive_its_own_session():
    @tool(risk="write")
    async def loop_back() -> str:
        """Loop back."""
        with pytest.raises(UsageError, match="from within a call"):
            await runtime.dispatch([call("loop_back")], session="s", step="1")
        return "refused"

    async with Runtime(tools=[loop_back]) as runtime:
        batch = await runtime.dispatch([call("loop_back")], session="s", step="1")
    assert batch.results[0].result.structured == "refused"


@pytest.mark.requirement("LEDG-06")
class TestNothingUnreadableIsWritten:
    async def test_two_steps_at_once(self, runtime, world, tmp_path):
        await runtime.dispatch([call("add", a=0, b=0)], session="s", step="0")
        steps = [runtime.dispatch([call("add", a=1, b=1)], session="s", step=step) for step in ("1", "1", "2")]
        await asyncio.gather(*steps, return_exceptions=True)
        assert (await runtime.dispatch([call("add", a=1, b=1)], session="s", step="1")).results[0].ok
        await runtime.state("s")

    async def test_a_caller_that_gives_up_leaves_no_half_known_write(self, runtime, world):
        await runtime.dispatch([call("add", a=0, b=0)], session="s", step="0")
        append = runtime.parts.ledger.append

        async def slowly(*args, **how):
            stored = await append(*args, **how)
            await asyncio.sleep(0.05)
            return stored

        runtime.parts.ledger.append = slowly
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(runtime.dispatch([call("add", a=1, b=1)], session="s", step="1"), 0.02)
        assert (await runtime.dispatch([call("add", a=1, b=1)], session="s", step="1")).results[0].ok

    @pytest.mark.parametrize("step", [7, None, "", "a\nb", "\ud800", "x" * 300])
    async def test_steps_that_are_no_names(self, runtime, step):
        with pytest.raises(UsageError, match="A step is named by"):
            await runtime.dispatch([call("add", a=1, b=1)], session="s", step=step)

    async def test_what_tools_put_into_wrong_fields(self):
        from callslip import ToolFailed, ToolResult

        @tool(risk="write")
        async def odd(n: int) -> str:
            """Odd."""
            if n == 0:
                raise ToolFailed("x", code=404, retryable=1, effect="none")
            if n == 1:
                raise ToolFailed("x", effect="maybe")
            return ToolResult(summary=12, truncated="yes", evidence=("sha256:x",), structured=n)

        async with Runtime(tools=[odd]) as runtime:
            outcomes = [
                (await runtime.dispatch([call("odd", n=n)], session=f"s{n}", step="1")).results[0] for n in range(3)
            ]
            for n in range(3):
                await runtime.state(f"s{n}")
        assert [outcome.error_code for outcome in outcomes] == ["404", "parked", None]
        assert outcomes[2].result.summary == "12"


async def test_a_write_that_the_database_cant_hold_harms_nobody_else(tmp_path, world):
    async with Runtime(tools=world.tools(), state=tmp_path / "s") as runtime:
        await runtime.dispatch([call("add", a=1, b=1)], session="s", step="1")

        class Bad:
            def run(self, connection):
                connection.execute("update sessions set seq = ? where 0", (10**30,))

            def landed(self, connection):
                return False

        writer = runtime.parts.ledger.behind._writer
        good = runtime.dispatch([call("add", a=1, b=1)], session="s", step="2")
        bad, batch = await asyncio.gather(writer.submit(Bad()), good, return_exceptions=True)
        assert isinstance(bad, OverflowError)
        assert batch.results[0].ok
        assert (await runtime.dispatch([call("add", a=1, b=1)], session="s", step="3")).results[0].ok


def test_a_job_of_a_loop_that_has_gone_stops_nobody(tmp_path, world):
    runtime = Runtime(tools=world.tools(), state=tmp_path / "s")

    async def leave():
        left = asyncio.ensure_future(runtime.dispatch([call("add", a=1, b=1)], session="a", step="1"))
        await asyncio.sleep(0)
        left.cancel()

    async def work():
        assert (await runtime.dispatch([call("add", a=1, b=1)], session="b", step="1")).results[0].ok
        await runtime.aclose()

    asyncio.run(leave())
    asyncio.run(asyncio.wait_for(work(), 60))


async def test_a_failed_write_under_one_dispatch_does_not_hand_the_session_over_under_another():
    slow = Slow()
    async with Runtime(tools=[slow.tool]) as runtime:
        first = asyncio.create_task(runtime.dispatch([call("pay")], session="s", step="1"))
        await slow.begun.wait()
        drive = runtime._sessions.held["s"].drive
        refresh, drive.refresh = drive.refresh, None

        async def broken():
            raise LedgerUnavailable("The disk is full.")

        drive.refresh = broken
        with pytest.raises(LedgerUnavailable):
            await runtime.dispatch([call("pay")], session="s", step="1")
        drive.refresh = refresh
        slow.go.set()
        assert (await first).results[0].ok
    assert slow.effects == [1]


@pytest.mark.requirement("LEDG-02")
async def test_a_write_nobody_can_wait_for_ends_the_hold_and_not_the_session(world):
    async with Runtime(tools=world.tools(), limits=Limits(grace=0.05)) as runtime:
        await runtime.dispatch([call("add", a=0, b=0)], session="s", step="0")
        append, free = runtime.parts.ledger.append, asyncio.Event()

        async def stuck(*args, **how):
            await free.wait()
            return await append(*args, **how)

        runtime.parts.ledger.append = stuck
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(runtime.dispatch([call("add", a=1, b=1)], session="s", step="1"), 0.02)
        with pytest.raises(LedgerUnavailable, match="before its fate was known"):
            await runtime.dispatch([call("add", a=1, b=1)], session="s", step="1")
        free.set()
        assert (await runtime.dispatch([call("add", a=1, b=1)], session="s", step="1")).results[0].ok


async def test_a_proposal_without_an_id(runtime):
    from callslip.ports.model import Proposal

    batch = await runtime.dispatch(
        [Proposal(tool="add", arguments='{"a":1,"b":2}', provider_id=None)], session="s", step="1"
    )
    assert batch.results[0].ok
