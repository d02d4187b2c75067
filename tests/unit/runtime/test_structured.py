"""A batch that is ended at any moment: what has not begun never begins, what has is accounted for, nothing is left
(PARA-05).
"""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from callslip import Context, Runtime, ToolFailed, tool
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("PARA-05"), pytest.mark.usefixtures("nothing_left")]


class World:
    """Tools of every kind, and who has begun, in order."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        world = self

        async def passes(times: int) -> None:
            for _ in range(times):
                await asyncio.sleep(0)

        @tool(risk="write", claims=("desk",), timeout=10)
        async def first(n: int) -> int:
            """Hold the desk for a while."""
            world.begun.append("first")
            await passes(6)
            return n

        @tool(risk="write", claims=("desk",), timeout=10)
        async def second(n: int) -> int:
            """Wait for the desk."""
            world.begun.append("second")
            await passes(3)
            return n

        @tool(risk="write", timeout=10)
        async def heeding(n: int, context: Context) -> int:
            """End when told to."""
            world.begun.append("heeding")
            for _ in range(12):
                context.check()
                await asyncio.sleep(0)
            return n

        @tool(risk="write", timeout=10)
        async def swallowing(n: int) -> int:
            """Go on whatever comes, and return."""
            world.begun.append("swallowing")
            for _ in range(8):
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0)
            return n

        @tool(risk="write", timeout=10)
        async def failing(n: int) -> int:
            """Fail."""
            world.begun.append("failing")
            await passes(n)
            raise ToolFailed("No.")

        @tool(risk="read", timeout=10)
        async def at_once(n: int) -> int:
            """Never wait."""
            world.begun.append("at_once")
            return n

        self.tools = [first, second, heeding, swallowing, failing, at_once]


ORDERS = [
    ("first", "second", "heeding", "swallowing", "failing", "at_once"),
    ("swallowing", "first", "at_once", "second"),
    ("second", "failing", "first", "heeding"),
]
HOW = ["the caller is cancelled", "the caller is cancelled, again and again", "a stop"]


async def ended(order, how, moment):
    """Dispatch the batch, end it after so many passes of the event loop, and judge; whether it was over before."""
    world, clock = World(), FakeClock(auto=5)
    before = asyncio.all_tasks()
    async with Runtime(tools=world.tools, clock=clock, limits=Limits(poll=0.0005)) as runtime:
        calls = [{"name": name, "input": {"n": 3}} for name in order]
        task = asyncio.ensure_future(runtime.dispatch(calls, session="s", step="1"))
        for _ in range(moment):
            await asyncio.sleep(0)
        over = task.done()
        if how == "a stop":
            with contextlib.suppress(Exception):
                await runtime.stop("s")
        else:
            task.cancel()
        while not task.done():
            await asyncio.sleep(0)
            if how.endswith("again"):
                task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        begun = list(world.begun)
        log = [one.record.event for one in await runtime.parts.ledger.read("s")]
        left = [one for one in asyncio.all_tasks() - before - {task} if "_record" not in repr(one.get_coro())]
        for _ in range(30):
            await asyncio.sleep(0)
        assert world.begun == begun, "something began after the batch was over"
        assert not [one for one in left if not one.done()]
    _accounted(world, log, order)
    return over


def _accounted(world, log, order):
    dispatched = {event.call_id: event.tool for event in log if isinstance(event, ToolDispatch)}
    concluded = [event.call_id for event in log if isinstance(event, FunctionResponse | AttemptFailed)]
    assert sorted(world.begun) == sorted(set(world.begun)), "nothing ran twice"
    assert set(world.begun) <= set(dispatched.values()), "nothing ran without its record"
    assert set(dispatched) <= set(concluded), "what was dispatched has an end on record"
    assert len(concluded) == len(set(concluded))
    late = {event.call_id for event in log if isinstance(event, LateOutcome)}
    assert late <= set(dispatched)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order[0])
async def test_it_is_ended_at_every_moment(order, how):
    moment = 0
    while not await ended(order, how, moment):
        moment += 1
        assert moment < 500
    assert moment > 10  # or nothing of it was seen


async def test_a_call_that_waits_for_a_sibling_and_is_cancelled_never_begins():
    world = World()
    async with Runtime(tools=world.tools, clock=FakeClock()) as runtime:
        calls = [{"name": name, "input": {"n": 3}} for name in ("first", "second")]
        task = asyncio.ensure_future(runtime.dispatch(calls, session="s", step="1"))
        while not world.begun:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        log = [one.record.event for one in await runtime.parts.ledger.read("s")]
    assert world.begun == ["first"]
    assert [event.tool for event in log if isinstance(event, ToolDispatch)] == ["first"]
