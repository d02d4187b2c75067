"""Policy: whether this call, with these arguments, may happen now (GATE-01)."""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.core.result import Status
from callslip.gate.catalogue import Entry
from callslip.gate.refusal import Refusal
from callslip.ports.policy import Policy, Question, Verdict


def decide(policy: Policy, entry: Entry, arguments: dict[str, Any], session: str, requester: str) -> Verdict | Refusal:
    """Allow or ask as a verdict; a denial, or an engine that fails, as a refusal (GATE-02: fail closed)."""
    spec = entry.executor.spec
    try:
        verdict = policy.decide(Question(session=session, requester=requester, tool=spec, arguments=arguments))
        verdict = msgspec.structs.replace(
            verdict,
            rules=tuple(map(str, verdict.rules)),
            reason=str(verdict.reason),
            decision=str(verdict.decision),
            approvers=_people(verdict.approvers),
        )
    except Exception as error:  # noqa: BLE001 - whatever the engine did, it did not allow
        return Refusal(
            status=Status.PERMISSION_DENIED,
            code="policy_error",
            message=f"The policy could not decide on {spec.name} ({type(error).__name__}), so it is denied.",
        )
    if verdict.decision == "ask" and spec.asks_user:  # it is itself a question to a person
        verdict = msgspec.structs.replace(verdict, decision="allow", approvers=1)
    if verdict.decision in {"allow", "ask"}:
        return verdict
    return Refusal(
        status=Status.PERMISSION_DENIED,
        code="policy_denied",
        message=f"{spec.name} is not permitted: {verdict.reason.rstrip('.')}. "
        "Nothing was executed. Don't try it again.",
        rules=verdict.rules,
    )


_MOST_PEOPLE = 16


def _people(said: Any) -> int:
    people = max(1, int(said))
    if people > _MOST_PEOPLE:
        raise ValueError("nobody can ask so many people")
    return people
