"""An open question as whoever decides on it sees it, wherever they sit: one value, checked to be what it binds to.

The terminal shows it, the server gives it as JSON, and a client reads it back from there. None of them needs the tool.
"""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.core import canon
from callslip.core.approval import Bound, shown
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.instead import Instead
from callslip.core.version import Version
from callslip.core.wait import WaitKind
from callslip.errors import LogBroken
from callslip.outside import Outside
from callslip.runtime import payloads
from callslip.runtime.approvals import Asked
from callslip.runtime.parts import Parts


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is decided on, and everything about it that a decision is signed over.

    Times are milliseconds since 1970, UTC.
    """

    id: str
    """Of the wait, and of the approval."""
    session: str
    call_id: str
    tool: str
    tool_version: str
    executor: str
    """Identity of what would run the tool."""
    requester: str
    rules: tuple[str, ...]
    reason: str
    arguments: dict[str, Any]
    """Exactly those that would be used."""
    arguments_digest: str
    schema: dict[str, Any] | bool
    """What edited arguments must keep to."""
    binding: str
    """SHA-256 of all that an approval binds to (``core/approval``), hex."""
    shown: str
    """SHA-256, hex, of the whole question as it stands in the log, but for its binding, of which it is a part."""
    opened_at: int
    advisory: bool
    """No key is enrolled: whoever can write the state folder can answer."""
    evidence: Evidence | None = None
    version: Version | None = None
    """Of what its tool says has one, as it was before the question."""
    approvers: int = 1
    approved_by: tuple[str, ...] = ()
    expires_at: int | None = None
    again: tuple[str, ...] = ()
    """What has changed since an earlier approval that does not hold."""
    instead: Instead | None = None
    """``tool`` stands in for the one that was called: for which, and why."""
    edited: tuple[str, ...] = ()
    """How a person had changed the arguments before: those asked about are then theirs, not the model's."""
    kind: WaitKind = WaitKind.APPROVAL


async def question(runtime: Outside, wait_id: str) -> Question:
    """What is asked.

    Raises:
        NotFound: there never was such a wait. WaitConflict: it is over, and who ended it; or of another kind.
        LogBroken: what it shows is not what it binds to.
    """
    return await described(runtime.parts, await runtime.approvals.question(wait_id))


async def described(parts: Parts, asked: Asked) -> Question:
    """The question with all that stands beside it, checked.

    Raises:
        LogBroken: what it shows is not what it binds to.
    """
    event = asked.asked
    found = Question(
        id=asked.row.wait_id,
        session=asked.row.session,
        call_id=event.call_id,
        tool=event.tool,
        tool_version=event.tool_version,
        executor=event.executor,
        requester=event.requester,
        rules=event.rules,
        reason=event.reason,
        arguments=asked.arguments,
        arguments_digest=event.arguments_digest,
        schema=await payloads.load(parts.blobs, event.schema),
        binding=event.binding,
        shown=shown(event),
        opened_at=asked.row.opened_at,
        advisory=parts.trust.standing().advisory,
        evidence=event.evidence,
        version=event.version,
        approvers=event.approvers,
        approved_by=tuple(one.proof.principal for one in asked.decided),
        expires_at=event.expires_at,
        again=event.again,
        instead=event.instead,
        edited=event.edited,
    )
    check(found)
    return found


def check(found: Question) -> None:
    """Refuse a question that shows something else than it binds to: what is signed must be what was seen.

    Raises:
        LogBroken: somebody has altered it.
    """
    now = Bound(
        session=found.session,
        requester=found.requester,
        call_id=found.call_id,
        tool=found.tool,
        tool_version=found.tool_version,
        executor=found.executor,
        arguments_digest=canon.digest(canon.canonical(found.arguments)),
        rules=found.rules,
        evidence=found.evidence,
        version=found.version,
    )
    if now.arguments_digest != found.arguments_digest or now.digest(found.shown) != found.binding:
        raise LogBroken(
            f"The question {found.id} of session {found.session!r} shows something else than it binds to: it was "
            "altered, or its arguments were erased. Nothing was written. Deny it by stopping the session; "
            "`callslip verify` says more."
        )
