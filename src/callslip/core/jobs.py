"""What the fold makes of a job in the background, and of a question to the user. Pure; ``core/fold`` calls it.

A job that was started is known by its handle, so its call can't be dispatched again before a person has said that the
job did not happen: whatever else becomes of it is asked for, or submitted.
"""

from __future__ import annotations

import msgspec

from callslip.core.broken import broken
from callslip.core.call import CallState
from callslip.core.event import Record
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.function_response import FunctionResponse
from callslip.core.result import Status
from callslip.core.state import SessionState
from callslip.core.wait import WaitKind


def started(state: SessionState, call: CallState, event: BackgroundStarted, seq: int) -> None:
    assert call.dispatch is not None
    if not call.dispatch.background:
        raise broken(seq, f"{event.call_id} was not dispatched as a job")
    if call.job is not None or not call.unconcluded:
        raise broken(seq, f"the job of {event.call_id} is started once, and not after its attempt was concluded")
    _check_wait(state, event.call_id, event.wait_id, seq)
    call.job, call.parked = event, None


def polled(state: SessionState, call: CallState, event: BackgroundPolled, seq: int) -> None:
    if call.job is None or call.resolved is not None:
        raise broken(seq, f"{event.call_id} has no job that could be asked after")
    _check_wait(state, event.call_id, event.wait_id, seq)
    state.waits[event.wait_id] = msgspec.structs.replace(state.waits[event.wait_id], wake_at=event.wake_at)
    call.polled, call.parked = event, None
    call.polls += 1


def check_no_job(call: CallState, seq: int) -> None:
    """An attempt that has started a job does not fail: the job is asked after."""
    if call.job is not None:
        raise broken(seq, f"an attempt of {call.call.call_id} fails whose job is known")


def check_words(call: CallState, event: FunctionResponse, record: Record, seq: int) -> None:
    """The user's own words come from the user, and nothing else passes for the answer to a question."""
    asked = call.dispatch is not None and call.dispatch.asks_user
    question = asked and event.lane == "settled" and event.resolved is None
    outside = record.epoch == 0
    if event.from_user and not (question and outside and event.status is Status.SUCCESS):
        raise broken(seq, f"words are put into the user's mouth as the result of {event.call_id}")
    if question and not event.from_user and (outside or event.status is Status.SUCCESS):
        raise broken(seq, f"{event.call_id} asked the user, and something else answers it")


def _check_wait(state: SessionState, call_id: str, wait_id: str, seq: int) -> None:
    wait = state.waits.get(wait_id)
    if wait is None or wait.kind is not WaitKind.BACKGROUND or wait.call_id != call_id:
        raise broken(seq, f"nobody waits for the job of {call_id} in {wait_id}")
