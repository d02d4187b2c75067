"""The approval gate. This version can't ask anybody, so what would need asking is refused."""

from __future__ import annotations

from callslip.core.result import Status
from callslip.gate.refusal import Refusal
from callslip.ports.policy import Verdict


def check(verdict: Verdict, tool: str) -> Refusal | None:
    """``None`` when the policy allows; a refusal when it wants a person's word."""
    if verdict.decision == "allow":
        return None
    return Refusal(
        status=Status.PERMISSION_DENIED,
        code="approval_unavailable",
        message=f"{tool} needs a person's approval ({verdict.reason.rstrip('.')}), "
        "and approvals can't be asked for yet. "
        "Nothing was executed. Tell the user what you wanted to do.",
        rules=verdict.rules,
    )
