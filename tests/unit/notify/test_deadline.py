"""Work that ends when its time is up."""

from __future__ import annotations

import asyncio

import pytest

from callslip.notify.deadline import within
from callslip.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


async def test_what_is_done_in_time_gives_its_result_and_leaves_no_timer():
    clock = FakeClock()

    async def work():
        await asyncio.sleep(0)
        return 7

    assert await within(clock, 10, work()) == 7
    assert clock.sleepers == 0


async def test_an_error_of_the_work_comes_out():
    async def work():
        raise KeyError("x")

    with pytest.raises(KeyError):
        await within(FakeClock(), 10, work())


async def test_what_is_late_is_cancelled_and_has_ended_when_that_is_said():
    clock, ended = FakeClock(), []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    task = asyncio.create_task(within(clock, 10, work()))
    while not clock.sleepers:
        await asyncio.sleep(0)
    clock.advance(9.9)
    await asyncio.sleep(0)
    assert not task.done()
    clock.advance(0.1)
    with pytest.raises(TimeoutError):
        await task
    assert ended == [True]


async def test_whoever_is_cancelled_cancels_the_work():
    clock, ended = FakeClock(), []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = asyncio.create_task(within(clock, 10, work()))
    while not clock.sleepers:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]
    assert clock.sleepers == 0
