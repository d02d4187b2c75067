"""Which records of a log are worth a notice, and what it says. Pure.

What a person or operator must answer is told by the ``wait_opened`` that stands for it, since that alone carries what
they answer to; what it is about stands in records before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from callslip.core.event import Event, Stored
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.call_parked import CallParked
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import Payload
from callslip.notify.notice import Notice, NoticeKind, moment, notice_id

_TOLD = (ApprovalDecided, ApprovalExpired, BreakerOpened, RunEnded, WaitOpened)


class _Facts:
    """What the records so far say of calls and approvals."""

    def __init__(self) -> None:
        self.calls: dict[str, FunctionCall] = {}
        self.dispatched: dict[str, ToolDispatch] = {}
        self.parked: dict[str, CallParked] = {}
        self.asked: dict[str, ApprovalRequested] = {}

    def take(self, event: Event) -> None:
        if isinstance(event, FunctionCall):
            self.calls[event.call_id] = event
        elif isinstance(event, ToolDispatch):
            self.dispatched[event.call_id] = event
        elif isinstance(event, CallParked):
            self.parked[event.call_id] = event
        elif isinstance(event, ApprovalRequested):
            self.asked[event.approval_id] = event

    def tool(self, call_id: str | None) -> str:
        known = self.dispatched.get(call_id or "") or self.calls.get(call_id or "")
        return known.tool if known is not None else "a call"

    def arguments(self, call_id: str | None) -> Payload | None:
        """As they were dispatched, else as the model proposed them."""
        known = self.dispatched.get(call_id or "") or self.calls.get(call_id or "")
        return known.arguments if known is not None else None


def notices_of(session: str, records: Sequence[Stored], before: Iterable[Stored] = ()) -> list[Notice]:
    """The notices of these records, in their order. ``before``: earlier records, for what the notices are about."""
    facts = _Facts()
    for stored in before:
        facts.take(stored.record.event)
    found = []
    for stored in records:
        facts.take(stored.record.event)
        made = _notice(session, stored, facts)
        if made is not None:
            found.append(made)
    return found


def is_told(event: Event) -> bool:
    """Whether a record of this event becomes a notice."""
    if isinstance(event, RunEnded):
        return event.status == "failed" or bool(event.limit)
    return isinstance(event, _TOLD) and (not isinstance(event, WaitOpened) or event.kind.value in _WAITS)


def unexplained(records: Iterable[Stored]) -> set[str]:
    """Calls that notices of these records are about, and which were proposed in earlier ones."""
    events = [stored.record.event for stored in records]
    about = {getattr(event, "call_id", None) for event in events if is_told(event)}
    return {call for call in about if call} - {event.call_id for event in events if isinstance(event, FunctionCall)}


def _notice(session: str, stored: Stored, facts: _Facts) -> Notice | None:
    event = stored.record.event
    if not is_told(event):
        return None
    if isinstance(event, WaitOpened):
        kind, tell = _WAITS[event.kind.value]
        sentence, details, private = tell(session, event, facts)
        details = {"wait": event.wait_id, **details}
    elif isinstance(event, ApprovalDecided):
        kind, private = NoticeKind.APPROVAL_DECIDED, {}
        sentence, details = _decided(session, event, facts)
    elif isinstance(event, ApprovalExpired):
        kind, private = NoticeKind.APPROVAL_EXPIRED, {}
        tool = _asked_tool(event, facts)
        sentence = f"Nobody said in time whether {tool} of session {session} may be made. It is not made."
        details = {"wait": event.approval_id, "call_id": event.call_id, "tool": tool}
    elif isinstance(event, BreakerOpened):
        kind = NoticeKind.BREAKER_OPENED
        sentence, details, private = _opened(session, event)
    elif isinstance(event, RunEnded) and event.limit:
        kind, details, private = NoticeKind.LIMIT_REACHED, {"limit": event.limit, "reason": event.reason}, {}
        sentence = f"A run of session {session} was stopped: {event.reason}. Nothing was lost."
    else:
        assert isinstance(event, RunEnded)
        kind, details, private = NoticeKind.SESSION_FAILED, {"reason": event.reason}, {}
        sentence = f"A run of session {session} failed: {event.reason or 'no reason was recorded'}"
    return Notice(
        id=notice_id(session, stored.seq, kind), kind=kind, session=session, at=stored.record.at, sentence=sentence,
        details=details, private=private,
    )  # fmt: skip


_Told = tuple[str, dict[str, Any], dict[str, Any]]


def _approval(session: str, wait: WaitOpened, facts: _Facts) -> _Told:
    asked = facts.asked.get(wait.wait_id)
    tool = asked.tool if asked is not None else facts.tool(wait.call_id)
    details: dict[str, Any] = {"call_id": wait.call_id, "tool": tool}
    people = ""
    if asked is not None:
        expires = moment(asked.expires_at) if asked.expires_at is not None else None
        details |= {
            "reason": asked.reason,
            "reasons": list(asked.rules),
            "requester": asked.requester,
            "approvers": asked.approvers,
            "asked_again": bool(asked.again),
            "expires_at": expires,
        }
        people = f" {asked.approvers} people must approve." if asked.approvers > 1 else ""
    arguments = asked.arguments if asked is not None else facts.arguments(wait.call_id)
    sentence = f"{tool} of session {session} waits for a person's word.{people} `callslip inbox` shows it."
    return sentence, details, _arguments(arguments)


def _parked(session: str, wait: WaitOpened, facts: _Facts) -> _Told:
    tool = facts.tool(wait.call_id)
    parked = facts.parked.get(wait.call_id or "")
    sentence = (
        f"Nobody knows whether {tool} of session {session} took effect: {wait.reason}. Find out, then say so with "
        f"`callslip resolve {wait.wait_id}`."
    )
    details = {"call_id": wait.call_id, "tool": tool, "reason": wait.reason}
    if parked is not None:
        details["code"] = parked.code
    return sentence, details, _arguments(facts.arguments(wait.call_id))


def _question(session: str, wait: WaitOpened, facts: _Facts) -> _Told:
    # What is asked stands in the call's arguments, and is as private as any.
    sentence = f"Session {session} asks its user a question. Answer it with `callslip answer {wait.wait_id}`."
    return sentence, {"call_id": wait.call_id}, _arguments(facts.arguments(wait.call_id))


def _operator(session: str, wait: WaitOpened, facts: _Facts) -> _Told:
    sentence = (
        f"Session {session} waits for an operator: {wait.reason}. Then: `callslip resolve {wait.wait_id} accept`."
    )
    return sentence, {"reason": wait.reason}, {}


_WAITS: dict[str, tuple[NoticeKind, Callable[[str, WaitOpened, _Facts], _Told]]] = {
    "approval": (NoticeKind.APPROVAL_WAITING, _approval),
    "parked": (NoticeKind.CALL_PARKED, _parked),
    "question": (NoticeKind.QUESTION_WAITING, _question),
    "workspace": (NoticeKind.WORKSPACE_WAITING, _operator),
    "copy": (NoticeKind.COPY_WAITING, _operator),
}
"""Waits that a person must answer. Clients and jobs know their own, and the clock needs no notice."""


def _asked_tool(event: ApprovalDecided | ApprovalExpired, facts: _Facts) -> str:
    asked = facts.asked.get(event.approval_id)
    return asked.tool if asked is not None else facts.tool(event.call_id)


def _decided(session: str, event: ApprovalDecided, facts: _Facts) -> tuple[str, dict[str, Any]]:
    tool = _asked_tool(event, facts)
    approved = event.decision == "approved"
    how = "with other arguments " if event.edited is not None else ""
    sentence = f"{event.proof.principal} {'approved' if approved else 'denied'} {tool} {how}in session {session}."
    details = {
        "wait": event.approval_id,
        "call_id": event.call_id,
        "tool": tool,
        "decision": "approved" if approved else "denied",
        "by": event.proof.principal,
        "edited": event.edited is not None,
    }
    if event.reason:
        details["reason"] = event.reason
    return sentence, details


def _opened(session: str, event: BreakerOpened) -> _Told:
    # What it reaches is filled in from a call's arguments, and is as private as they are.
    sentence = (
        f"{event.tool} fails too often: {event.reason}. Nobody calls it until {moment(event.until)}, when one call "
        f"tries it; session {session} was the last to see it fail. `callslip breakers` shows how it stands, and "
        f"`callslip breakers reset` has it called at once."
    )
    details = {"call_id": event.call_id, "tool": event.tool, "reason": event.reason, "until": moment(event.until)}
    return sentence, details, {"target": event.target} if event.target else {}


def _arguments(payload: Payload | None) -> dict[str, Any]:
    if payload is None:
        return {}
    if not payload.inline:
        return {"arguments_left_out": f"{payload.size} bytes; `callslip inbox` shows them"}
    return {"arguments": payload.value()}
