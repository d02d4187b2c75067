"""Fold what becomes of a call: its attempts, its job, its answer. Pure; used by ``core/fold`` alone."""

from __future__ import annotations

from callslip.core import asking, jobs, stepping, undoing
from callslip.core.broken import broken
from callslip.core.call import CallState
from callslip.core.event import Record
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.instead import CACHE
from callslip.core.result import Effect, Status
from callslip.core.state import SessionState

HERE = "here"
"""How an attempt ended that its own process saw end."""


def tool_dispatch(state: SessionState, event: ToolDispatch, record: Record, seq: int) -> None:
    call = open_call(state, event.call_id, seq)
    if call.dispatch is None and not call.marker and call.resolved is None:
        raise broken(seq, f"{event.call_id} was proposed in a run without the marker and no verdict allows it")
    if call.resolved is not None and call.resolved.verdict != "did_not_happen":
        raise broken(seq, f"{event.call_id} is dispatched against the verdict {call.resolved.verdict}")
    if call.unconcluded and not _may_repeat(call):
        raise broken(seq, f"{event.call_id} is dispatched again while its earlier attempt is unconcluded")
    if event.attempt != call.attempts + 1:
        raise broken(seq, f"attempt {event.attempt} of {event.call_id} follows attempt {call.attempts}")
    _check_key(call, event, seq)
    _check_instead(call, event, seq)
    asking.check_dispatch(state, call, event, seq)
    if call.dispatch is not None and call.dispatch.tool != event.tool:  # it has had no attempts of its own
        call.tried, call.first_failed_at = 0, None
    repeats = call.failed is not None and call.failed.effect is Effect.UNKNOWN and call.resolved is None
    call.unclear = (*call.unclear, call.attempts) if repeats else ()
    call.dispatch, call.dispatch_epoch, call.dispatched_by = event, record.epoch, state.driver
    call.failed = call.parked = call.resolved = call.resolved_seq = None
    call.tried += 1
    call.job, call.polled, call.polls = None, None, 0
    call.ended_seen_at, call.ended_how = None, ""
    call.dispatched_at = record.at


def _check_key(call: CallState, event: ToolDispatch, seq: int) -> None:
    """The key stays, unless a person has changed the arguments, or another tool stands in, after it was ruled out that
    the call happened. So does the version that is changed.
    """
    before = call.dispatch
    if before is not None and before.version != event.version and call.unconcluded:
        raise broken(seq, f"attempt {event.attempt} of {event.call_id} repeats another for another version")
    if before is None or before.idempotency_key == event.idempotency_key:
        return
    if event.instead is not None and before.instead is None and not call.unconcluded:
        return
    if before.arguments_digest == event.arguments_digest or call.unconcluded:
        raise broken(seq, f"attempt {event.attempt} of {event.call_id} has another idempotency key")


def _check_instead(call: CallState, event: ToolDispatch, seq: int) -> None:
    """What stands in is named, has nobody standing in for it, and comes after whatever was tried had no effect."""
    if event.instead is not None and event.instead.tool != event.tool:
        raise broken(seq, f"{event.call_id} is dispatched to {event.tool} where {event.instead.tool} stands in")
    said = call.instead
    if said is not None and event.instead != said:
        raise broken(seq, f"{said.tool} stands in for {event.call_id}, and {event.tool} is dispatched")
    if event.instead is not None and said is None and call.unconcluded:
        raise broken(seq, f"{event.tool} stands in for {event.call_id} while an attempt of it is unconcluded")


def _may_repeat(call: CallState) -> bool:
    """An attempt that ended with unknown effect may be followed by another only where that was declared safe."""
    return call.failed is not None and call.dispatch is not None and call.dispatch.recovery == "idempotent"


def attempt_failed(state: SessionState, event: AttemptFailed, record: Record, seq: int) -> None:
    call = open_call(state, event.call_id, seq)
    _check_nonce(call, event.attempt, event.nonce, seq)
    jobs.check_no_job(call, seq)
    if event.instead is not None and (event.effect is not Effect.NONE or call.instead is not None):
        raise broken(seq, f"{event.instead.tool} is to stand in for {event.call_id}, which can't be")
    call.failed = event
    if call.first_failed_at is None:
        call.first_failed_at = record.at
    if event.ended:
        call.ended_seen_at, call.ended_how = record.at, HERE


def background_started(state: SessionState, event: BackgroundStarted, record: Record, seq: int) -> None:
    call = open_call(state, event.call_id, seq)
    _check_nonce(call, event.attempt, event.nonce, seq)
    jobs.started(state, call, event, seq)


def background_polled(state: SessionState, event: BackgroundPolled, record: Record, seq: int) -> None:
    call = open_call(state, event.call_id, seq)
    _check_nonce(call, event.attempt, event.nonce, seq)
    jobs.polled(state, call, event, seq)


def function_response(state: SessionState, event: FunctionResponse, record: Record, seq: int) -> None:
    call = open_call(state, event.call_id, seq)
    if event.lane == "refused":
        if call.unconcluded:
            raise broken(seq, f"{event.call_id} is refused while a dispatch of it is unconcluded")
        if event.status is Status.SUCCESS and event.fallback is None:
            raise broken(seq, f"{event.call_id} succeeded without having been dispatched")
    elif event.resolved is not None:
        if event.resolved != call.resolved_seq:
            raise broken(seq, f"{event.call_id} is settled by a verdict at {event.resolved} that is not there")
    else:
        if event.attempt is None or event.nonce is None:
            raise broken(seq, f"{event.call_id} is settled without naming a dispatch")
        _check_nonce(call, event.attempt, event.nonce, seq)
    if event.status is Status.PENDING_APPROVAL:
        raise broken(seq, "pending_approval is an answer to a caller, never an event")
    jobs.check_words(call, event, record, seq)
    if event.activated:
        if event.attempt is None or event.status is not Status.SUCCESS or record.epoch == 0:
            raise broken(seq, f"{event.call_id} made tools visible without having found them")
        again = {tool.name: tool.version for tool in event.activated}
        before = {name: version for name, version in state.activated.items() if name not in again}
        state.activated = before | again  # one that is found again is the latest
    call.response, call.from_outside = event, record.epoch == 0
    cached = event.fallback is not None and event.fallback.source == CACHE
    if event.status is Status.SUCCESS and call.dispatch is not None and not cached:
        state.succeeded.add(call.dispatch.tool)
    if call.call.undoes:
        undoing.concluded(state, call, event)
    stepping.close_step(state, seq)


def breaker_opened(state: SessionState, event: BreakerOpened, record: Record, seq: int) -> None:
    open_call(state, event.call_id, seq)


def late_outcome(state: SessionState, event: LateOutcome, record: Record, seq: int) -> None:
    call = state.calls.get(event.call_id)
    if call is not None:
        call.late += 1


def call_parked(state: SessionState, event: CallParked, record: Record, seq: int) -> None:
    call = open_call(state, event.call_id, seq)
    call.parked, call.resolved, call.resolved_seq = event, None, None


def call_resolved(state: SessionState, event: CallResolved, record: Record, seq: int) -> None:
    call = open_call(state, event.call_id, seq)
    if call.parked is None or call.resolved is not None:
        raise broken(seq, f"{event.call_id} waits for no verdict")
    if event.wait_id and (event.wait_id not in state.waits or state.waits[event.wait_id].call_id != event.call_id):
        raise broken(seq, f"its verdict on {event.call_id} answers {event.wait_id}, which is not open")
    call.resolved, call.resolved_seq = event, seq
    if event.verdict == "did_not_happen":  # the approval was used up by the attempt that did not happen
        call.tried, call.first_failed_at = 0, None
        asking.used_up(call)


def open_call(state: SessionState, call_id: str, seq: int) -> CallState:
    call = state.calls.get(call_id)
    if call is None:
        raise broken(seq, f"it names {call_id}, which was not proposed in an open step")
    if call.response is not None:
        raise broken(seq, f"{call_id} has its response already")
    return call


def _check_nonce(call: CallState, attempt: int, nonce: str, seq: int) -> None:
    dispatch = call.dispatch
    if dispatch is None or dispatch.attempt != attempt or dispatch.nonce != nonce:
        raise broken(seq, f"it names attempt {attempt} of {call.call.call_id}, which was not dispatched")
