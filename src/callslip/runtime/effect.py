"""The effect and its record: execute under the deadline, then T2, whatever came of it.

A T2 that can't be committed hides the result; the crash table decides at the next resume.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callslip import failpoint
from callslip.core.event import Event, Stored
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.hedging import Hedged
from callslip.core.result import Effect, Status
from callslip.errors import CommitUnknown, LedgerUnavailable, UsageError
from callslip.gate.catalogue import Entry
from callslip.ports.context import Context
from callslip.runtime import activating, breaking, budgeting, fallback, outcome
from callslip.runtime.background import started
from callslip.runtime.deadline import Deadline
from callslip.runtime.drive import Drive
from callslip.runtime.execute import execute
from callslip.runtime.failure import failure
from callslip.runtime.hedge import Race
from callslip.runtime.late import Late
from callslip.runtime.live import Partial, Progress, ignore
from callslip.runtime.secrets import revealed
from callslip.runtime.trail import leave_behind


async def take_effect(
    drive: Drive,
    entry: Entry,
    t1: ToolDispatch,
    limit: Deadline,
    arguments: Mapping[str, Any],
    stop: asyncio.Future[None],
    *,
    repeats: bool = False,
) -> None:
    """Execute and settle. From here on the call is in the world: whatever comes, it is recorded.

    ``repeats``: an earlier attempt may have had its effect.
    """
    spec, clock = entry.executor.spec, drive.parts.clock
    began = clock.monotonic()
    given = revealed(spec, arguments, drive.parts.secrets)
    race: Race | None = None
    late: Late | Race
    if spec.hedge_after_ms is None:
        context, late = context_for(drive, t1, until=limit.until), Late(drive, t1)
        attempt = await execute(drive.parts, entry.executor, given, context, stop=stop, on_late=late)
        ended = not context.still_running
        if not ended:
            leave_behind(drive.parts, [context])
    else:
        race = late = Race(drive, entry.executor, t1, functools.partial(context_for, drive, t1, until=limit.until))
        attempt, context = await race.run(arguments, given, stop)
        ended = race.ended
        leave_behind(drive.parts, race.contexts)
    attempt = _cause(drive, attempt, limit)
    took = round((clock.monotonic() - began) * 1000)
    try:
        events = await _ended(drive, entry, t1, arguments, attempt, context, took, ended=ended, repeats=repeats)
        if race is not None and race.hedged is not None:
            events[-1] = _with_hedge(events[-1], race.hedged)
        failpoint.hit("settle.before")
        stored = await _settle(drive, t1, events, ended=ended)
    finally:
        late.settled()
    failpoint.hit("settle.after")
    if spec.cached_fallback_ms is not None:
        await fallback.keep(drive, t1, spec, stored[-1])


async def _settle(drive: Drive, t1: ToolDispatch, events: Sequence[Event], *, ended: bool) -> Sequence[Stored]:
    try:
        return await _record(drive, t1, events, ended=ended)
    except (LedgerUnavailable, CommitUnknown) as error:
        raise type(error)(
            f"{t1.tool} was dispatched and has ended, but its outcome could not be recorded: {error} "
            "The outcome was shown to nobody; the next run finds out what became of the call."
        ) from error


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
    *,
    ended: bool,
    repeats: bool,
) -> list[Event]:
    """What has come of it, as it is recorded. ``ended``: nothing of it goes on."""
    spec = entry.executor.spec
    failed = None
    if not isinstance(attempt, outcome.Returned):
        failed = failure(drive, entry.executor, t1, attempt, repeats=repeats)
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
        event = msgspec.structs.replace(event, ended=ended)
    if context.printed or context.notes:
        event = outcome.with_words(drive.parts, event, context.printed, context.notes)
    if isinstance(event, FunctionResponse):
        call = drive.state.calls[t1.call_id]
        instead = await fallback.after(drive, call, t1, spec, heard, event)
        if isinstance(instead, FunctionResponse):
            instead = _counted(drive, t1, instead)
            if t1.call_id in drive.activating and instead.status is Status.SUCCESS and instead.fallback is None:
                instead = msgspec.structs.replace(instead, activated=activating.activated(drive, t1.call_id))
        return [*before, instead]
    return [*before, event]


def _with_hedge(event: Event, hedged: Hedged) -> Event:
    assert isinstance(event, FunctionResponse | AttemptFailed)  # no job is started twice
    return msgspec.structs.replace(event, hedged=hedged)


def _counted(drive: Drive, t1: ToolDispatch, event: FunctionResponse) -> FunctionResponse:
    """With how often the turn has seen this very result, where it has (ARGS-05)."""
    often = budgeting.same_again(drive, drive.state.calls[t1.call_id], event) if drive.state.counts.results else 0
    return msgspec.structs.replace(event, repeated=often) if often else event


async def _record(drive: Drive, t1: ToolDispatch, events: Sequence[Event], *, ended: bool) -> Sequence[Stored]:
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
                ended=ended,
                internal=drive.parts.redactor.clean(str(error)),
            )
        )


def context_for(drive: Drive, t1: ToolDispatch, *, until: float | None = None, shown: bool = True) -> Context:
    """What the tool is given for this attempt, or its probe for the attempt before. ``shown``: what it shows while it
    runs is passed on.
    """
    watch, session, call_id = drive.parts.watch if shown else ignore, drive.session, t1.call_id
    clean = drive.parts.redactor.clean
    return Context(
        session=session,
        call_id=call_id,
        attempt=t1.attempt,
        idempotency_key=t1.idempotency_key,
        deadline=t1.deadline,
        until=until,
        grace=drive.parts.limits.grace,
        version=None if t1.version is None else t1.version.value,
        activate=functools.partial(activating.activate, drive, call_id),
        clock=drive.parts.clock,
        on_progress=lambda message, fraction: watch(
            Progress(session=session, call_id=call_id, message=clean(message), fraction=fraction)
        ),
        on_partial=lambda text: watch(Partial(session=session, call_id=call_id, text=clean(text))),
    )
