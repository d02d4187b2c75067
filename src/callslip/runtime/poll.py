"""Ask after a job in the background, and tell it to end when its session is stopped (SPEC-06).

Each time a session is woken for a job, one record says when it is woken next. The pauses grow, so that a job of a week
costs the log some hundred records. A poll that fails says nothing of the job: it is asked after again, later.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

import anyio
import msgspec

from callslip import failpoint
from callslip.core import canon, crash, ids
from callslip.core.call import CallState
from callslip.core.event import Event
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.tool import Risk, ToolSpec
from callslip.core.wait import WaitKind
from callslip.errors import ToolFailed, UsageError
from callslip.gate.catalogue import Entry
from callslip.ports.background import Done, Jobs, Running
from callslip.ports.context import Context
from callslip.runtime import outcome, payloads, recover
from callslip.runtime.background import waiting
from callslip.runtime.closing import closing
from callslip.runtime.drive import Drive
from callslip.runtime.effect import context_for

LONGEST_MS = 3_600_000
"""The longest pause between two polls, unless the tool itself names one."""
_MOST_DOUBLED = 30

Answer = Running | Done | ToolFailed


def wanted(drive: Drive, call: CallState) -> bool:
    """Whether the call's job must still be told that its session was stopped."""
    return drive.state.stop and call.job is not None and call.parked is None and not call.asked_to_end


async def postpone(drive: Drive, why: str) -> None:
    """Wake the session later for jobs that can't be asked after now, or they would wake it again and again."""
    now = drive.parts.clock.now()
    for call in drive.state.open_calls():
        if call.job is None or call.parked is not None or call.wake_at is None or call.wake_at > now:
            continue
        wait_id = _wait_of(drive, call)
        if wait_id is not None:
            later = now + LONGEST_MS
            await drive.append(_polled(drive, call, wait_id, poll_at=later, wake_at=later, note=why))


async def ask_after(drive: Drive, call: CallState, judged: int, stop: asyncio.Future[None]) -> crash.Conclusion | None:
    """Ask once, and record what is new. After a stop the job is told to end before.

    Returns:
        ``Reuse``: it has ended, and the call is settled. ``AwaitJob``: it goes on. ``Park``, which is for the caller to
        do. ``None``: a stop came, and the asking was given up.

    Raises:
        Moved: an outsider's record came in; judge again.
    """
    dispatch, job = call.dispatch, call.job
    assert dispatch is not None
    assert job is not None
    entry = drive.parts.catalogue.get(dispatch.tool)
    if entry is None or not entry.executor.spec.background or not isinstance(entry.executor, Jobs):
        return recover.GONE
    handle = await payloads.load(drive.parts.blobs, job.handle)
    spec, context = entry.executor.spec, _context(drive, call, entry.executor.spec)
    told = wanted(drive, call)
    said = await _tell_to_end(drive, entry.executor, spec, handle, context) if told else ""
    failpoint.hit("poll.before")
    answer = await _ask(drive, entry.executor, spec, handle, context, None if told else stop)
    failpoint.hit("poll.after")
    if answer is None:
        return None
    if isinstance(answer, Done | ToolFailed):
        await _settle(drive, call, entry, answer, context, judged)
        return crash.Reuse()
    if job.until is not None and drive.parts.clock.now() >= job.until and not told:
        by = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(job.until / 1000))
        return crash.Park(code="job_overdue", reason=f"its job was to end by {by}, and goes on")
    await _go_on(drive, call, spec, answer, said, judged)
    return crash.AwaitJob()


async def _ask(
    drive: Drive, executor: Jobs, spec: ToolSpec, handle: Any, context: Context, stop: asyncio.Future[None] | None
) -> Answer | None:
    """The tool's answer; ``None`` when a stop came first. Without ``stop`` it has no longer than a stop may take."""
    seconds = spec.timeout_ms / 1000
    asking = asyncio.ensure_future(executor.poll(handle, context))
    asking.add_done_callback(lambda over: over.cancelled() or over.exception())  # looked at, even when given up
    waiting_for: list[asyncio.Future[Any]] = [asking] if stop is None else [asking, stop]
    answer: Any
    try:
        with anyio.fail_after(seconds if stop is not None else min(seconds, drive.parts.limits.grace)):
            await asyncio.wait(waiting_for, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return None
            answer = asking.result()
    except ToolFailed as failed:
        return failed
    except BaseException as error:
        if drive.cancelling():
            raise
        # The tool author's code failed, or cancelled itself: that is nothing the job has done.
        return Running(note=f"it could not be asked after ({type(error).__name__})")
    finally:
        asking.cancel()
    if isinstance(answer, Running | Done):
        return answer
    return Running(note=f"asked after it, its tool gave {type(answer).__name__}, neither Running nor Done")


async def _tell_to_end(drive: Drive, executor: Jobs, spec: ToolSpec, handle: Any, context: Context) -> str:
    """What came of it, for the note."""
    try:
        with anyio.fail_after(min(spec.timeout_ms / 1000, drive.parts.limits.grace)):
            can = await executor.cancel(handle, context)
    except BaseException as error:
        if drive.cancelling():
            raise
        return f"telling it to end failed ({type(error).__name__})"
    return "it was told to end" if can else "it can't be told to end"


async def _settle(
    drive: Drive, call: CallState, entry: Entry, answer: Done | ToolFailed, context: Context, judged: int
) -> None:
    """T2: what has come of the job is the call's one answer."""
    dispatch = call.dispatch
    assert dispatch is not None
    if isinstance(answer, Done):
        response = await outcome.success(
            drive.parts, dispatch, answer.result, output=entry.output, artifacts=context.artifacts
        )
    else:
        response = outcome.job_failed(drive.parts, dispatch, answer)
    failpoint.hit("settle.before")
    try:
        await drive.append(response, *closing(drive, call.call.call_id), judged=judged)
    except UsageError:  # what its tool gave can't stand in a record; that it has ended is certain all the same
        response = outcome.job_failed(drive.parts, dispatch, _unusable(dispatch))
        await drive.append(response, *closing(drive, call.call.call_id), judged=judged)
    failpoint.hit("settle.after")


def _unusable(dispatch: ToolDispatch) -> ToolFailed:
    return ToolFailed(
        "The job has ended, and what it gave could not be recorded.",
        code="result_unusable",
        effect="none" if dispatch.risk is Risk.READ else "done",
    )


async def _go_on(drive: Drive, call: CallState, spec: ToolSpec, answer: Running, said: str, judged: int) -> None:
    """Say when the session is woken next. A wait that was closed, since the call was parked, is opened anew."""
    dispatch, job = call.dispatch, call.job
    assert dispatch is not None
    assert job is not None
    poll_at = drive.parts.clock.now() + (spec.poll_after_ms if said else _pause(call, spec, answer))
    wake_at = poll_at if job.until is None else min(poll_at, job.until)
    events: list[Event] = []
    wait_id = _wait_of(drive, call)
    if wait_id is None:
        wait_id = ids.wait_id("wait", drive.session)
        events = [*closing(drive, dispatch.call_id), waiting(dispatch, wait_id, wake_at)]
    note = "; ".join(filter(None, (said, str(answer.note))))
    polled = _polled(drive, call, wait_id, poll_at=poll_at, wake_at=wake_at, note=note, told=bool(said))
    await drive.append(*events, polled, judged=judged)


def _wait_of(drive: Drive, call: CallState) -> str | None:
    """The open wait for the call's job."""
    mine = (wait for wait in drive.state.waits.values() if wait.call_id == call.call.call_id)
    return next((wait.wait_id for wait in mine if wait.kind is WaitKind.BACKGROUND), None)


def _polled(
    drive: Drive, call: CallState, wait_id: str, *, poll_at: int, wake_at: int, note: str, told: bool = False
) -> BackgroundPolled:
    dispatch = call.dispatch
    assert dispatch is not None
    return BackgroundPolled(
        call_id=dispatch.call_id,
        attempt=dispatch.attempt,
        nonce=dispatch.nonce,
        wait_id=wait_id,
        poll_at=poll_at,
        wake_at=wake_at,
        note=drive.parts.redactor.clean(canon.scrub(note)),
        asked_to_end=told or call.asked_to_end,
    )


def _pause(call: CallState, spec: ToolSpec, answer: Running) -> int:
    """Milliseconds until it is asked after next: as its tool says, else twice the pause before."""
    said = answer.again_in
    if isinstance(said, int | float) and math.isfinite(said) and said > 0:
        return max(1, round(said * 1000))
    return int(min(spec.poll_after_ms * 2 ** min(call.polls + 1, _MOST_DOUBLED), LONGEST_MS))


def _context(drive: Drive, call: CallState, spec: ToolSpec) -> Context:
    dispatch = call.dispatch
    assert dispatch is not None
    deadline = drive.parts.clock.now() + spec.timeout_ms
    return context_for(drive, msgspec.structs.replace(dispatch, deadline=deadline))
