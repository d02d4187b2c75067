"""Ask a person about a call: record exactly what they are shown, open the wait, and leave nothing running (APPR-01)."""

from __future__ import annotations

from callslip import failpoint
from callslip.core import approval, canon, ids
from callslip.core.approval import Bound
from callslip.core.asking import APPROVAL
from callslip.core.call import CallState
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.tool_dispatch import Evidence
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.instead import Instead
from callslip.core.version import Version
from callslip.core.wait import WaitKind
from callslip.gate.pipeline import Passed
from callslip.runtime import payloads, versions
from callslip.runtime.closing import closing
from callslip.runtime.drive import Drive


async def ask(
    drive: Drive,
    call: CallState,
    passed: Passed,
    evidence: Evidence | None,
    judged: int,
    *,
    again: tuple[str, ...],
    edited: tuple[str, ...],
    instead: Instead | None = None,
    version: Version | None = None,
) -> None:
    """Record the question.

    ``again``: why an earlier answer does not hold. ``edited``: how people have changed the arguments. It says both.
    """
    now, parts = bound(drive, call, passed, evidence, version), drive.parts
    standing = parts.trust.standing()
    expires = parts.limits.approval_expires
    expires_at = None if expires is None else parts.clock.now() + round(expires * 1000)
    asked = ApprovalRequested(
        call_id=call.call.call_id,
        approval_id=ids.wait_id(APPROVAL, drive.session),
        binding="",
        tool=now.tool,
        tool_version=now.tool_version,
        executor=now.executor,
        arguments=await payloads.store(parts.blobs, passed.arguments.text),
        arguments_digest=now.arguments_digest,
        requester=now.requester,
        rules=now.rules,
        reason=canon.scrub(parts.redactor.clean(passed.verdict.reason)),
        schema=await payloads.store(parts.blobs, canon.canonical(passed.entry.executor.spec.input_schema)),
        evidence=evidence,
        version=version,
        approvers=passed.verdict.approvers,
        expires_at=expires_at,
        again=again,
        edited=edited,
        instead=instead,
        trust_seq=standing.seq,
        trust_digest=standing.digest if standing.seq else "",
    )
    asked = approval.bind(asked, drive.session)
    wait = WaitOpened(
        wait_id=asked.approval_id,
        kind=WaitKind.APPROVAL,
        reason=asked.reason,
        call_id=asked.call_id,
        wake_at=expires_at,
    )
    failpoint.hit("ask.before")
    await drive.append(*closing(drive, asked.call_id), asked, wait, judged=judged)
    failpoint.hit("ask.after")


def bound(drive: Drive, call: CallState, passed: Passed, evidence: Evidence | None, version: Version | None) -> Bound:
    """The call as it would be made now, as far as an approval depends on it."""
    executor = passed.entry.executor
    return Bound(
        session=drive.session,
        requester=drive.state.requester,
        call_id=call.call.call_id,
        tool=executor.spec.name,
        tool_version=executor.version,
        executor=executor.identity,
        arguments_digest=canon.digest(passed.arguments.text),
        rules=passed.verdict.rules,
        evidence=evidence,
        version=version,
    )


def changed(
    drive: Drive,
    call: CallState,
    passed: Passed,
    evidence: Evidence | None,
    asked: ApprovalRequested,
    version: Version | None,
) -> tuple[str, ...]:
    """Why the approval of ``asked`` does not hold for the call as it would be made now (APPR-03)."""
    return approval.changes(
        asked,
        bound(drive, call, passed, evidence, version),
        edited=call.edited is not None,
        approvers=passed.verdict.approvers,
        named=version is not None and versions.named(passed) is not None,
    )
