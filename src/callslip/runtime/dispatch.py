"""One attempt of one call: gate, claims, prepare, T1, effect, T2. The heart of Callslip.

The order is the promise: T1 is durable before the effect can start, and the result is durable before anyone is shown
it. A T1 that can't be committed stops the effect; a T2 that can't be committed hides the result, and the crash table
decides at the next resume.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from callslip import failpoint
from callslip.core import canon, ids
from callslip.core.call import CallState
from callslip.core.event import Event, draft
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.tool_dispatch import Evidence, ToolDispatch
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.plain import to_plain
from callslip.core.result import Effect
from callslip.core.wait import WaitKind
from callslip.errors import CallslipError, CommitUnknown, LedgerUnavailable, Moved, UsageError
from callslip.gate.catalogue import Entry
from callslip.gate.pipeline import Passed
from callslip.gate.refusal import Refusal
from callslip.ports.context import Context
from callslip.runtime import outcome, payloads
from callslip.runtime.ask import ask, changed
from callslip.runtime.audited import must_be_audited
from callslip.runtime.background import started
from callslip.runtime.claims import keys
from callslip.runtime.closing import closing
from callslip.runtime.drive import Drive, finished
from callslip.runtime.execute import execute
from callslip.runtime.holds import recorded, still
from callslip.runtime.judge import Asks, Cleared, judge_call
from callslip.runtime.live import Partial, Progress
from callslip.runtime.prepare import look
from callslip.runtime.secrets import revealed


async def dispatch(drive: Drive, call: CallState, stop: asyncio.Future[None]) -> bool:
    """Judge the call by today's gate, and make one attempt if it passes. Its fate is in the log afterwards: an answer,
    a failed attempt, or a question to a person.

    False when the run is being paused: the call is left to the next one.
    """
    while True:
        if drive.paused:
            return False
        judged = drive.state.outsider_seq
        verdict = await judge_call(drive, call)
        if isinstance(verdict, Refusal):
            try:
                await _refuse(drive, call, verdict, judged)
            except Moved:
                continue
            return True
        passed = verdict.passed
        if isinstance(verdict, Asks):
            if await _asked(drive, call, verdict, stop, judged):
                return True
            continue
        claims = keys(passed.entry.executor.spec.claims, passed.arguments.value)
        async with drive.parts.claims.holding(claims) as waited:
            if waited:  # the world has moved on meanwhile: ask the gate again before anything happens
                judged = drive.state.outsider_seq
                verdict = await judge_call(drive, call)
                if not isinstance(verdict, Cleared) or drive.paused:
                    continue
            try:
                await _attempt(drive, call, verdict, claims, stop, judged)
            except Moved:  # an outsider said something since it was judged: judge again
                continue
            return True


async def _refuse(drive: Drive, call: CallState, refusal: Refusal, judged: int) -> None:
    await drive.append(outcome.refused(call, refusal, drive.parts), *closing(drive, call.call.call_id), judged=judged)


async def _asked(drive: Drive, call: CallState, asks: Asks, stop: asyncio.Future[None], judged: int) -> bool:
    """Ask a person, having looked at the target, or refuse what can't work. False: judge again."""
    executor = asks.passed.entry.executor
    evidence = await look(executor, asks.passed.arguments.text, stop)
    try:
        if isinstance(evidence, Refusal):
            await _refuse(drive, call, evidence, judged)
        else:
            await ask(drive, call, asks.passed, evidence, judged, again=asks.ask.again, edited=asks.edited)
    except Moved:
        return False
    return True


async def _attempt(
    drive: Drive,
    call: CallState,
    cleared: Cleared,
    claims: tuple[str, ...],
    stop: asyncio.Future[None],
    judged: int,
) -> None:
    passed, asked = cleared.passed, cleared.permitted.asked
    executor = passed.entry.executor
    evidence = await look(executor, passed.arguments.text, stop)
    if isinstance(evidence, Refusal):
        await _refuse(drive, call, evidence, judged)
        return
    if cleared.permitted.approval and not await still(drive, call, cleared):
        raise Moved  # what it rested on has changed while the target was looked at: judge again
    again = changed(drive, call, passed, evidence, asked) if asked is not None else ()
    if again:
        await ask(drive, call, passed, evidence, judged, again=again, edited=call.edits)
        return
    await must_be_audited(drive.parts)
    t1 = await _t1(drive, call, cleared, evidence, claims)
    if executor.spec.client_owned:
        failpoint.hit("dispatch.before")
        wait = WaitOpened(
            wait_id=ids.wait_id("wait", drive.session),
            kind=WaitKind.QUESTION if t1.asks_user else WaitKind.CLIENT,
            reason="the model asks the user a question" if t1.asks_user else "its client runs it",
            call_id=t1.call_id,
        )
        await drive.append(t1, wait, judged=judged)
        return
    work = _from_t1(drive, passed.entry, t1, canon.parse(passed.arguments.text), stop, judged)
    await _shielded(work, stop)


async def again(
    drive: Drive, call: CallState, stop: asyncio.Future[None], judged: int, closing: Sequence[WaitClosed]
) -> None:
    """Repeat a dispatched call whose outcome is unknown, as declared safe: same key, same arguments, new attempt.

    The caller has made sure, with :func:`recorded`, that the tool of today can still take it. ``closing`` ends what the
    call waited for until now.
    """
    dispatch, entry, arguments = await recorded(drive, call)
    assert entry is not None
    await must_be_audited(drive.parts)
    failed = [] if call.failed is not None else [_interrupted(call)]
    async with drive.parts.claims.holding(dispatch.claims):
        t1 = msgspec.structs.replace(
            dispatch,
            attempt=dispatch.attempt + 1,
            nonce=secrets.token_hex(8),
            tool_version=entry.executor.version,
            deadline=drive.parts.clock.now() + entry.executor.spec.timeout_ms,
        )
        await _shielded(_from_t1(drive, entry, t1, arguments, stop, judged, repeated=[*closing, *failed]), stop)


async def _from_t1(
    drive: Drive,
    entry: Entry,
    t1: ToolDispatch,
    arguments: Mapping[str, Any],
    stop: asyncio.Future[None],
    judged: int,
    *,
    repeated: Sequence[WaitClosed | AttemptFailed] | None = None,
) -> None:
    """Commit T1, then go into the world; unless a stop came in that very moment."""
    failpoint.hit("dispatch.before")
    if drive.paused:  # since it was judged: by a worker that ends, or a sibling that failed
        return
    await drive.append(*(repeated or ()), t1, judged=judged)
    failpoint.hit("dispatch.after")
    if not stop.done():
        await _effect(drive, entry, t1, arguments, stop)
    elif repeated is None:  # of a repeated call the earlier attempt may have had its effect: the next run repeats it
        await drive.append(outcome.unstarted(t1))


async def _t1(
    drive: Drive, call: CallState, cleared: Cleared, evidence: Evidence | None, claims: tuple[str, ...]
) -> ToolDispatch:
    passed: Passed = cleared.passed
    spec = passed.entry.executor.spec
    digest = canon.digest(passed.arguments.text)
    earlier = call.dispatch
    if earlier is not None and earlier.arguments_digest == digest:
        key = earlier.idempotency_key  # copied once it exists, never derived again (RECO-06)
    else:
        key = ids.idempotency_key(drive.parts.key, drive.session, call.call.call_id, digest)
    return ToolDispatch(
        call_id=call.call.call_id,
        attempt=call.attempts + 1,
        nonce=secrets.token_hex(8),
        tool=spec.name,
        tool_version=passed.entry.executor.version,
        arguments=await payloads.store(drive.parts.blobs, passed.arguments.text),
        arguments_digest=digest,
        idempotency_key=key,
        risk=spec.risk,
        recovery=spec.recovery,
        rules=passed.verdict.rules,
        approval=cleared.permitted.approval,
        deadline=drive.parts.clock.now() + spec.timeout_ms,
        quiet_ms=spec.quiet_ms,
        local_effect=spec.local_effect,
        client_owned=spec.client_owned,
        asks_user=spec.asks_user,
        background=spec.background,
        claims=claims,
        evidence=evidence,
        changed=passed.arguments.changed,
    )


async def _effect(
    drive: Drive, entry: Entry, t1: ToolDispatch, arguments: Mapping[str, Any], stop: asyncio.Future[None]
) -> None:
    """Execute and settle. From here on the call is in the world: whatever comes, it is recorded."""
    clock = drive.parts.clock
    context = context_for(drive, t1)
    began = clock.monotonic()
    given = revealed(entry.executor.spec, arguments, drive.parts.secrets)
    attempt = await execute(drive.parts, entry.executor, given, context, stop=stop, on_late=_late_recorder(drive, t1))
    if context.still_running:
        left = drive.parts.left_behind
        left[:] = [*(one for one in left if one.still_running), context]
    events: list[Event]
    if t1.background and isinstance(attempt, outcome.Returned):
        events = await started(drive, entry.executor.spec, t1, attempt.value)
    else:
        event = await outcome.settle(
            drive.parts,
            t1,
            attempt,
            output=entry.output,
            artifacts=context.artifacts,
            duration_ms=round((clock.monotonic() - began) * 1000),
        )
        if isinstance(event, AttemptFailed):
            event = msgspec.structs.replace(event, ended=not context.still_running)
        events = [event]
    failpoint.hit("settle.before")
    try:
        await _record(drive, t1, events)
    except (LedgerUnavailable, CommitUnknown) as error:
        raise type(error)(
            f"{t1.tool} was dispatched and has ended, but its outcome could not be recorded: {error} "
            "The outcome was shown to nobody; the next run finds out what became of the call."
        ) from error
    failpoint.hit("settle.after")


async def _record(drive: Drive, t1: ToolDispatch, events: Sequence[Event]) -> None:
    """T2, or the start of a job; or, when what the tool gave can't stand in a record, the fact that nobody can tell."""
    try:
        await drive.append(*events)
    except UsageError as error:
        await drive.append(
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


def context_for(drive: Drive, t1: ToolDispatch) -> Context:
    """What the tool is given for this attempt, or its probe for the attempt before."""
    watch, session, call_id = drive.parts.watch, drive.session, t1.call_id
    clean = drive.parts.redactor.clean
    return Context(
        session=session,
        call_id=call_id,
        attempt=t1.attempt,
        idempotency_key=t1.idempotency_key,
        deadline=t1.deadline,
        clock=drive.parts.clock,
        on_progress=lambda message, fraction: watch(
            Progress(session=session, call_id=call_id, message=clean(message), fraction=fraction)
        ),
        on_partial=lambda text: watch(Partial(session=session, call_id=call_id, text=clean(text))),
    )


async def _shielded(work: Coroutine[Any, Any, None], stop: asyncio.Future[None]) -> None:
    """Await work that must converge: a cancellation asks it to stop, waits for its record, then goes its way."""

    def ask_to_stop() -> None:
        if not stop.done():
            stop.set_result(None)

    await finished(asyncio.ensure_future(work), ask_to_stop)


def _late_recorder(drive: Drive, t1: ToolDispatch) -> Any:
    """Record what an abandoned attempt came to, as an outsider: by then the run may have ended."""
    loop = asyncio.get_running_loop()

    def on_late(value: Any, error: BaseException | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: _keep(loop.create_task(_record_late(drive, t1, value, error))))

    return on_late


_late: set[asyncio.Task[None]] = set()


def _keep(task: asyncio.Task[None]) -> None:
    _late.add(task)
    task.add_done_callback(_late.discard)


async def _record_late(drive: Drive, t1: ToolDispatch, value: Any, error: BaseException | None) -> None:
    with contextlib.suppress(CallslipError):  # nothing rests on it: the call is settled or parked without it
        await _append_late(drive, t1, value, error)


async def _append_late(drive: Drive, t1: ToolDispatch, value: Any, error: BaseException | None) -> None:
    parts = drive.parts
    text = parts.redactor.clean_json(canon.canonical(to_plain(value).value))
    event = LateOutcome(
        call_id=t1.call_id,
        attempt=t1.attempt,
        nonce=t1.nonce,
        ok=error is None,
        result=await payloads.store(parts.blobs, text) if error is None else None,
        internal="" if error is None else parts.redactor.clean(f"{type(error).__name__}: {error}"),
    )
    record = draft(event, at=parts.clock.now(), by="late", epoch=0, run="")
    for _ in range(20):
        head = (await parts.ledger.heads(drive.session))[0]
        try:
            await parts.ledger.decide(drive.session, [record], expected=head.seq)
        except Moved:
            continue
        return


def _interrupted(call: CallState) -> AttemptFailed:
    assert call.dispatch is not None
    return AttemptFailed(
        call_id=call.call.call_id,
        attempt=call.dispatch.attempt,
        nonce=call.dispatch.nonce,
        effect=Effect.UNKNOWN,
        code="interrupted",
    )
