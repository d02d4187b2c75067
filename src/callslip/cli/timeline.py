"""A session's log as lines a person can follow: what was proposed, dispatched (T1), settled (T2), and how long it took.

Strictly in the order of the log, which is the truth; nothing is grouped or left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from callslip.cli import wording
from callslip.cli.moments import day, span
from callslip.core.event import Stored
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
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import Payload
from callslip.core.wait import WaitKind


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One record, told."""

    mark: str
    subject: str
    deed: str
    detail: str = ""
    payloads: tuple[tuple[str, Payload], ...] = ()
    """What ``--payloads`` shows under it."""
    text: str = ""
    """Words of the user or the model."""
    boundary: bool = False
    """A run begins or ends here."""
    internal: str = ""
    """A whole error, which ``--payloads`` shows too."""


class _Times(msgspec.Struct, kw_only=True):
    tool: str
    proposed: int
    dispatched: int | None = None
    parked: int | None = None
    failed: str = ""
    """The last words of its latest attempt."""
    tried: str = ""
    """Whose attempt that is."""
    asked: str = ""
    """What the latest question was about."""


class Timeline:
    """Remembers, of each call, its name and when it was proposed and dispatched. A method for each event's type."""

    def __init__(self) -> None:
        self._calls: dict[str, _Times] = {}
        self._waits: dict[str, tuple[WaitOpened, int]] = {}
        self._runs = 0
        self.calls = self.settled = self.refused = self.parked = 0

    def tell(self, stored: Stored) -> Line:
        """The record as a line."""
        event = stored.record.event
        tag = str(event.__struct_config__.tag)
        teller: Callable[[Any, Stored], Line] | None = getattr(self, f"_{tag}", None)
        return Line(mark="dot", subject="", deed=tag) if teller is None else teller(event, stored)

    def _subject(self, call_id: str) -> str:
        return self._calls[call_id].tool if call_id in self._calls else call_id

    def _tried(self, call_id: str) -> str:
        """Whose attempt the latest of the call is: of what stands in, where something does."""
        times = self._calls.get(call_id)
        return times.tried if times is not None and times.tried else self._subject(call_id)

    def _asked(self, call_id: str) -> str:
        """What a person was asked about: what stands in, where something does."""
        times = self._calls.get(call_id)
        return times.asked if times is not None and times.asked else self._subject(call_id)

    def _waits_for(self, wait: WaitOpened) -> str:
        if wait.call_id is None:
            return ""
        return self._asked(wait.call_id) if wait.kind is WaitKind.APPROVAL else self._tried(wait.call_id)

    def _session_started(self, event: SessionStarted, stored: Stored) -> Line:
        where = f", workspace {event.workspace.path}" if event.workspace is not None else ""
        detail = f"by {event.requester}, {day(stored.record.at)}{where}"
        return Line(mark="dot", subject="", deed="session", detail=detail)

    def _run_started(self, event: RunStarted, stored: Stored) -> Line:
        self._runs += 1
        crash = event.parent_ended not in {"first", "released"}
        marker = "" if event.marker else "; without the promise to record each call before it runs"
        moved = f"; now in workspace {event.workspace.path}" if event.workspace is not None else ""
        detail = f"process {event.process}; {wording.run_began(event)}{marker}{moved}"
        return Line(
            mark="warn" if crash else "next", subject="", deed=f"run {self._runs}", detail=detail, boundary=True
        )

    def _run_ended(self, event: RunEnded, stored: Stored) -> Line:
        marks = {"finished": "ok", "failed": "bad", "waiting": "wait", "stopped": "warn"}
        detail = f"{event.status}: {event.reason}" if event.reason else event.status
        return Line(mark=marks.get(event.status, "dot"), subject="", deed="run ended", detail=detail, boundary=True)

    def _user_message(self, event: UserMessage, stored: Stored) -> Line:
        how = "as a steer" if event.steer else ""
        return Line(mark="dot", subject=event.author or "user", deed="said", detail=how, text=event.text)

    def _model_requested(self, event: ModelRequested, stored: Stored) -> Line:
        seen = (
            "the same tools as before"
            if event.visible is None
            else f"{len(event.visible)} tool{'s' if len(event.visible) != 1 else ''} visible"
        )
        fits = f", for what was said {', '.join(event.preselected)}" if event.preselected else ""
        return Line(mark="dot", subject=event.model, deed="asked", detail=f"step {event.step}, {seen}{fits}")

    def _model_replied(self, event: ModelReplied, stored: Stored) -> Line:
        usage = event.usage
        tokens = f", {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out" if usage.output_tokens else ""
        what = f"{event.calls} call{'s' if event.calls != 1 else ''}" if event.calls else event.finish
        return Line(
            mark="dot", subject=event.reply_model or "model", deed="replied", detail=what + tokens, text=event.text
        )

    def _model_failed(self, event: ModelFailed, stored: Stored) -> Line:
        detail = f"step {event.step}, {wording.model_failed(event, stored.record.at)}"
        return Line(mark="warn", subject=event.model, deed="failed", detail=detail)

    def _function_call(self, event: FunctionCall, stored: Stored) -> Line:
        self.calls += 1
        self._calls[event.call_id] = _Times(tool=event.tool, proposed=stored.record.at)
        detail = f"step {event.step}, call {event.position + 1}, {event.call_id}"
        if event.undoes:
            detail = f"{event.call_id}, undoes {self._subject(event.undoes)} ({event.undoes})"
        return Line(
            mark="dot", subject=event.tool, deed="proposed", detail=detail, payloads=(("arguments", event.arguments),)
        )

    def _approval_requested(self, event: ApprovalRequested, stored: Stored) -> Line:
        times = self._calls.get(event.call_id)
        if times is not None:
            times.asked = event.tool
        return Line(
            mark="wait",
            subject=event.tool,
            deed="asks",
            detail=f"{event.approval_id}, {wording.asked(event)}",
            payloads=(("arguments", event.arguments),),
        )

    def _approval_decided(self, event: ApprovalDecided, stored: Stored) -> Line:
        deed = wording.decided_deed(event)
        return Line(
            mark="bad" if deed == "denied" else "ok",
            subject=self._asked(event.call_id),
            deed=deed,
            detail=wording.decided(event),
            payloads=(("arguments", event.edited),) if event.edited is not None else (),
        )

    def _approval_expired(self, event: ApprovalExpired, stored: Stored) -> Line:
        detail = f"nobody answered {event.approval_id} in time; it was not denied"
        return Line(mark="warn", subject=self._asked(event.call_id), deed="expired", detail=detail)

    def _tool_dispatch(self, event: ToolDispatch, stored: Stored) -> Line:
        times = self._calls.get(event.call_id)
        parts = [wording.dispatched(event)]
        if times is not None and event.attempt == 1:
            parts.append(f"{span(stored.record.at - times.proposed)} after its proposal")
        if times is not None:
            times.dispatched = stored.record.at
            times.failed = ""
            times.tried = event.tool
        if event.waited_ms:
            parts.append(f"waited {span(event.waited_ms)}{self._waited_for(event)}")
        if event.rules:
            parts.append(f"rules {' '.join(event.rules)}")
        if event.changed:
            parts.append(f"arguments changed ({'; '.join(event.changed)})")
        return Line(
            mark="next",
            subject=event.tool,
            deed="dispatched",
            detail=", ".join(parts),
            payloads=(("arguments", event.arguments),),
        )

    def _waited_for(self, event: ToolDispatch) -> str:
        """Who held what it claims, or stood in the line before."""
        own = [self._calls[one].tool for one in event.waited_for if one in self._calls]
        others = len(event.waited_for) - len(own)
        calls = [f"{others} calls of other sessions" if others > 1 else "a call of another session"] if others else []
        named = [*dict.fromkeys(own), *calls]
        return f" for {' and '.join(named)}" if named else " for what is limited"

    def _attempt_failed(self, event: AttemptFailed, stored: Stored) -> Line:
        times = self._calls.get(event.call_id)
        took = f", after {span(stored.record.at - times.dispatched)}" if times and times.dispatched else ""
        if times is not None:
            times.failed = wording.own_line(event.internal)
        detail = wording.attempt_failed(event, stored.record.at) + took
        subject = self._tried(event.call_id)
        return Line(mark="warn", subject=subject, deed="failed", detail=detail, internal=event.internal)

    def _background_started(self, event: BackgroundStarted, stored: Stored) -> Line:
        until = f", to end by {day(event.until)}" if event.until is not None else ""
        detail = f"attempt {event.attempt} started a job that goes on outside{until}"
        subject = self._subject(event.call_id)
        return Line(mark="next", subject=subject, deed="goes on", detail=detail, payloads=(("handle", event.handle),))

    def _background_polled(self, event: BackgroundPolled, stored: Stored) -> Line:
        subject = self._subject(event.call_id)
        return Line(mark="next", subject=subject, deed="goes on", detail=wording.job_polled(event))

    def _function_response(self, event: FunctionResponse, stored: Stored) -> Line:
        times = self._calls.get(event.call_id)
        since = stored.record.at - times.dispatched if times is not None and times.dispatched is not None else None
        refused = event.lane == "refused"
        deed = wording.settled_deed(event)
        self.refused += deed == "refused"
        self.settled += deed != "refused"
        parts = [wording.settled(event, None if refused or event.resolved else since)]
        if event.resolved is not None:
            parts.append(f"by the verdict in record {event.resolved}")
        if event.fallback is not None:
            parts.append(wording.fallback(event.fallback))
        if event.error_message:
            parts.append(event.error_message)
        own = wording.own_words(event)
        if own:
            parts.append(own)
        shown = [("result", event.structured), ("shown to the model", event.shown)]
        return Line(
            mark=wording.settled_mark(event),
            subject=self._subject(event.call_id),
            deed=deed,
            detail="; ".join(parts),
            payloads=tuple((name, payload) for name, payload in shown if payload is not None),
            internal=event.internal,
        )

    def _breaker_opened(self, event: BreakerOpened, stored: Stored) -> Line:
        return Line(mark="bad", subject=event.tool, deed="left alone", detail=wording.left_alone(event))

    def _late_outcome(self, event: LateOutcome, stored: Stored) -> Line:
        how = "succeeded" if event.ok else f"failed: {wording.own_line(event.internal)}"
        payloads = (("result", event.result),) if event.result is not None else ()
        detail = f"{wording.late(event)}, and {how}"
        return Line(
            mark="dot" if event.beaten else "warn",
            subject=self._subject(event.call_id),
            deed="late",
            detail=detail,
            payloads=payloads,
            internal=event.internal,
        )

    def _call_parked(self, event: CallParked, stored: Stored) -> Line:
        self.parked += 1
        times = self._calls.get(event.call_id)
        if times is not None:
            times.parked = stored.record.at
        said = f"; its latest attempt said: {times.failed}" if times is not None and times.failed else ""
        detail = f"{event.reason} ({event.code}){said}"
        return Line(mark="wait", subject=self._tried(event.call_id), deed="parked", detail=detail)

    def _call_resolved(self, event: CallResolved, stored: Stored) -> Line:
        times = self._calls.get(event.call_id)
        after = f", parked for {span(stored.record.at - times.parked)}" if times is not None and times.parked else ""
        return Line(
            mark="ok",
            subject=self._subject(event.call_id),
            deed="resolved",
            detail=f"{event.verdict.replace('_', ' ')}, by {event.actor}: {event.reason}{after}",
            payloads=(("result", event.result),) if event.result is not None else (),
        )

    def _wait_opened(self, event: WaitOpened, stored: Stored) -> Line:
        self._waits[event.wait_id] = (event, stored.record.at)
        until = f", until {day(event.wake_at)}" if event.wake_at is not None else ""
        subject = self._waits_for(event)
        detail = f"{event.kind.value}, {event.wait_id}: {event.reason}{until}"
        return Line(mark="wait", subject=subject, deed="waits", detail=detail)

    def _wait_closed(self, event: WaitClosed, stored: Stored) -> Line:
        wait, opened = self._waits.pop(event.wait_id, (None, stored.record.at))
        subject = self._waits_for(wait) if wait is not None else ""
        detail = f"{event.how} by {event.actor} after {span(stored.record.at - opened)}, {event.wait_id}"
        return Line(mark="dot", subject=subject, deed="wait over", detail=detail)

    def _revert_started(self, event: RevertStarted, stored: Stored) -> Line:
        return Line(mark="warn", subject="", deed="revert", detail=wording.reverted(event))

    def _stop_requested(self, event: StopRequested, stored: Stored) -> Line:
        return Line(mark="warn", subject="", deed="stop", detail=wording.asked_by(event))

    def _session_sealed(self, event: SessionSealed, stored: Stored) -> Line:
        where = f", to go to {event.destination}" if event.destination else ""
        why = f": {event.reason}" if event.reason else ""
        return Line(mark="warn", subject="", deed="sealed", detail=f"by {event.actor}{where}{why}", boundary=True)

    def _session_imported(self, event: SessionImported, stored: Stored) -> Line:
        whole = (
            "with its seal, so it is whole" if event.proven else "what happened after the record before is not known"
        )
        why = f": {event.reason}" if event.reason else ""
        detail = f"by {event.actor}, {whole}{why}"
        return Line(mark="next" if event.proven else "warn", subject="", deed=event.how, detail=detail, boundary=True)

    def _blob_erased(self, event: BlobErased, stored: Stored) -> Line:
        many = len(event.addresses)
        what = f"{many} payload{'s' if many != 1 else ''}"
        if event.whole:
            what = f"everything encrypted before, and {what}" if many else "everything encrypted before"
        return Line(mark="warn", subject="", deed="erased", detail=f"{what}, by {event.actor}: {event.reason}")
