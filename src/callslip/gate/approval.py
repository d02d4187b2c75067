"""The approval gate: what a person has said of this call, and whether that allows it now (APPR-02 … APPR-07). Pure.

What is bound to the target's state is compared later, by ``runtime/approve``, once the target has been looked at.
"""

from __future__ import annotations

import msgspec

from callslip.core.approval import altered
from callslip.core.call import CallState
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.grant import Subject, covers
from callslip.core.principal import Role
from callslip.core.result import Status
from callslip.core.standing import Standing
from callslip.gate import proof
from callslip.gate.proof import Asker, Verify
from callslip.gate.refusal import Refusal
from callslip.ports.policy import Verdict


class Permitted(msgspec.Struct, frozen=True, kw_only=True):
    """It may be made, on ``approval``: an approval's id, a grant's, or nothing because nobody needs asking."""

    approval: str = ""
    asked: ApprovalRequested | None = None
    """With an approval: what was asked, to be compared with what would be made now."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A person must be asked; ``again`` says why an earlier answer does not hold."""

    again: tuple[str, ...] = ()


class Trusted(msgspec.Struct, frozen=True, kw_only=True):
    """What answers are checked by."""

    standing: Standing
    verify: Verify
    asker: Asker
    now: int
    """Milliseconds since 1970, UTC."""


def decide(
    call: CallState, verdict: Verdict, subject: Subject, trusted: Trusted, wrong: str | None
) -> Permitted | Ask | Refusal:
    """What is to be done with a call that the policy allows or asks about. ``wrong`` is what :func:`fault` found.

    A person's no and a lapsed question hold even where the policy has come to allow the call.
    """
    if call.lapsed:
        return _lapsed(subject.tool)
    if call.denied is not None and wrong is None:
        return _denied(call, subject.tool)
    if verdict.decision == "allow" and wrong is None:
        return Permitted()
    if wrong is not None:
        return Ask(again=(f"an answer was recorded that does not count: {wrong}",))
    if call.approved and call.asked is not None:
        return Permitted(approval=call.asked.approval_id, asked=call.asked)
    grant = _grant(subject, verdict, trusted)
    return Permitted(approval=grant) if grant else Ask()


def fault(call: CallState, session: str, trusted: Trusted) -> str | None:
    """Why the recorded answers do not count, as half a sentence; ``None``: they do, or there are none."""
    asked, standing = call.asked, trusted.standing
    if asked is None or not call.decided:
        return None
    if altered(asked, session):
        return "the question was altered after it was asked"
    for one in call.decided:
        wrong = proof.fault(
            one,
            session=session,
            wait_id=asked.approval_id,
            roles=(Role.APPROVER,),
            standing=standing,
            verify=trusted.verify,
            tool=asked.tool,
        )
        if wrong is not None:
            return wrong
    if asked.approvers > 1 and call.denied is None:
        return proof.same_people(call.decided, trusted.asker, standing)
    return None


def _grant(subject: Subject, verdict: Verdict, trusted: Trusted) -> str:
    if verdict.approvers > 1:
        return ""  # what two people must see, one person's standing word does not cover
    if not trusted.standing.advisory and not trusted.asker.shown:
        return ""  # a rule for one requester is none for whoever takes their name
    live = trusted.standing.grants.values()
    return next((grant.id for grant in live if covers(grant, subject, now=trusted.now)), "")


def _denied(call: CallState, tool: str) -> Refusal:
    denied = call.denied
    assert denied is not None
    reason = f": {denied.reason.rstrip('.')}" if denied.reason else ""
    return Refusal(
        status=Status.PERMISSION_DENIED,
        code="approval_denied",
        message=f"A person has denied this call of {tool}{reason}. Nothing was executed. Don't try it again; "
        "do without it, or ask the user.",
        rules=call.asked.rules if call.asked is not None else (),
    )


def _lapsed(tool: str) -> Refusal:
    return Refusal(
        status=Status.TIMEOUT,
        code="approval_expired",
        message=f"Nobody approved this call of {tool} in time. It was not denied, and nothing was executed. "
        "You may call it again, which asks again.",
        retryable=True,
    )
