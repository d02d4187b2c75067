"""Work that ends when its time is up, by the clock port."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from callslip.ports.clock import Clock

T = TypeVar("T")


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What the work gives, if it is done in time. Either way nothing of it goes on when this returns.

    Raises:
        TimeoutError: it was not done in time, and was cancelled.
    """
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait([task, timer], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        timer.cancel()
        task.cancel()
        await asyncio.gather(task, timer, return_exceptions=True)
