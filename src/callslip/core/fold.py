"""Fold the log into what is known: one event at a time, refusing what can't be true.

Pure. ``apply`` changes the state it is given and nothing else; an event that contradicts the log raises
:class:`LogBroken` naming it, and the session is closed to any further effect (LEDG-06).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from callslip.core import asking, attempts, counting, sealing, stepping, undoing
from callslip.core.broken import broken
from callslip.core.call import Driver
from callslip.core.event import Draft, Event, Record, Stored, from_outside, genesis
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.context_compacted import ContextCompacted
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_forked import SessionForked
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.state import Answered, CompactedItem, QueuedMessage, SessionState
from callslip.core.wait import WaitKind
from callslip.errors import LogBroken, Sealed

CALLER = counting.CALLER
"""The model name of a dispatcher's steps, whose turns Callslip does not know."""

_ANSWERED = 200

_AFTER_SEAL = (SessionImported, BlobErased)


_TOUCHES_ALL = frozenset({RunStarted, SessionImported, StopRequested})
"""Events that may change any call."""
_BEGINS = frozenset({SessionStarted, RunStarted})
"""Events that come before a run is open."""


def empty(session: str) -> SessionState:
    """The state before the first event."""
    return SessionState(session=session, digest=genesis(session))


def fold(session: str, log: Iterable[Stored]) -> SessionState:
    """The state after a whole log."""
    state = empty(session)
    for stored in log:
        apply(state, stored)
    return state


def apply(state: SessionState, stored: Stored, *, counted: bool = True) -> None:
    """Take one more event into the state. ``counted``: also into what was used and repeated so far.

    Raises:
        LogBroken: the event is out of order, of unknown origin, or contradicts what came before.
    """
    record = stored.record
    if stored.seq != state.seq + 1:
        raise LogBroken(f"Event {stored.seq} follows event {state.seq}: the log has a hole.", seq=stored.seq)
    if not state.seq and not isinstance(record.event, SessionStarted):
        raise broken(stored.seq, "the log does not begin with session_started")
    if state.sealed is not None and not isinstance(record.event, _AFTER_SEAL):
        raise broken(stored.seq, f"{_name(record.event)} follows after the session was sealed")
    if record.epoch == 0:
        _check_outsider(state, stored)
        state.outsider_seq = stored.seq
    else:
        _check_owner(state, stored)
    _RULES[type(record.event)](state, record.event, record, stored.seq)
    if counted:
        counting.count(state, stored)
    state.seq = stored.seq
    state.digest = stored.digest


def rehearse(state: SessionState, drafts: Sequence[Draft]) -> None:
    """Try drafts on a copy of what they can touch, so that nothing is ever written that could not be read back.

    Raises:
        LogBroken: the log with these drafts could not be true. Sealed: the session has left.
    """
    if state.sealed is not None and drafts and not isinstance(drafts[0].record.event, _AFTER_SEAL):
        raise moved_away(state)
    trial = copy.copy(state)
    trial.calls = dict(state.calls)
    for call_id in _touched(state, drafts):
        trial.calls[call_id] = copy.copy(state.calls[call_id])
    trial.steps = {}
    if state.step is not None:
        trial.step = copy.copy(state.step)
        trial.step.calls = list(trial.step.calls)
        trial.steps[trial.step.step] = state.steps.get(trial.step.step, (0, 0))
    trial.items, trial.succeeded = [], set()
    trial.waits, trial.wait_opened_at = dict(state.waits), dict(state.wait_opened_at)
    trial.answered = dict(state.answered)
    trial.queued = list(state.queued)
    trial.undone = dict(state.undone)
    for seq, one in enumerate(drafts, start=state.seq + 1):
        if type(one.record.event) is ApprovalRequested:
            trial.asked_ids = set(trial.asked_ids)
        apply(trial, Stored(seq=seq, digest=b"", record=one.record), counted=False)


def _touched(state: SessionState, drafts: Sequence[Draft]) -> set[str]:
    """The calls that applying these drafts would change."""
    touched: set[str] = set()
    for one in drafts:
        event = one.record.event
        if type(event) in _TOUCHES_ALL:
            return set(state.calls)
        call_id = getattr(event, "call_id", None)
        if call_id in state.calls:
            touched.add(call_id)
    return touched


def _check_owner(state: SessionState, stored: Stored) -> None:
    """An owner writes under the epoch of its run, from its beginning to its end."""
    record = stored.record
    if record.epoch < state.epoch:
        raise broken(stored.seq, f"it was written under epoch {record.epoch} after epoch {state.epoch} began")
    if type(record.event) in _BEGINS:
        return
    if record.epoch != state.epoch or not state.run_open:
        raise broken(stored.seq, f"no run is open under epoch {record.epoch}")


def _check_outsider(state: SessionState, stored: Stored) -> None:
    event = stored.record.event
    if not from_outside(event):
        raise broken(stored.seq, f"an outsider may not append {_name(event)}")
    if isinstance(event, FunctionResponse):
        call = state.calls.get(event.call_id)
        owned = call is not None and call.dispatch is not None and call.dispatch.client_owned
        if not owned and (call is None or call.job is None):
            raise broken(stored.seq, f"an outsider answered {event.call_id}, which no client owns")


def _session_started(state: SessionState, event: SessionStarted, record: Record, seq: int) -> None:
    if state.seq:
        raise broken(seq, "a session starts once")
    state.workspace = event.workspace
    state.started = event


def _run_started(state: SessionState, event: RunStarted, record: Record, seq: int) -> None:
    if state.turn_from and not state.run_open:  # after a crash the time goes on counting
        stopped = state.last_status == "stopped"
        state.turn_from = record.at if stopped else state.turn_from + max(record.at - state.ended_at, 0)
    state.run = record.run
    state.run_open = True
    state.epoch = record.epoch
    state.marker = event.marker
    state.stop = state.stop and (state.turn_open or bool(state.queued))
    _rests_on(state, event.trust_seq, event.trust_digest)
    if event.workspace is not None:
        state.workspace, state.workspace_accepted = event.workspace, None
    for call in state.calls.values():
        made_by = call.dispatched_by
        if (
            call.response is None
            and call.ended_seen_at is None
            and made_by is not None
            and made_by.owner in event.ended
        ):
            call.ended_seen_at = record.at
            call.ended_how = event.ended[made_by.owner]
    state.driver = Driver(owner=event.owner, host=event.host, boot=event.boot, process=event.process)


def _rests_on(state: SessionState, trust_seq: int, trust_digest: str) -> None:
    if trust_seq > state.trust_seq:
        state.trust_seq, state.trust_digest = trust_seq, trust_digest


def _run_ended(state: SessionState, event: RunEnded, record: Record, seq: int) -> None:
    state.run_open = False
    state.last_status, state.ended_at = event.status, record.at
    if event.status == "failed":  # whoever resumes by hand begins to count anew
        state.model_failed = None
    # A run that a budget stopped leaves its turn open: the next one goes on with it.
    if event.status == "finished" or (event.status == "stopped" and state.stop):
        state.turn_open = state.stop = False


def _context_compacted(state: SessionState, event: ContextCompacted, record: Record, seq: int) -> None:
    if event.keep < 0:
        raise broken(seq, "it keeps less than nothing of the conversation")
    state.items.append(CompactedItem(summary=event.summary, keep=event.keep))


def _session_forked(state: SessionState, event: SessionForked, record: Record, seq: int) -> None:
    if state.forked is not None or state.turn or state.items or state.calls:
        raise broken(seq, "a session is forked before anything is said in it, and once")
    if event.parent == state.session or event.seq < 1:
        raise broken(seq, f"it goes on from record {event.seq} of session {event.parent!r}, which can't be")
    state.forked = event
    state.activated = {tool.name: tool.version for tool in event.activated}


def _user_message(state: SessionState, event: UserMessage, record: Record, seq: int) -> None:
    state.queued.append(QueuedMessage(seq=seq, text=event.text, steer=event.steer))


def _approval_requested(state: SessionState, event: ApprovalRequested, record: Record, seq: int) -> None:
    asking.requested(state, attempts.open_call(state, event.call_id, seq), event, seq)
    _rests_on(state, event.trust_seq, event.trust_digest)


def _approval_decided(state: SessionState, event: ApprovalDecided, record: Record, seq: int) -> None:
    asking.decided(state, attempts.open_call(state, event.call_id, seq), event, seq)


def _approval_expired(state: SessionState, event: ApprovalExpired, record: Record, seq: int) -> None:
    asking.expired(state, attempts.open_call(state, event.call_id, seq), event, seq)


def _wait_opened(state: SessionState, event: WaitOpened, record: Record, seq: int) -> None:
    if event.wait_id in state.waits:
        raise broken(seq, f"wait {event.wait_id} is open already")
    if event.call_id is not None:
        attempts.open_call(state, event.call_id, seq)
    state.waits[event.wait_id] = event
    state.wait_opened_at[event.wait_id] = record.at


def _wait_closed(state: SessionState, event: WaitClosed, record: Record, seq: int) -> None:
    wait = state.waits.pop(event.wait_id, None)
    if wait is None:
        raise broken(seq, f"wait {event.wait_id} is not open")
    state.wait_opened_at.pop(event.wait_id)
    if record.epoch == 0 and not _answered(state, wait):
        raise broken(seq, f"wait {event.wait_id} is closed from outside, and nobody has answered it")
    state.answered[event.wait_id] = Answered(how=event.how, actor=event.actor, at=record.at, seq=seq)
    if len(state.answered) > _ANSWERED:
        del state.answered[next(iter(state.answered))]
    if wait.kind is WaitKind.WORKSPACE and event.how == "accepted":
        state.workspace_accepted = event
    if wait.kind is WaitKind.COPY and event.how == "accepted":
        state.copy_accepted = event


def _answered(state: SessionState, wait: WaitOpened) -> bool:
    """Whether what the wait was for is there: an outsider closes a wait only together with its answer."""
    call = state.calls.get(wait.call_id or "")
    if call is None:
        return True
    if wait.kind is WaitKind.APPROVAL:
        return not call.pending
    if wait.kind is WaitKind.PARKED:
        return call.resolved is not None
    return call.response is not None or wait.kind is WaitKind.TIME


def _stop_requested(state: SessionState, event: StopRequested, record: Record, seq: int) -> None:
    if event.unread:
        if not only_unread(state):
            raise broken(seq, "it takes back what nobody has read, and something else is open")
        state.queued = []
        return
    state.stop = True
    for call in state.open_calls():
        call.withdrawn = True


def only_unread(state: SessionState) -> bool:
    """Whether nothing is open but messages that no request has read, nor is just reading."""
    return bool(state.queued) and not (state.run_open or state.turn_open or state.open_calls())


def _revert_started(state: SessionState, event: RevertStarted, record: Record, seq: int) -> None:
    undoing.started(state, event, seq)


def moved_away(state: SessionState) -> Sealed:
    """What is told to whoever wants to add to a session that has left."""
    sealed = state.sealed
    assert sealed is not None
    where = f" and went to {sealed.destination}" if sealed.destination else ""
    return Sealed(
        f"Session {state.session!r} was sealed by {sealed.actor}{where}: {sealed.reason or 'no reason given'}. Nothing "
        "was written. It goes on where it was taken in; here it can only be read, exported and erased."
    )


def _name(event: Event) -> str:
    return str(event.__struct_config__.tag)


_RULES: dict[type[Any], Callable[[SessionState, Any, Record, int], None]] = {
    SessionStarted: _session_started,
    RunStarted: _run_started,
    RunEnded: _run_ended,
    UserMessage: _user_message,
    ContextCompacted: _context_compacted,
    SessionForked: _session_forked,
    ModelRequested: stepping.model_requested,
    ModelReplied: stepping.model_replied,
    ModelFailed: stepping.model_failed,
    FunctionCall: stepping.function_call,
    ApprovalRequested: _approval_requested,
    ApprovalDecided: _approval_decided,
    ApprovalExpired: _approval_expired,
    ToolDispatch: attempts.tool_dispatch,
    BackgroundStarted: attempts.background_started,
    BackgroundPolled: attempts.background_polled,
    AttemptFailed: attempts.attempt_failed,
    FunctionResponse: attempts.function_response,
    BreakerOpened: attempts.breaker_opened,
    LateOutcome: attempts.late_outcome,
    CallParked: attempts.call_parked,
    CallResolved: attempts.call_resolved,
    WaitOpened: _wait_opened,
    WaitClosed: _wait_closed,
    StopRequested: _stop_requested,
    RevertStarted: _revert_started,
    SessionSealed: sealing.session_sealed,
    SessionImported: sealing.session_imported,
    BlobErased: sealing.blob_erased,
}
