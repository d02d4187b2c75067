"""Whether an answer is whose it says it is, and whether they may give it (APPR-07, APPR-08). Pure.

Asked twice: by whoever takes an answer, so that it is refused at once, and again before anything rests on it, since
what stands in the log was perhaps put there by somebody else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.principal import Proof, Role, message
from callslip.core.standing import Standing

Verify = Callable[[str, bytes, str], bool]
"""``verified`` of ``ports/trust``: key, message, signature."""


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """Who began the session, and so asks."""

    name: str
    uid: int | None
    shown: bool
    """Whether a key has shown it, rather than whoever began the session having said so."""


def fault(
    event: Any, *, session: str, wait_id: str, roles: Sequence[Role], standing: Standing, verify: Verify, tool: str = ""
) -> str | None:
    """What is wrong with the proof of an answer (an event with ``proof``), as half a sentence; ``None``: nothing.

    While no key is enrolled nothing can be proved, and every answer counts: ``doctor`` calls that advisory.
    """
    if standing.advisory:
        return None
    proof: Proof | None = event.proof
    if proof is None or not proof.signature:
        return "it is signed by nobody"
    principal = standing.principals.get(proof.principal)
    if principal is None:
        known = "was revoked" if proof.principal in standing.revoked else "is not enrolled"
        return f"{proof.principal!r} {known}"
    if principal.key != proof.key or not verify(
        principal.key, message(session, wait_id, event, proof), proof.signature
    ):
        return f"its signature is not {proof.principal}'s"
    if not proof.on_behalf_of:
        return None if standing.may(proof.principal, *roles) else f"{proof.principal!r} is no {' or '.join(roles)}"
    if Role.APPROVER in roles:
        if standing.delegated(proof.on_behalf_of, proof.principal, tool, at=proof.at):
            return None
        return f"{proof.on_behalf_of!r} has not handed this on to {proof.principal!r}"
    return f"{proof.principal!r} is no {' or '.join(roles)}"


def same_people(decided: Sequence[ApprovalDecided], asker: Asker, standing: Standing) -> str | None:
    """Why these deciders are not so many different people, none of them the asker; ``None``: they are.

    People are told apart by name, by whom they decide for, and by the operating system's account, both the one that
    made their key and the one they answered from: two names of one account are one person.
    """
    if standing.advisory:
        return "nobody's key is enrolled, so nobody can be told from anybody else"
    if not asker.shown:
        return "the session was begun without a key, so it is not known who asks (CALLSLIP_KEY=NAME callslip run …)"
    seen = [("whoever asks", {asker.name}, _accounts(standing, {asker.name}, asker.uid))]
    for one in decided:
        proof = one.proof
        names = {name for name in (proof.principal, proof.on_behalf_of) if name}
        accounts = _accounts(standing, names, proof.uid)
        if any(name not in standing.principals or standing.principals[name].uid is None for name in names):
            return f"it is not known which account of the operating system {proof.principal!r} has"
        for who, others, their_accounts in seen:
            if names & others:
                return f"{proof.principal!r} is {who}, or decides for them"
            if accounts & their_accounts:
                return f"{proof.principal!r} uses the same account of the operating system as {who}"
        seen.append((repr(proof.principal), names, accounts))
    return None


def _accounts(standing: Standing, names: set[str], uid: int | None) -> set[int]:
    """The accounts these names are known to use: those that made their keys, and the one they answered from."""
    enrolled = {standing.principals[name].uid for name in names if name in standing.principals}
    return {one for one in (*enrolled, uid) if one is not None}
