"""Today's gate on one call, with everything it needs to know: refused, to be asked about, or cleared."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from callslip.core import canon
from callslip.core.call import CallState
from callslip.core.events.model_requested import VisibleTool
from callslip.core.grant import Subject
from callslip.core.instead import FALLBACK, Instead
from callslip.core.payload import Payload
from callslip.core.result import Status
from callslip.core.undoing import REVERT
from callslip.gate import approval
from callslip.gate.approval import Ask, Permitted, Trusted
from callslip.gate.pipeline import Case, Passed, judge
from callslip.gate.refusal import Refusal
from callslip.runtime import activating, budgeting, payloads, secrets
from callslip.runtime.drive import Drive
from callslip.runtime.proofs import asker, in_force, requester_fault, revert_fault
from callslip.schema.normalise import Moment

CANCELLED = Refusal(
    status=Status.RETRYABLE_ERROR,
    code="cancelled",
    message="The call was cancelled before it was dispatched. Nothing was executed.",
    retryable=True,
)


class Cleared(msgspec.Struct, frozen=True, kw_only=True):
    """It may be dispatched."""

    passed: Passed
    permitted: Permitted
    instead: Instead | None = None


class Asks(msgspec.Struct, frozen=True, kw_only=True):
    """A person must be asked about it first."""

    passed: Passed
    ask: Ask
    edited: tuple[str, ...]
    """How people have changed its arguments before."""
    instead: Instead | None = None


Judged = Cleared | Asks | Refusal


async def judge_call(drive: Drive, call: CallState, *, repeats: bool = False, instead: Instead | None = None) -> Judged:
    """Judge the call by the facts of this moment. ``repeats``: it was dispatched before, so a stop or a steer does not
    take it back. ``instead``: as if this tool were to answer; in any case so once the log says it does.

    Raises:
        TrustBroken: what the installation trusts was altered.
    """
    if not repeats and withdrawn(drive, call):
        return CANCELLED
    in_force(drive.parts, drive.state)
    unproven = _unproven(drive)
    if unproven is not None:
        return unproven
    # A call that nobody was asked about costs no more than that.
    trusted = trust(drive) if call.asked is not None else None
    wrong = None if trusted is None else approval.fault(call, drive.session, trusted)
    instead = call.instead or instead
    passed = await _pass(drive, call, call.arguments(decided=wrong is None), instead)
    if isinstance(passed, Refusal):
        return passed
    spent = budgeting.used_up(drive, call)
    if spent is not None:
        return spent
    if trusted is None and passed.verdict.decision == "allow":
        return Cleared(passed=passed, permitted=Permitted(), instead=instead)
    decided = approval.decide(call, passed.verdict, subject(drive, passed), trusted or trust(drive), wrong)
    if isinstance(decided, Refusal):
        return decided
    if isinstance(decided, Ask):
        edits = call.edits if wrong is None else call.asked.edited if call.asked is not None else ()
        return Asks(passed=passed, ask=decided, edited=edits, instead=instead)
    return Cleared(passed=passed, permitted=decided, instead=instead)


def _unproven(drive: Drive) -> Refusal | None:
    """A refusal where what the call rests on is not whose it says it is: the session, or the order to undo."""
    wrong = requester_fault(drive)
    if wrong is not None:
        return Refusal(
            status=Status.PERMISSION_DENIED,
            code="requester_refused",
            message=f"Whoever began this session may not have this done: {wrong}. Nothing was executed.",
        )
    step = drive.state.step
    unproven = revert_fault(drive) if step is not None and step.model == REVERT else None
    if unproven is None:
        return None
    return Refusal(
        status=Status.PERMISSION_DENIED,
        code="revert_unproven",
        message=f"The revert that this call belongs to does not count: {unproven}. Nothing was executed.",
    )


async def _pass(drive: Drive, call: CallState, raw: Payload, instead: Instead | None) -> Passed | Refusal:
    """The gates up to the policy, on these arguments."""
    step = drive.state.step
    assert step is not None
    caller, tool, visible = REVERT if step.model == REVERT else "model", call.call.tool, step.visible
    if instead is not None:
        caller, tool, visible = FALLBACK, instead.tool, (VisibleTool(name=instead.tool, version=""),)
    case = Case(
        session=drive.session,
        requester=drive.state.requester,
        tool=tool,
        arguments=await payloads.load(drive.parts.blobs, raw),
        by_person=raw is not call.call.arguments,
        moment=Moment(at=call.proposed_at or drive.parts.clock.now(), zone=drive.parts.zone),
        visible=visible,
        succeeded=drive.state.succeeded,
        caller=caller,
        repeated=budgeting.repeated(drive, call) if instead is None else None,
        made=budgeting.made(drive, call) if instead is None else None,
        no_room=functools.partial(activating.no_room, drive) if drive.parts.catalogue.deferred else None,
    )
    passed = judge(case, drive.parts.catalogue, drive.parts.policy)
    if isinstance(passed, Refusal):
        return passed
    return secrets.missing(passed.entry.executor.spec, passed.arguments.value, drive.parts.secrets) or passed


def withdrawn(drive: Drive, call: CallState) -> bool:
    """Whether a call that was not dispatched yet is not wanted any more: a stop, or a user who steers."""
    step = drive.state.step
    steered = any(message.steer for message in drive.state.queued)
    return call.withdrawn or drive.state.stop or (steered and (step is None or step.model != REVERT))


def trust(drive: Drive) -> Trusted:
    """What answers to this session are checked by, now."""
    parts = drive.parts
    return Trusted(
        standing=in_force(parts, drive.state),
        verify=parts.trust.verified,
        asker=asker(drive),
        now=parts.clock.now(),
    )


def subject(drive: Drive, passed: Passed) -> Subject:
    """The call as it would be made now, as far as grants depend on it."""
    executor = passed.entry.executor
    arguments: Mapping[str, Any] = canon.parse(passed.arguments.text)
    return Subject(
        session=drive.session,
        requester=drive.state.requester,
        tool=executor.spec.name,
        tool_version=executor.version,
        executor=executor.identity,
        rules=passed.verdict.rules,
        arguments=arguments,
    )
