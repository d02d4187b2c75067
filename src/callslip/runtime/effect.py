"""The effect and its record: execute under the deadline, then T2, whatever came of it.

A T2 that can't be committed hides the result; the crash table decides at the next resume.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callslip import failpoint
from callslip.core.event import Event, Stored
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.result import Effect
from callslip.errors import CommitUnknown, LedgerUnavailable, UsageError
from callslip.gate.catalogue import Entry
from callslip.ports.context import Context
from callslip.runtime import breaking, budgeting, fallback, outcome
from callslip.runtime.background import started
from callslip.runtime.deadline import Deadline
from callslip.runtime.drive import Drive
from callslip.runtime.execute import execute
from callslip.runtime.failure import failure
from callslip.runtime.late import Late
from callslip.runtime.live import Partial, Progress
from callslip.runtime.secrets import revealed


async def take_effect(
    drive: Drive,
    entry: Entry,
    t1: ToolDispatch,
    limit: Deadline,
    arguments: Mapping[str, Any],
    stop: asyncio.Future[None],
) -> None:
    """Execute and settle. From here on the call is in the world: whatever comes, it is recorded."""
    spec, clock = entry.executor.spec, drive.parts.clock
    context = context_for(drive, t1, until=limit.until)
    late = Late(drive, t1)
    began = clock.monotonic()
    given = revealed(spec, arguments, drive.parts.secrets)
    attempt = await execute(drive.parts, entry.executor, given, context, stop=stop, on_late=late)
    attempt = _cause(drive, attempt, limit)
    if context.still_running:
        left = drive.parts.left_behind
        left[:] = [*(one for one in left if one.still_running), context]
    events = await _ended(drive, entry, t1, arguments, attempt, context, round((clock.monotonic() - began) * 1000))
    failpoint.hit("settle.before")
    try:
        stored = await _record(drive, t1, events)
    except (LedgerUnavailable, CommitUnknown) as error:
        raise type(error)(
            f"{t1.tool} was dispatched and has ended, but its outcome could not be recorded: {error} "
            "The outcome was shown to nobody; the next run finds out what became of the call."
        ) from error
    finally:
        late.settled()
    failpoint.hit("settle.after")
    if spec.cached_fallback_ms is not None:
        await fallback.keep(drive, t1, spec, stored[-1])


def _cause(drive: Drive, attempt: outcome.Attempt, limit: Deadline) -> outcome.Attempt:
    """With what ended it, where that was not the tool."""
    if isinstance(attempt, outcome.TimedOut):
        return msgspec.structs.replace(attempt, of_turn=limit.of_turn)
    if isinstance(attempt, outcome.Stopped):
        return msgspec.structs.replace(attempt, why=drive.why_stopped)
    return attempt


async def _ended(
    drive: Drive,
    entry: Entry,
    t1: ToolDispatch,
    arguments: Mapping[str, Any],
    attempt: outcome.Attempt,
    context: Context,
    duration_ms: int,
) -> list[Event]:
    """What has come of it, as it is recorded."""
    spec = entry.executor.spec
    failed = None if isinstance(attempt, outcome.Returned) else failure(drive, entry.executor, t1, attempt)
    heard = breaking.heard(attempt, failed)
    opened = breaking.ended(drive, t1.call_id, spec, arguments, heard)
    before: list[Event] = [] if opened is None else [opened]
    if t1.background and isinstance(attempt, outcome.Returned):
        return [*before, *await started(drive, spec, t1, attempt.value)]
    event = await outcome.settle(
        drive.parts,
        t1,
        attempt,
        failure=failed,
        output=entry.output,
        artifacts=context.artifacts,
        duration_ms=duration_ms,
    )
    if isinstance(event, AttemptFailed):
        event = msgspec.structs.replace(event, ended=not context.still_running)
    if context.printed or context.notes:
        event = outcome.with_words(drive.parts, event, context.printed, context.notes)
    if isinstance(event, FunctionResponse):
        call = drive.state.calls[t1.call_id]
        instead = await fallback.after(drive, call, t1, spec, heard, event)
        return [*before, _counted(drive, t1, instead) if isinstance(instead, FunctionResponse) else instead]
    return [*before, event]


def _counted(drive: Drive, t1: ToolDispatch, event: FunctionResponse) -> FunctionResponse:
    """With how often the turn has seen this very result, where it has (ARGS-05)."""
    often = budgeting.same_again(drive, drive.state.calls[t1.call_id], event) if drive.state.counts.results else 0
    return msgspec.structs.replace(event, repeated=often) if often else event


async def _record(drive: Drive, t1: ToolDispatch, events: Sequence[Event]) -> Sequence[Stored]:
    """T2, or the start of a job; or, when what the tool gave can't stand in a record, the fact that nobody can tell."""
    try:
        return await drive.append(*events)
    except UsageError as error:
        return await drive.append(
            AttemptFailed(
                call_id=t1.call_id,
                attempt=t1.attempt,
                nonce=t1.nonce,
                effect=Effect.UNKNOWN,
                code="result_unusable",
                ended=True,
                internal=drive.parts.redactor.clean(str(error)),
            )
        )


def context_for(drive: Drive, t1: ToolDispatch, *, until: float | None = None) -> Context:
    """What the tool is given for this attempt, or its probe for the attempt before."""
    watch, session, call_id = drive.parts.watch, drive.session, t1.call_id
    clean = drive.parts.redactor.clean
    return Context(
        session=session,
        call_id=call_id,
        attempt=t1.attempt,
        idempotency_key=t1.idempotency_key,
        deadline=t1.deadline,
        until=until,
        grace=drive.parts.limits.grace,
        clock=drive.parts.clock,
        on_progress=lambda message, fraction: watch(
            Progress(session=session, call_id=call_id, message=clean(message), fraction=fraction)
        ),
        on_partial=lambda text: watch(Partial(session=session, call_id=call_id, text=clean(text))),
    )
