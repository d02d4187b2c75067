"""One attempt of one call: gate, claims, prepare, T1, effect, T2. The heart of Callslip.

The order is the promise: T1 is durable before the effect can start, and the result is durable before anyone is shown
it. A T1 that can't be committed stops the effect; a T2 that can't be committed hides the result, and the crash table
decides at the next resume.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from callslip import failpoint
from callslip.core import canon, ids
from callslip.core.call import CallState
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import Evidence, ToolDispatch
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.result import Effect
from callslip.core.version import Version
from callslip.core.wait import WaitKind
from callslip.errors import Moved
from callslip.gate.catalogue import Entry
from callslip.gate.pipeline import Passed
from callslip.gate.refusal import Refusal
from callslip.runtime import activating, breaking, budgeting, fallback, outcome, payloads, versions
from callslip.runtime.ask import ask, changed
from callslip.runtime.audited import must_be_audited
from callslip.runtime.claiming import Held, claims_of, holding
from callslip.runtime.closing import closing
from callslip.runtime.deadline import Deadline, deadline
from callslip.runtime.drive import Drive, finished
from callslip.runtime.effect import take_effect
from callslip.runtime.holds import recorded, still
from callslip.runtime.judge import Asks, Cleared, judge_call
from callslip.runtime.prepare import look


async def dispatch(drive: Drive, call: CallState, stop: asyncio.Future[None]) -> bool:
    """Judge the call by today's gate, and make one attempt if it passes. Its fate is in the log afterwards: an answer,
    a failed attempt, or a question to a person.

    False when the run is being paused: the call is left to the next one.
    """
    try:
        return await _dispatch(drive, call, stop)
    finally:
        breaking.leave(drive, call.call.call_id)
        activating.let_go(drive, call.call.call_id)
        drive.order.came(call.call.call_id)


async def _dispatch(drive: Drive, call: CallState, stop: asyncio.Future[None]) -> bool:
    def over() -> bool:
        return stop.done() or not drive.may_begin()

    while True:
        drive.order.comes(call.call.call_id, call.call.position)
        if not drive.may_begin() or (stop.done() and not drive.state.stop):
            return False
        judged = drive.state.outsider_seq
        verdict = await fallback.judge(drive, call)
        if isinstance(verdict, Refusal | FunctionResponse):
            try:
                await _refuse(drive, call, verdict, judged)
            except Moved:
                continue
            return True
        passed = verdict.passed
        if isinstance(verdict, Asks):
            drive.order.came(call.call.call_id)
            if await _asked(drive, call, verdict, stop, judged):
                return True
            continue
        spec = passed.entry.executor.spec
        if not breaking.enter(drive, call.call.call_id, spec, passed.arguments.value):
            continue  # somebody was quicker to try it
        claims = claims_of(drive, spec, passed.arguments.value)
        async with holding(drive, call.call.call_id, spec.name, claims, over) as held:
            if held is None:
                continue
            if held.waited:  # the world has moved on meanwhile: ask the gate again before anything happens
                judged = drive.state.outsider_seq
                verdict = await judge_call(drive, call, instead=verdict.instead)
                if not isinstance(verdict, Cleared) or drive.paused:
                    continue
                if claims_of(drive, verdict.passed.entry.executor.spec, verdict.passed.arguments.value) != claims:
                    continue
            try:
                await _attempt(drive, call, verdict, held, stop, judged)
            except Moved:  # an outsider said something since it was judged: judge again
                continue
            return True


async def _refuse(drive: Drive, call: CallState, refusal: Refusal | FunctionResponse, judged: int) -> None:
    response = fallback.refused(call, refusal, drive.parts) if isinstance(refusal, Refusal) else refusal
    await drive.append(response, *closing(drive, call.call.call_id), judged=judged)


async def _asked(drive: Drive, call: CallState, asks: Asks, stop: asyncio.Future[None], judged: int) -> bool:
    """Ask a person, having looked at the target, or refuse what can't work. False: judge again."""
    passed = asks.passed
    evidence = await look(passed.entry.executor, passed.arguments.text, stop)
    version: Version | Refusal | None = None
    if passed.entry.executor.spec.versioned and not isinstance(evidence, Refusal):
        version = await versions.look(drive, passed, stop)
    try:
        if not isinstance(evidence, Refusal):
            evidence = budgeting.too_many_waiting(drive, call.call.call_id) or evidence
        if isinstance(evidence, Refusal):
            await _refuse(drive, call, evidence, judged)
        elif isinstance(version, Refusal):
            await _refuse(drive, call, version, judged)
        else:
            again, edited, instead = asks.ask.again, asks.edited, asks.instead
            await ask(
                drive, call, passed, evidence, judged, again=again, edited=edited, instead=instead, version=version
            )
    except Moved:
        return False
    finally:
        budgeting.asked(drive, call.call.call_id)
    return True


async def _attempt(
    drive: Drive,
    call: CallState,
    cleared: Cleared,
    held: Held,
    stop: asyncio.Future[None],
    judged: int,
) -> None:
    passed, asked = cleared.passed, cleared.permitted.asked
    executor = passed.entry.executor
    evidence = await look(executor, passed.arguments.text, stop)
    if isinstance(evidence, Refusal):
        await _refuse(drive, call, evidence, judged)
        return
    version: Version | None = None
    if executor.spec.versioned:
        seen = await versions.look(drive, passed, stop)
        if isinstance(seen, Refusal):
            await _refuse(drive, call, seen, judged)
            return
        version = seen
    if cleared.permitted.approval and not await still(drive, call, cleared):
        raise Moved  # what it rested on has changed while the target was looked at: judge again
    again = changed(drive, call, passed, evidence, asked, version) if asked is not None else ()
    if again:
        edited, instead = call.edits, cleared.instead
        await ask(drive, call, passed, evidence, judged, again=again, edited=edited, instead=instead, version=version)
        return
    await must_be_audited(drive.parts)
    limit = deadline(drive, executor.spec)
    t1 = await _t1(drive, call, cleared, evidence, version, held, limit)
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
    work = _from_t1(drive, passed.entry, t1, limit, canon.parse(passed.arguments.text), stop, judged)
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

    def over() -> bool:
        return stop.done() or not drive.may_begin()

    async with holding(drive, dispatch.call_id, dispatch.tool, dispatch.claims, over) as held:
        if held is None:
            return
        limit = deadline(drive, entry.executor.spec)
        t1 = msgspec.structs.replace(
            dispatch,
            attempt=dispatch.attempt + 1,
            nonce=secrets.token_hex(8),
            tool_version=entry.executor.version,
            deadline=limit.at,
            waited_ms=held.waited_ms,
            waited_for=held.waited_for,
        )
        work = _from_t1(drive, entry, t1, limit, arguments, stop, judged, repeated=[*closing, *failed])
        await _shielded(work, stop)


async def _from_t1(
    drive: Drive,
    entry: Entry,
    t1: ToolDispatch,
    limit: Deadline,
    arguments: Mapping[str, Any],
    stop: asyncio.Future[None],
    judged: int,
    *,
    repeated: Sequence[WaitClosed | AttemptFailed] | None = None,
) -> None:
    """Commit T1, then go into the world; unless a stop came in that very moment."""
    failpoint.hit("dispatch.before")
    if stop.done() or not drive.may_begin():  # since it was judged: by a worker that ends, or a sibling that failed
        return
    await drive.append(*(repeated or ()), t1, judged=judged)
    failpoint.hit("dispatch.after")
    if not stop.done():
        await take_effect(drive, entry, t1, limit, arguments, stop, repeats=repeated is not None)
    elif repeated is None:  # of a repeated call the earlier attempt may have had its effect: the next run repeats it
        await drive.append(outcome.unstarted(t1))


async def _t1(
    drive: Drive,
    call: CallState,
    cleared: Cleared,
    evidence: Evidence | None,
    version: Version | None,
    held: Held,
    limit: Deadline,
) -> ToolDispatch:
    passed: Passed = cleared.passed
    spec = passed.entry.executor.spec
    digest = canon.digest(passed.arguments.text)
    earlier = call.dispatch
    if earlier is not None and earlier.arguments_digest == digest and earlier.tool == spec.name:
        key = earlier.idempotency_key  # copied once it exists, never derived again (RECO-06)
    else:
        # What stands in may be another way to the same service: it must not be taken for a repeat of what failed.
        made = call.call.call_id if cleared.instead is None else f"{call.call.call_id}\0{spec.name}"
        key = ids.idempotency_key(drive.parts.key, drive.session, made, digest)
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
        deadline=limit.at,
        quiet_ms=spec.quiet_ms,
        local_effect=spec.local_effect,
        client_owned=spec.client_owned,
        asks_user=spec.asks_user,
        background=spec.background,
        claims=held.claims,
        waited_ms=held.waited_ms,
        waited_for=held.waited_for,
        evidence=evidence,
        version=version,
        instead=cleared.instead,
        changed=passed.arguments.changed,
    )


async def _shielded(work: Coroutine[Any, Any, None], stop: asyncio.Future[None]) -> None:
    """Await work that must converge: a cancellation asks it to stop, waits for its record, then goes its way."""

    def ask_to_stop() -> None:
        if not stop.done():
            stop.set_result(None)

    await finished(asyncio.ensure_future(work), ask_to_stop)


def _interrupted(call: CallState) -> AttemptFailed:
    assert call.dispatch is not None
    return AttemptFailed(
        call_id=call.call.call_id,
        attempt=call.dispatch.attempt,
        nonce=call.dispatch.nonce,
        effect=Effect.UNKNOWN,
        code="interrupted",
    )
