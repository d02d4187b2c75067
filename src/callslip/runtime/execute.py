"""Run one dispatched call under its deadline, and see to it that nothing of it goes on unseen.

Why it ends is decided by whatever comes first, and stays: its own end, its deadline, or a stop. A call that was told to
end gets the grace time to say how it ended. What it gives after its deadline is late, and never its result
(docs/explain/timeouts.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import msgspec

from callslip import failpoint
from callslip.core.result import Effect
from callslip.errors import ToolFailed
from callslip.ports.context import Context
from callslip.ports.executor import Executor
from callslip.runtime.live import Executing, ignore
from callslip.runtime.outcome import Attempt, Raised, Returned, Stopped, TimedOut
from callslip.runtime.parts import Parts

IN_CALL: ContextVar[frozenset[str]] = ContextVar("callslip_sessions_in_call", default=frozenset())
"""Sessions of which the current code runs inside a call."""

OnLate = Callable[[Any, BaseException | None], None]
End = Returned | Raised | None
"""How the tool's own code ended; ``None``: by the cancellation it was told."""
_FORCED = 3
"""What is ended by force, step by step, takes at most so many times the grace time, and is left behind after that."""


async def execute(
    parts: Parts,
    executor: Executor,
    arguments: Mapping[str, Any],
    context: Context,
    *,
    stop: asyncio.Future[None],
    on_late: OnLate,
    lost: asyncio.Future[None] | None = None,
) -> Attempt:
    """The attempt's end: returned, raised, timed out, or stopped.

    ``stop`` asks it to end early. ``lost``: its deadline comes now, since the other execution of the same attempt has
    answered. What can't be ended (a thread, a coroutine that swallows its cancellation) is left
    behind, marked in ``context.still_running``, and reports to ``on_late`` when it does end.
    """
    failpoint.hit("effect.before")
    work = asyncio.ensure_future(_run(parts, executor, arguments, context))
    try:
        await asyncio.sleep(0)
        if work.done() and not context.late:  # it never waited, and needs no timer
            end = work.result()
            assert end is not None
            return end
        return await _ended(parts, work, context, stop, on_late, lost)
    finally:
        failpoint.hit("effect.after")


async def _ended(
    parts: Parts,
    work: asyncio.Future[End],
    context: Context,
    stop: asyncio.Future[None],
    on_late: OnLate,
    lost: asyncio.Future[None] | None,
) -> Attempt:
    timer = asyncio.ensure_future(parts.clock.sleep(context.remaining()))
    try:
        await _first(work, timer, stop, *(() if lost is None else (lost,)))
        in_time = _in_time(work, context)
        if in_time is not None:
            return in_time
        over = work.done() or timer.done() or (lost is not None and lost.done())
        cause: TimedOut | Stopped = TimedOut() if over else Stopped()  # latched
        context.cancel()
        if isinstance(cause, Stopped):
            await _within(parts, 1, work, timer)
            in_time = _in_time(work, context)
            if in_time is not None:
                return in_time
        elif context.hears and context.begun:
            await _within(parts, 1, work)
    finally:
        timer.cancel()
    began = context.begun
    if not work.done():
        began = context.abandon(on_late)
        await _cancel(parts, work, context, on_late)
    return msgspec.structs.replace(cause, began=began, effect=_said(work, on_late))


def _in_time(work: asyncio.Future[End], context: Context) -> Attempt | None:
    """How it ended, if it has, by itself, and before its deadline."""
    return work.result() if work.done() and not context.late else None


def _said(work: asyncio.Future[End], on_late: OnLate) -> Effect | None:
    """What it said of its effect as it ended, after all; a result that came too late is handed on."""
    if not work.done() or work.cancelled():
        return None
    end = work.result()
    if isinstance(end, Returned):
        on_late(end.value, None)
    elif isinstance(end, Raised):
        if isinstance(end.error, ToolFailed) and end.error.effect in set(Effect):
            return Effect(end.error.effect)
        on_late(None, end.error)
    return None


async def _run(parts: Parts, executor: Executor, arguments: Mapping[str, Any], context: Context) -> End:
    IN_CALL.set(IN_CALL.get() | {context.session})  # in this task's own context
    if parts.watch is not ignore:
        parts.watch(Executing(session=context.session, call_id=context.call_id, attempt=context.attempt))
    try:
        return Returned(value=await executor.run(arguments, context))
    except asyncio.CancelledError:
        if context.cancelled:
            return None
        return Raised(error=ToolFailed("The tool cancelled itself.", code="cancelled", effect="unknown"))
    except BaseException as error:  # noqa: BLE001 - whatever a tool raises must not take its siblings down
        return Raised(error=error)
    finally:
        context.ended()


async def _first(*futures: asyncio.Future[Any]) -> None:
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)


async def _within(parts: Parts, times: int, *futures: asyncio.Future[Any]) -> None:
    """Wait for the first to be done, at most the grace time, or so many times as long."""
    grace = asyncio.ensure_future(parts.clock.sleep(parts.limits.grace * times))
    try:
        await _first(*futures, grace)
    finally:
        grace.cancel()


async def _cancel(parts: Parts, work: asyncio.Future[End], context: Context, on_late: OnLate) -> None:
    work.cancel()
    await _within(parts, _FORCED if context.forced else 1, work)
    if work.done():
        return
    context.left_behind()

    def ended(late: asyncio.Future[End]) -> None:
        context.came_back()
        _said(late, on_late)

    work.add_done_callback(ended)
