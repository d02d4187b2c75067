"""From a session's records to the entries of the audit. Pure: the same log always tells the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from callslip.audit.entry import Entry
from callslip.audit.story import Known, Story
from callslip.core import payload as payloads
from callslip.core.event import Record, Stored
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
from callslip.core.fold import CALLER
from callslip.core.payload import Payload
from callslip.core.raised import first_line
from callslip.core.result import Status
from callslip.core.undoing import REVERT
from callslip.core.version import Version, in_words

_MOST_SAID = 500
"""Characters of what an error said."""
_TOLD_ALREADY = {
    "approved", "denied", "edited", "expired", "resolved", "submitted", "answered", "settled", "elapsed",
}  # fmt: skip
"""Ends of waits that are records of their own, or that nobody brought about."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """An entry in the making: its payloads are not read yet, and nothing is redacted."""

    entry: Entry
    details: tuple[tuple[str, Payload], ...] = ()
    erases: tuple[str, ...] = ()
    """Payloads that must not stay in details of earlier entries."""


def tell(story: Story, stored: Stored) -> Told | None:
    """Take the next record into the story; what there is to say of it."""
    record = stored.record
    story.seq, story.digest = stored.seq, stored.digest.hex()
    return _TELL[type(record.event)](story, record.event, record)


# One function for each event


def _silent(story: Story, event: Any, record: Record) -> None:
    """Nothing an auditor asks for, and nothing to remember."""


def _session_started(story: Story, event: SessionStarted, record: Record) -> Told:
    story.requester = event.requester
    where = f"in {event.workspace.path}" if event.workspace is not None else ""
    actor = event.proof.principal if event.proof is not None else event.requester
    uid = event.proof.uid if event.proof is not None else event.uid
    return Told(entry=story.entry(record, actor=actor, uid=uid, said=where))


def _run_started(story: Story, event: RunStarted, record: Record) -> None:
    story.process = f"{event.host}:{event.process}"


def _user_message(story: Story, event: UserMessage, record: Record) -> Told:
    how = "steer" if event.steer else ""
    if record.sealed:  # not even a digest: short words could be guessed by it
        return Told(entry=story.entry(record, decision=how))
    text = event.text.encode()
    return Told(entry=story.entry(record, decision=how, output=payloads.address(text), output_size=len(text)))


def _model_requested(story: Story, event: ModelRequested, record: Record) -> None:
    story.next_step()
    if event.model in {CALLER, REVERT}:
        story.message = ()  # a dispatcher's turns are not known here, and what undoes one goes back to nobody's words
    elif event.consumed:
        story.message = event.consumed


def _function_call(story: Story, event: FunctionCall, record: Record) -> None:
    story.calls[event.call_id] = Known(
        tool=event.tool,
        step=event.step,
        message=story.message,
        undoes=event.undoes,
        parent=event.parent or "",
        proposed=event.arguments,
    )


def _approval_requested(story: Story, event: ApprovalRequested, record: Record) -> Told:
    known = story.known(event.call_id)
    known.approval, known.approved_by = event.approval_id, ()
    entry = story.about(
        event.call_id,
        record,
        tool=event.tool,
        version=event.tool_version,
        approval=event.approval_id,
        rules=event.rules,
        said="; ".join((event.reason, *filter(None, [_changes(event.version)]), *event.again)),
        **_arguments(event.arguments, event.arguments_digest),
    )
    return Told(entry=entry, details=(("arguments", event.arguments),))


def _approval_decided(story: Story, event: ApprovalDecided, record: Record) -> Told:
    known = story.known(event.call_id)
    if event.decision == "approved" and known.approval == event.approval_id:
        known.approved_by = (*known.approved_by, event.proof.principal)
    entry = story.about(
        event.call_id,
        record,
        approval=event.approval_id,
        decision=event.decision,
        grant=event.grant,
        said="; ".join(filter(None, (event.reason, *event.changes))),
        **(_arguments(event.edited, "") if event.edited is not None else {}),
    )
    return Told(entry=entry, details=(("arguments", event.edited),) if event.edited is not None else ())


def _approval_expired(story: Story, event: ApprovalExpired, record: Record) -> Told:
    return Told(entry=story.about(event.call_id, record, approval=event.approval_id, decision="expired"))


def _tool_dispatch(story: Story, event: ToolDispatch, record: Record) -> Told:
    known = story.known(event.call_id)
    known.tool, known.version, known.arguments_digest = event.tool, event.tool_version, event.arguments_digest
    known.dispatched_at, known.proposed, known.unsure = record.at, None, True
    entry = story.about(
        event.call_id,
        record,
        attempt=event.attempt,
        rules=event.rules,
        decision=f"instead of {event.instead.of}" if event.instead is not None else "",
        said=_changes(event.version),
        approval=event.approval,
        approved_by=known.approved_by if event.approval and event.approval == known.approval else (),
        **_arguments(event.arguments, event.arguments_digest),
    )
    return Told(entry=entry, details=(("arguments", event.arguments),))


def _changes(version: Version | None) -> str:
    """What the call is made for, as far as it can be read: a protected record keeps it to itself."""
    return "" if version is None else f"changes {in_words(version)}"


def _attempt_failed(story: Story, event: AttemptFailed, record: Record) -> Told:
    known = story.known(event.call_id)
    entry = story.about(
        event.call_id,
        record,
        attempt=event.attempt,
        status="failed",
        effect=event.effect.value,
        code=event.code,
        said=first_line(event.internal)[:_MOST_SAID],
        duration_ms=known.since(record),
    )
    return Told(entry=entry)


def _how(event: FunctionResponse) -> str:
    """What there is to say of a response beside its status."""
    if event.fallback is not None:
        return f"{event.fallback.source} instead of {event.fallback.of}"
    if event.hedged is not None and event.hedged.answered != "neither":
        return f"asked twice, the {event.hedged.answered} answered"
    return "refused" if event.lane == "refused" else "settled by a verdict" if event.resolved is not None else ""


def _function_response(story: Story, event: FunctionResponse, record: Record) -> Told:
    known = story.known(event.call_id)
    refused = event.lane == "refused"
    known.unsure = not refused and event.status is not Status.SUCCESS
    proposed, known.proposed = known.proposed, None
    took = event.duration_ms if event.duration_ms is not None else known.since(record)
    entry = story.about(
        event.call_id,
        record,
        attempt=event.attempt,
        arguments_digest=known.arguments_digest,
        rules=event.rules,
        decision=_how(event),
        status=event.status.value,
        effect=event.effect.value,
        code=event.error_code or "",
        said=event.error_message or "",
        evidence=tuple(one.address for one in event.evidence),
        duration_ms=None if refused or event.resolved is not None else took,
        **_output(event.structured),
    )
    shown = proposed if refused else None
    return Told(entry=entry, details=(("arguments", shown),) if shown is not None else ())


def _breaker_opened(story: Story, event: BreakerOpened, record: Record) -> Told:
    place = f"{event.tool} at {event.target}" if event.target and not record.sealed else event.tool
    said = f"{place}: {event.reason}"
    return Told(entry=story.about(event.call_id, record, tool=event.tool, status="left alone", said=said))


def _late_outcome(story: Story, event: LateOutcome, record: Record) -> Told:
    known = story.calls.get(event.call_id, Known())
    entry = story.about(
        event.call_id,
        record,
        attempt=event.attempt,
        status="success" if event.ok else "failed",
        said=first_line(event.internal)[:_MOST_SAID],
        duration_ms=known.since(record),
        **_output(event.result),
    )
    known.unsure = False
    return Told(entry=entry)


def _call_parked(story: Story, event: CallParked, record: Record) -> Told:
    entry = story.about(event.call_id, record, attempt=event.attempt, code=event.code, said=event.reason)
    return Told(entry=entry)


def _call_resolved(story: Story, event: CallResolved, record: Record) -> Told:
    entry = story.about(event.call_id, record, decision=event.verdict, said=event.reason, **_output(event.result))
    return Told(entry=entry)


def _wait_opened(story: Story, event: WaitOpened, record: Record) -> None:
    story.waits[event.wait_id] = (event.kind.value, event.call_id or "")


def _wait_closed(story: Story, event: WaitClosed, record: Record) -> Told | None:
    kind, call_id = story.waits.pop(event.wait_id, ("", ""))
    if event.how in _TOLD_ALREADY:
        return None
    about = story.about(call_id, record) if call_id else story.entry(record)
    said = f"{kind}: {event.workspace.path}" if event.workspace is not None else kind
    return Told(entry=msgspec.structs.replace(about, wait=event.wait_id, decision=event.how, said=said))


def _stop_requested(story: Story, event: StopRequested, record: Record) -> Told:
    return Told(entry=story.entry(record, said=event.reason, decision="taken back" if event.unread else ""))


def _background_started(story: Story, event: BackgroundStarted, record: Record) -> Told:
    entry = story.about(event.call_id, record, attempt=event.attempt, status="started", **_output(event.handle))
    return Told(entry=msgspec.structs.replace(entry, wait=event.wait_id))


def _background_polled(story: Story, event: BackgroundPolled, record: Record) -> Told | None:
    if not event.asked_to_end:
        return None
    return Told(entry=story.about(event.call_id, record, attempt=event.attempt, status="asked to end", said=event.note))


def _revert_started(story: Story, event: RevertStarted, record: Record) -> Told:
    return Told(entry=story.entry(record, decision=f"turn {event.turn}", said=event.reason))


def _session_sealed(story: Story, event: SessionSealed, record: Record) -> Told:
    return Told(entry=story.entry(record, decision=event.destination, said=event.reason))


def _session_imported(story: Story, event: SessionImported, record: Record) -> Told:
    proven = "whole" if event.proven else "perhaps not whole"
    return Told(entry=story.entry(record, decision=event.how, status=proven, said=event.reason))


def _context_compacted(story: Story, event: ContextCompacted, record: Record) -> Told:
    return Told(entry=story.entry(record, **_output(event.summary)))


def _session_forked(story: Story, event: SessionForked, record: Record) -> Told:
    return Told(entry=story.entry(record, decision=f"{event.parent} at record {event.seq}"))


def _blob_erased(story: Story, event: BlobErased, record: Record) -> Told:
    entry = story.entry(
        record, decision="with its keys" if event.whole else "", said=event.reason, evidence=event.addresses
    )
    return Told(entry=entry, erases=event.addresses)


# Parts of entries


def _arguments(payload: Payload, digest: str) -> dict[str, Any]:
    known = digest or (payload.blob or payloads.address(bytes(payload.text))).removeprefix("sha256:")
    return {"arguments_digest": known, "arguments_blob": payload.blob}


def _output(payload: Payload | None) -> dict[str, Any]:
    if payload is None:
        return {}
    if payload.blob:
        return {"output": payload.blob, "output_size": payload.size}
    text = bytes(payload.text)
    return {"output": payloads.address(text), "output_size": len(text)}


_TELL: dict[type[Any], Callable[[Story, Any, Record], Told | None]] = {
    SessionStarted: _session_started,
    RunStarted: _run_started,
    RunEnded: _silent,
    UserMessage: _user_message,
    ModelRequested: _model_requested,
    ModelReplied: _silent,
    ModelFailed: _silent,
    FunctionCall: _function_call,
    ApprovalRequested: _approval_requested,
    ApprovalDecided: _approval_decided,
    ApprovalExpired: _approval_expired,
    ToolDispatch: _tool_dispatch,
    AttemptFailed: _attempt_failed,
    FunctionResponse: _function_response,
    BreakerOpened: _breaker_opened,
    LateOutcome: _late_outcome,
    CallParked: _call_parked,
    CallResolved: _call_resolved,
    WaitOpened: _wait_opened,
    WaitClosed: _wait_closed,
    StopRequested: _stop_requested,
    BackgroundStarted: _background_started,
    BackgroundPolled: _background_polled,
    RevertStarted: _revert_started,
    SessionSealed: _session_sealed,
    SessionImported: _session_imported,
    BlobErased: _blob_erased,
    ContextCompacted: _context_compacted,
    SessionForked: _session_forked,
}
