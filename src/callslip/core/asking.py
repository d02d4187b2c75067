"""What the fold makes of questions to people and their answers (APPR-02). Pure; ``core/fold`` calls it.

Nothing is dispatched while a person is asked, against a no, or on an approval that is not there.
"""

from __future__ import annotations

from callslip.core.broken import broken
from callslip.core.call import CallState
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.state import SessionState
from callslip.core.wait import WaitKind

APPROVAL = "appr"
"""How the id of an approval begins; that of a grant begins otherwise."""


def requested(state: SessionState, call: CallState, event: ApprovalRequested, seq: int) -> None:
    if call.unconcluded:
        raise broken(seq, f"a person is asked about {event.call_id} while a dispatch of it is unconcluded")
    if call.asked is not None and call.asked.approval_id in state.waits:
        raise broken(seq, f"a person is asked about {event.call_id} already")
    if event.approval_id in state.asked_ids:
        raise broken(seq, f"a person is asked about {event.call_id} in a question that was asked before")
    if event.approvers < 1 or not event.approval_id.startswith(APPROVAL + "_"):
        raise broken(seq, f"its question about {event.call_id} can't be answered")
    call.asked, call.decided, call.lapsed = event, (), False
    state.asked_ids.add(event.approval_id)


def decided(state: SessionState, call: CallState, event: ApprovalDecided, seq: int) -> None:
    asked = _asked(state, call, event.approval_id, seq)
    if event.binding != asked.binding:
        raise broken(seq, f"it answers another question than was asked about {event.call_id}")
    if event.edited is not None and (event.decision != "approved" or asked.approvers > 1):
        raise broken(seq, f"the arguments of {event.call_id} can't be changed by this answer")
    if event.decision == "approved" and any(one.proof.principal == event.proof.principal for one in call.decided):
        raise broken(seq, f"{event.proof.principal} has decided on {event.call_id} already")
    call.decided = (*call.decided, event)


def expired(state: SessionState, call: CallState, event: ApprovalExpired, seq: int) -> None:
    if _asked(state, call, event.approval_id, seq).expires_at is None:
        raise broken(seq, f"the question about {event.call_id} does not expire")
    call.lapsed = True


def used_up(call: CallState) -> None:
    """A verdict that the call did not happen: its approval served that attempt. What it made of the arguments stays."""
    call.kept, call.kept_edits = call.arguments(), call.edits
    call.asked, call.decided, call.lapsed = None, (), False


def check_dispatch(state: SessionState, call: CallState, event: ToolDispatch, seq: int) -> None:
    """Refuse a T1 that no approval allows."""
    if event.call_id in {wait.call_id for wait in state.waits.values() if wait.kind is WaitKind.APPROVAL}:
        raise broken(seq, f"{event.call_id} is dispatched while a person is asked about it")
    if call.denied is not None or call.lapsed:
        raise broken(seq, f"{event.call_id} is dispatched though nobody approved it")
    if not event.approval.startswith(APPROVAL + "_"):
        return
    if call.asked is None or call.asked.approval_id != event.approval or not call.approved:
        raise broken(seq, f"{event.call_id} is dispatched on an approval that it does not have")
    edited = call.edited
    if edited is None and event.arguments_digest != call.asked.arguments_digest:
        raise broken(seq, f"{event.call_id} is dispatched with other arguments than were approved")


def _asked(state: SessionState, call: CallState, approval_id: str, seq: int) -> ApprovalRequested:
    if call.asked is None or call.asked.approval_id != approval_id or approval_id not in state.waits:
        raise broken(seq, f"nobody is asked {approval_id}")
    return call.asked
