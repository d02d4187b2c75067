"""Whether a session that was killed, and recovered, came out as the crash table says: from the log and the world alone.

Pure, and written without ``core/crash``: a fault there must not hide itself here. What is checked: the log is whole
and nothing acknowledged is missing from it; no effect without its T1, none twice that was not declared safe; no result
without its effect; at every takeover, each open call was concluded as the table says; and all came to an end.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from callslip.core import canon, fold
from callslip.core.counting import SEARCH
from callslip.core.event import Event, Record, Stored
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.user_message import UserMessage
from callslip.core.result import Effect, Status
from callslip.core.tool import Recovery, Risk
from callslip.errors import LogBroken
from callslip.testing.effects import Arrival

_MOST_ATTEMPTS = 5
MUST_BE_APPROVED = "approved"
"""A tool of this name must have an approval for each dispatch."""
_OF_CALLS = (
    FunctionCall, ToolDispatch, BackgroundStarted, BackgroundPolled, AttemptFailed, FunctionResponse, CallParked,
    CallResolved,
)  # fmt: skip
Steps = list[tuple[int, Event]]
T = TypeVar("T")


class Findings(msgspec.Struct, kw_only=True):
    """What came of one session."""

    faults: list[str] = []
    conclusions: Counter[str] = msgspec.field(default_factory=Counter)
    """How open calls were concluded at takeovers."""


def fingerprint(record: Record) -> str:
    """What a process notes of each record that it knows to be durable."""
    return hashlib.sha256(msgspec.json.encode(record)).hexdigest()[:16]


def examine(session: str, log: Sequence[Stored], arrivals: Sequence[Arrival], known: Mapping[int, str]) -> Findings:
    """Everything that is wrong with the session, in sentences.

    ``known`` holds what the killed processes knew to be durable: position and fingerprint.
    """
    findings = Findings()
    try:
        state = fold.fold(session, log)
    except LogBroken as error:
        findings.faults.append(f"the log contradicts itself: {error}")
        return findings
    texts = {stored.seq: fingerprint(stored.record) for stored in log}
    findings.faults += [f"record {seq} was known and is lost" for seq, text in known.items() if texts.get(seq) != text]
    if sum(isinstance(stored.record.event, UserMessage) for stored in log) != 1:
        findings.faults.append("the user's words are not there exactly once")
    last = log[-1].record.event if log else None
    if not isinstance(last, RunEnded) or last.status != "finished" or state.open_calls() or state.waits:
        findings.faults.append("the session did not come to its end")
    calls = _by_call(log)
    findings.faults += _effects(calls, arrivals)
    findings.faults += _approvals(log)
    if any(isinstance(stored.record.event, RevertStarted) for stored in log):
        findings.faults += _undone(calls, arrivals)
    taken = {(arrival.key, arrival.attempt) for arrival in arrivals}
    for position in _takeovers(log):
        for call_id, steps in calls.items():
            _conclusion(findings, call_id, steps, position, taken)
    return findings


def _by_call(log: Sequence[Stored]) -> dict[str, Steps]:
    calls: dict[str, Steps] = {}
    for stored in log:
        event = stored.record.event
        if isinstance(event, _OF_CALLS):
            calls.setdefault(event.call_id, []).append((stored.seq, event))
    return calls


def _takeovers(log: Sequence[Stored]) -> list[int]:
    """Where a run began after one that never ended."""
    found, running = [], False
    for stored in log:
        event = stored.record.event
        if isinstance(event, RunStarted):
            if running:
                found.append(stored.seq)
            running = True
        elif isinstance(event, RunEnded):
            running = False
    return found


def _effects(calls: Mapping[str, Steps], arrivals: Sequence[Arrival]) -> list[str]:
    faults = []
    dispatches = {
        (event.idempotency_key, event.attempt): event
        for steps in calls.values() for _, event in steps if isinstance(event, ToolDispatch)
    }  # fmt: skip
    counts = Counter((arrival.key, arrival.attempt) for arrival in arrivals)
    for mark, count in counts.items():
        if mark not in dispatches:
            faults.append(f"an effect of attempt {mark[1]} without its T1")
        elif count > 1:
            faults.append(f"{dispatches[mark].tool}: attempt {mark[1]} took effect {count} times")
    keys = Counter(arrival.key for arrival in arrivals)
    for (key, _), dispatch in dispatches.items():
        if keys[key] > 1 and dispatch.recovery is not Recovery.IDEMPOTENT:
            faults.append(f"{dispatch.tool} ({dispatch.recovery}) took effect {keys[key]} times: an undeclared repeat")
    for steps in calls.values():
        faults += _answer(steps, counts)
    return faults


def _approvals(log: Sequence[Stored]) -> list[str]:
    """What a person must approve took effect only on an approval given before, of these very arguments, and no
    approval served two calls.
    """
    faults: list[str] = []
    shown: dict[str, str] = {}
    approved: dict[str, str] = {}
    used: dict[str, str] = {}
    for stored in log:
        event = stored.record.event
        if isinstance(event, ApprovalRequested):
            shown[event.approval_id] = event.arguments_digest
        elif isinstance(event, ApprovalDecided) and event.decision == "approved":
            edited = event.edited
            digest = shown[event.approval_id] if edited is None else canon.digest(bytes(edited.text))
            approved[event.approval_id] = digest
        elif isinstance(event, ToolDispatch) and event.approval:
            if approved.get(event.approval) != event.arguments_digest:
                faults.append(f"{event.tool} was dispatched on {event.approval}, which does not approve it")
            if used.setdefault(event.approval, event.call_id) != event.call_id:
                faults.append(f"{event.approval} served two calls")
        elif isinstance(event, ToolDispatch) and event.tool == MUST_BE_APPROVED:
            faults.append(f"{event.tool} was dispatched without an approval")
    return faults


def _undone(calls: Mapping[str, Steps], arrivals: Sequence[Arrival]) -> list[str]:
    """Each call that took effect was undone, and no call twice, whichever calls undid it."""
    keys: dict[str, set[str]] = {}
    effective: list[str] = []
    for call_id, steps in calls.items():
        proposed, response = _last(steps, FunctionCall), _last(steps, FunctionResponse)
        if proposed is not None and proposed.undoes:
            dispatches = [event for _, event in steps if isinstance(event, ToolDispatch)]
            keys.setdefault(proposed.undoes, set()).update(event.idempotency_key for event in dispatches)
        elif response is not None and response.effect is Effect.DONE:
            effective.append(call_id)
    counts = Counter(arrival.key for arrival in arrivals)
    times = {call_id: sum(counts[key] for key in keys.get(call_id, ())) for call_id in effective}
    return [f"{call_id} was undone {many} times" for call_id, many in times.items() if many != 1]


def _answer(steps: Steps, counts: Mapping[tuple[str, int], int]) -> list[str]:
    dispatch = _last(steps, ToolDispatch)
    response = _last(steps, FunctionResponse)
    if response is None or dispatch is None or dispatch.client_owned or response.resolved is not None:
        return []
    if dispatch.tool == SEARCH:  # it tells nobody but its log
        return []
    mark = (dispatch.idempotency_key, dispatch.attempt)
    if response.status is Status.SUCCESS and not counts.get(mark):
        return [f"{dispatch.tool} answered with success, and nothing took effect"]
    if response.effect is Effect.NONE and dispatch.risk is not Risk.READ and counts.get(mark):
        return [f"{dispatch.tool} answered that nothing happened, and it had"]
    return []


def _conclusion(findings: Findings, call_id: str, steps: Steps, position: int, taken: set[tuple[str, int]]) -> None:
    """At one takeover: was the call, if open, concluded as the table says?"""
    before = [step for step in steps if step[0] < position]
    after = [event for seq, event in steps if seq > position]
    if not before or _last(before, FunctionResponse) is not None or not after:
        return
    row, wanted = _row(before, taken)
    got = _kind(after)
    if got not in wanted:
        findings.faults.append(f"{call_id} at {position}: {row} must be {' or '.join(sorted(wanted))}, and was {got}")
    findings.conclusions[f"{row}: {got}"] += 1


def _row(before: Steps, taken: set[tuple[str, int]]) -> tuple[str, set[str]]:
    """The row of the crash table, and what it allows."""
    dispatch, last = _last(before, ToolDispatch), before[-1][1]
    if isinstance(last, CallResolved):
        again = last.verdict == "did_not_happen"
        return f"verdict {last.verdict}", {"dispatched"} if again else {"settled by verdict"}
    if isinstance(last, CallParked):
        return "parked", {"verdict"}
    if dispatch is None:
        return "no T1", {"dispatched", "refused"}
    if dispatch.client_owned:
        return "T1 only, client", {"settled"}
    if any(isinstance(event, BackgroundStarted) and event.attempt == dispatch.attempt for _, event in before):
        return "the job is known", {"the job asked after", "settled"}
    if isinstance(last, AttemptFailed) and last.effect is Effect.NONE:
        return "failed with no effect", {"dispatched", "settled", "refused"}
    if dispatch.recovery is Recovery.NEVER:
        if dispatch.risk is Risk.READ:
            return "T1 only, never, reads", {"settled as unknown"}
        return "T1 only, never", {"parked"}
    if dispatch.recovery is Recovery.IDEMPOTENT:
        if dispatch.attempt >= _MOST_ATTEMPTS:
            return "T1 only, idempotent, worn out", {"parked"}
        return "T1 only, idempotent", {"dispatched" if isinstance(last, AttemptFailed) else "dispatched again"}
    happened = (dispatch.idempotency_key, dispatch.attempt) in taken
    row = f"T1 only, {dispatch.recovery}, {'happened' if happened else 'did not happen'}"
    found = "the job found" if dispatch.background else "settled"
    return row, {found} if happened else {"did not happen"}


def _kind(after: Sequence[Event]) -> str:
    first = after[0]
    match first:
        case ToolDispatch():
            return "dispatched"
        case AttemptFailed():
            if first.effect is Effect.NONE:
                return "did not happen"
            return "dispatched again" if len(after) > 1 and isinstance(after[1], ToolDispatch) else "failed unclear"
        case BackgroundStarted():
            return "the job found"
        case BackgroundPolled():
            return "the job asked after"
        case FunctionResponse():
            return _kind_of_response(first)
        case CallParked():
            return "parked"
        case CallResolved():
            return "verdict"
    return type(first).__name__


def _kind_of_response(response: FunctionResponse) -> str:
    if response.resolved is not None:
        return "settled by verdict"
    if response.lane == "refused":
        return "refused"
    if response.status is not Status.SUCCESS and response.effect is Effect.UNKNOWN:
        return "settled as unknown"
    return "settled"


def _last(steps: Steps, kind: type[T]) -> T | None:
    return next((event for _, event in reversed(steps) if isinstance(event, kind)), None)
