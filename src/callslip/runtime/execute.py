"""Run one dispatched call under its deadline, and see to it that nothing of it goes on unseen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from callslip import failpoint
from callslip.errors import ToolFailed
from callslip.ports.context import Context
from callslip.ports.executor import Executor
from callslip.runtime.outcome import Attempt, Raised, Returned, Stopped, TimedOut
from callslip.runtime.parts import Parts

IN_CALL: ContextVar[frozenset[str]] = ContextVar("callslip_sessions_in_call", default=frozenset())
"""Sessions of which the current code runs inside a call."""

OnLate = Callable[[Any, BaseException | None], None]


async def execute(
    parts: Parts,
    executor: Executor,
    arguments: Mapping[str, Any],
    context: Context,
    *,
    stop: asyncio.Future[None],
    on_late: OnLate,
) -> Attempt:
    """The attempt's end: returned, raised, timed out, or stopped.

    ``stop`` asks it to end early; it then has the grace time to say how it ended. What can't be ended (a thread, a
    coroutine that swallows its cancellation) is left behind, marked in ``context.still_running``, and reports to
    ``on_late`` when it does end.
    """
    failpoint.hit("effect.before")
    work = asyncio.ensure_future(_run(executor, arguments, context))
    try:
        await asyncio.sleep(0)
        if work.done():  # it never waited, and needs no timer
            return work.result()
        return await _ended(parts, work, context, stop, on_late)
    finally:
        failpoint.hit("effect.after")


async def _ended(
    parts: Parts, work: asyncio.Future[Attempt], context: Context, stop: asyncio.Future[None], on_late: OnLate
) -> Attempt:
    timer = asyncio.ensure_future(parts.clock.sleep(context.remaining()))
    try:
        await _first(work, timer, stop)
        if not work.done() and not timer.done():
            context.cancel()
            await _within(parts, work, timer)
        if work.done():
            return work.result()
        context.cancel()
        began = context.abandon(on_late)
        await _cancel(parts, work, context, on_late)
        return TimedOut(began=began) if timer.done() else Stopped(began=began)
    finally:
        timer.cancel()


async def _run(executor: Executor, arguments: Mapping[str, Any], context: Context) -> Attempt:
    IN_CALL.set(IN_CALL.get() | {context.session})  # in this task's own context
    try:
        return Returned(value=await executor.run(arguments, context))
    except asyncio.CancelledError:
        if context.cancelled:
            raise
        return Raised(error=ToolFailed("The tool cancelled itself.", code="cancelled", effect="unknown"))
    except BaseException as error:  # noqa: BLE001 - whatever a tool raises must not take its siblings down
        return Raised(error=error)


async def _first(*futures: asyncio.Future[Any]) -> None:
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


async def _within(parts: Parts, *futures: asyncio.Future[Any]) -> None:
    """Wait for the first to be done, at most the grace time."""
    grace = asyncio.ensure_future(parts.clock.sleep(parts.limits.grace))
    try:
        await _first(*futures, grace)
    finally:
        grace.cancel()


async def _cancel(parts: Parts, work: asyncio.Future[Attempt], context: Context, on_late: OnLate) -> None:
    work.cancel()
    await _within(parts, work)
    if work.done():
        with contextlib.suppress(asyncio.CancelledError):
            work.result()
        return
    context.left_behind()

    def ended(late: asyncio.Future[Attempt]) -> None:
        context.came_back()
        if late.cancelled():
            return
        end = late.result()
        if isinstance(end, Returned):
            on_late(end.value, None)
        elif isinstance(end, Raised):
            on_late(None, end.error)

    work.add_done_callback(ended)
