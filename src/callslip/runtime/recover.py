"""Act on what the crash table concludes: ask, compare, settle, park. It appends what it concludes and edits nothing."""

from __future__ import annotations

import anyio
import msgspec

from callslip import failpoint
from callslip.core import crash, ids
from callslip.core.call import CallState
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.call_parked import CallParked
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.result import Effect, Status
from callslip.core.retry import Over, again_at
from callslip.core.wait import WaitKind
from callslip.ports.executor import ProbeAnswer
from callslip.runtime import fallback, outcome, payloads
from callslip.runtime.background import started
from callslip.runtime.closing import closing
from callslip.runtime.drive import Drive
from callslip.runtime.effect import context_for
from callslip.runtime.holds import recorded

GONE = crash.Park(code="tool_gone", reason="its tool is gone or has changed, so nobody can say whether it happened")


async def can_act(drive: Drive, call: CallState) -> bool:
    """Whether today's tool can still speak for the recorded dispatch."""
    _, entry, _ = await recorded(drive, call)
    return entry is not None


async def ask_probe(drive: Drive, call: CallState, judged: int) -> crash.Conclusion:
    """Ask, and settle if it happened. A probe that raises, hangs or can't tell parks the call."""
    dispatch, entry, arguments = await recorded(drive, call)
    if entry is None:
        return GONE
    failpoint.hit("recover.before")
    answer = ProbeAnswer(happened=None)
    why = "the tool's probe could not tell whether it happened"
    try:
        with anyio.fail_after(entry.executor.spec.timeout_ms / 1000):
            answer = await entry.executor.probe(arguments, context_for(drive, dispatch))
    except BaseException as error:
        if drive.cancelling():
            raise
        # The tool author's code failed, or cancelled itself: no answer is no answer.
        why = f"the tool's probe failed ({type(error).__name__})"
    conclusion = crash.after_probe(happened=answer.happened)
    if isinstance(conclusion, crash.Park):
        return msgspec.structs.replace(conclusion, reason=why)
    if isinstance(conclusion, crash.Reuse) and dispatch.background:  # what the probe found is the job
        events = await started(drive, entry.executor.spec, dispatch, answer.result)
        if isinstance(events[0], AttemptFailed):
            return crash.Park(code="probe_failed", reason="the handle that the tool's probe found can't be kept")
        await drive.append(*closing(drive, call.call.call_id), *events, judged=judged)
        return conclusion
    if isinstance(conclusion, crash.Reuse):
        response = await outcome.success(drive.parts, dispatch, answer.result, output=entry.output)
        await _answer(
            drive, call, msgspec.structs.replace(response, notes=(*response.notes, "settled by its probe")), judged
        )
        return conclusion
    await _nothing_happened(drive, call, judged)
    return crash.GateAgain()


async def compare_evidence(drive: Drive, call: CallState, judged: int) -> crash.Conclusion:
    """Take the target's digest now, and settle if it is as the effect would have left it."""
    dispatch, entry, _ = await recorded(drive, call)
    if entry is None:
        return GONE
    assert dispatch.evidence is not None
    failpoint.hit("recover.before")
    try:
        with anyio.fail_after(entry.executor.spec.timeout_ms / 1000):
            now = await entry.executor.digest(dispatch.evidence.target)
    except BaseException as error:
        if drive.cancelling():
            raise
        return crash.Park(code="evidence_differs", reason=f"its target can't be read ({type(error).__name__})")
    conclusion = crash.after_evidence(call, now)
    if isinstance(conclusion, crash.Reuse):
        value = {"settled_by": "evidence", "target": dispatch.evidence.target, "sha256": now}
        response = await outcome.success(drive.parts, dispatch, value)
        await _answer(drive, call, msgspec.structs.replace(response, notes=("settled by its evidence",)), judged)
    elif isinstance(conclusion, crash.Again):
        await _nothing_happened(drive, call, judged)
        return crash.GateAgain()
    return conclusion


async def settle(drive: Drive, call: CallState, conclusion: crash.Settle, judged: int) -> None:
    """Answer a call that only reads, whose outcome was lost."""
    assert call.dispatch is not None
    message = {
        "timeout": "The call did not end within its time limit, and its result was lost.",
        "attempts_exhausted": "The call was attempted several times and never ended with an answer.",
    }.get(conclusion.code, "The process that ran the call ended before its result was recorded.")
    if call.failed is not None and conclusion.code == "interrupted":
        message = f"The call failed ({call.failed.code})."
    await _answer(
        drive,
        call,
        FunctionResponse(
            call_id=call.call.call_id,
            lane="settled",
            status=conclusion.status,
            effect=conclusion.effect,
            error_code=conclusion.code,
            error_message=message + " It only reads, so it may be called again.",
            retryable=True,
            attempt=call.dispatch.attempt,
            nonce=call.dispatch.nonce,
        ),
        judged,
    )


async def give_up(drive: Drive, call: CallState, judged: int, why: str = "") -> None:
    """Answer a call that is not tried again, with what its latest attempt failed with."""
    assert call.dispatch is not None
    assert call.failed is not None
    said = why or ("" if call.failed.last else Over(why="attempts").said(call.tried))
    await _answer(drive, call, outcome.given_up(call.dispatch, call.failed, said), judged)


async def settle_by_verdict(drive: Drive, call: CallState, judged: int) -> None:
    """Answer a call by what its operator said: it happened, or nobody will ever know."""
    resolved = call.resolved
    assert resolved is not None
    if resolved.verdict == "happened":
        response = FunctionResponse(
            call_id=call.call.call_id,
            lane="settled",
            status=Status.SUCCESS,
            effect=Effect.DONE,
            structured=resolved.result or await payloads.store(drive.parts.blobs, b"null"),
            summary="An operator confirmed that this call took effect.",
            resolved=call.resolved_seq,
        )
    else:
        response = FunctionResponse(
            call_id=call.call.call_id,
            lane="settled",
            status=Status.FATAL_ERROR,
            effect=Effect.UNKNOWN,
            error_code="abandoned",
            error_message="It is not known whether this call took effect, and an operator has given it up. "
            "Don't assume either; tell the user.",
            resolved=call.resolved_seq,
        )
    await _answer(drive, call, response, judged)


async def park(drive: Drive, call: CallState, conclusion: crash.Park) -> None:
    """Leave the call to a person, and make that visible."""
    if call.parked is not None and call.resolved is None:
        return
    parked = CallParked(
        call_id=call.call.call_id, code=conclusion.code, reason=conclusion.reason, attempt=call.attempts or None
    )
    wait = WaitOpened(
        wait_id=ids.wait_id("wait", drive.session),
        kind=WaitKind.PARKED,
        reason=conclusion.reason,
        call_id=call.call.call_id,
    )
    await drive.append(*closing(drive, call.call.call_id), parked, wait)


async def _answer(drive: Drive, call: CallState, response: FunctionResponse, judged: int) -> None:
    if call.dispatch is not None:  # what stands in says so, also where this was found out afterwards
        response = fallback.told(response, call.dispatch)
    await drive.append(response, *closing(drive, call.call.call_id), judged=judged)


async def _nothing_happened(drive: Drive, call: CallState, judged: int) -> None:
    """Record that the attempt did not happen; the gate then decides anew, after a pause if it had failed here."""
    assert call.dispatch is not None
    failed = AttemptFailed(
        call_id=call.call.call_id,
        attempt=call.dispatch.attempt,
        nonce=call.dispatch.nonce,
        effect=Effect.NONE,
        code="did_not_happen",
    )
    if call.failed is not None:
        failed = _as_failed(drive, call, call.failed, failed)
    await drive.append(failed, *closing(drive, call.call.call_id), judged=judged)


def _as_failed(drive: Drive, call: CallState, before: AttemptFailed, failed: AttemptFailed) -> AttemptFailed:
    """With what the attempt had failed with, and when it is made again."""
    now = drive.parts.clock.now()
    again = None
    if before.transient is not False:
        began = call.first_failed_at or now
        draw = drive.parts.draw()
        again = again_at(
            drive.parts.limits.retry,
            tried=call.tried,
            began=began,
            now=now,
            asked=None,
            draw=draw,
            left=drive.time_left(),
        )
        if isinstance(again, int):
            drive.will_pause(call.call.call_id, again, now=now)
    return msgspec.structs.replace(
        failed,
        transient=before.transient,
        retry_at=again if isinstance(again, int) else None,
        last=not isinstance(again, int),
        layer=before.layer,
        status=before.status,
        message=before.message,
        internal=before.internal,
    )
