"""Undo a turn: the calls that undo its effects, one after the other, each through the same dispatch as any call
(RECO-07).

Which call undoes which is derived from the log, so a revert that was killed, or waits for an approval, is gone on with
by asking for it again: nothing is undone twice. A call that waits or fails ends it there, for what came before it may
rest on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from callslip import failpoint
from callslip.agent.loop import is_workspace
from callslip.agent.step import raw_arguments
from callslip.core import ids
from callslip.core.event import Event
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded, RunStatus
from callslip.core.events.session_started import WorkspaceIdentity
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.state import SessionState
from callslip.core.undoing import REVERT
from callslip.core.wait import Wait, WaitKind
from callslip.errors import Moved, TrustBroken, UsageError
from callslip.runtime import batch, compensate, payloads, trail
from callslip.runtime.compensate import Undo
from callslip.runtime.drive import Drive

Sign = Callable[[RevertStarted], RevertStarted]
"""Give the statement its proof."""


class Reverted(msgspec.Struct, frozen=True, kw_only=True):
    """What has come of a revert."""

    session: str
    turn: int
    status: Literal["reverted", "waiting", "failed"]
    """``reverted``: whatever can be undone is. ``waiting``, ``failed``: it ended at a call that waits, or failed;
    ask for the revert again to go on."""
    reason: str
    calls: tuple[Undo, ...]
    """Of all calls of the turn that took effect, the latest first: what has become of them."""
    waits: tuple[Wait, ...] = ()
    """What it waits for."""

    @property
    def undone(self) -> tuple[Undo, ...]:
        return tuple(one for one in self.calls if one.status == "undone")

    @property
    def not_undone(self) -> tuple[Undo, ...]:
        return tuple(one for one in self.calls if one.status != "undone")


def check(state: SessionState, turn: int, workspace: WorkspaceIdentity | None) -> None:
    """Refuse to undo anything while something else is open.

    Raises:
        UsageError: what is open, and how it is ended.
    """
    name, step = state.session, state.step
    opened = state.open_calls()
    reverting = step is not None and step.model == REVERT
    if opened and not reverting:
        raise UsageError(
            f"Session {name!r} can't be reverted: its call of {opened[0].call.tool} has no outcome yet. Nothing was "
            f"undone. `callslip waits {name}` says what it waits for; answer that first."
        )
    if opened and step is not None and step.turn != turn:
        raise UsageError(
            f"A revert of turn {step.turn} of session {name!r} is not over: its call of {opened[0].call.tool} has no "
            "outcome yet. Nothing was undone. Answer what it waits for, and revert that turn again, first."
        )
    if state.turn_open or state.queued:
        raise UsageError(
            f"Session {name!r} can't be reverted: its turn is not over, or it has words to read. Nothing was undone. "
            f"Let it end with `callslip resume {name}`, or `callslip stop {name}` it before."
        )
    if any(wait.kind is WaitKind.COPY for wait in state.waits.values()):
        raise UsageError(
            f"Session {name!r} can't be reverted: its log is a copy, and nobody has said that nothing was done, or "
            f"undone, since. Nothing was undone. `callslip waits {name}` says how that is answered."
        )
    if not is_workspace(state, workspace):
        raise UsageError(
            f"Session {name!r} can't be reverted here: this is not the workspace it works in. Nothing was undone."
        )


async def revert(drive: Drive, turn: int, workspace: WorkspaceIdentity | None, sign: Sign, reason: str) -> Reverted:
    """Undo the turn, and end the run.

    Raises:
        UsageError: something is open. NotFound: no such turn. NotAuthorised: ``sign`` says so. TrustBroken.
    """
    try:
        check(drive.state, turn, workspace)
        done = await _revert(drive, turn, sign, reason)
    except (UsageError, TrustBroken) as error:
        await _end(drive, "failed", str(error))
        raise
    status: RunStatus = "waiting" if done.status == "waiting" else "stopped" if drive.state.stop else "finished"
    await _end(drive, status, done.reason)
    return done


async def _revert(drive: Drive, turn: int, sign: Sign, reason: str) -> Reverted:
    calls = await compensate.plan(drive.parts, drive.state, turn)
    if not any(one.status in {"to_do", "waits"} for one in calls):
        return _told(drive, turn, calls, None)
    await _state(drive, turn, sign, reason)
    # First what a revert before this one has left, and only then what comes after it.
    for place, one in sorted(enumerate(calls), key=lambda placed: placed[1].status != "waits"):
        if one.status in {"to_do", "waits"}:
            await (_undo(drive, turn, one) if one.status == "to_do" else batch.settle_step(drive))
            calls[place] = _outcome(drive, one)
            if calls[place].status != "undone":
                return _told(drive, turn, calls, calls[place])
        elif one.status == "failed":
            return _told(drive, turn, calls, one)
    return _told(drive, turn, calls, None)


async def _state(drive: Drive, turn: int, sign: Sign, reason: str) -> None:
    """Record who has the turn undone."""
    while True:
        seq, judged = drive.state.seq, drive.state.outsider_seq
        try:
            await drive.append(sign(RevertStarted(turn=turn, actor="", prefix_seq=seq, reason=reason)), judged=judged)
        except Moved:
            continue
        return


async def _undo(drive: Drive, turn: int, undo: Undo) -> None:
    """Take the call that undoes it into the log, in a step of its own, and settle it."""
    before = drive.state.undone.get(undo.call_id)
    step = f"revert.{undo.call_id}.{1 if before is None else before.tries + 1}"
    visible = drive.parts.catalogue.visible([undo.by])
    call = FunctionCall(
        call_id=ids.call_id(drive.session, step, 0),
        step=step,
        position=0,
        tool=undo.by,
        arguments=await payloads.store(drive.parts.blobs, raw_arguments(undo.given)),
        undoes=undo.call_id,
    )
    failpoint.hit("reply.before")
    await drive.append(
        ModelRequested(step=step, turn=turn, model=REVERT, visible=visible),
        ModelReplied(step=step, text="", finish="calls", calls=1),
        call,
    )
    await batch.settle_step(drive)


def _outcome(drive: Drive, undo: Undo) -> Undo:
    """What has become of it."""
    now = drive.state.undone[undo.call_id]
    if now.status == "open":
        return msgspec.structs.replace(undo, status="waits")
    response = drive.state.calls[now.call_id].response
    message = response.error_message or "" if response is not None else ""
    return msgspec.structs.replace(undo, status=now.status, reason=message)


def _told(drive: Drive, turn: int, calls: Sequence[Undo], ended_at: Undo | None) -> Reverted:
    status: Literal["reverted", "waiting", "failed"] = "reverted"
    if ended_at is None:
        reason = f"turn {turn} is undone, as far as it can be"
    elif ended_at.status == "waits":
        status = "waiting"
        kinds = ", ".join(sorted({wait.kind.value for wait in drive.state.waits.values()}))
        reason = f"{ended_at.by}, which undoes {ended_at.tool}, waits{f' ({kinds})' if kinds else ''}"
    elif ended_at.status == "unknown":
        status, reason = "failed", f"nobody knows whether {ended_at.by} has undone {ended_at.tool}"
    else:
        status, reason = "failed", f"{ended_at.by} did not undo {ended_at.tool}: {ended_at.reason}"
    return Reverted(session=drive.session, turn=turn, status=status, reason=reason, calls=tuple(calls))


async def _end(drive: Drive, status: RunStatus, reason: str) -> None:
    """End the run. What came in meanwhile, and is not for a revert to do, wakes the session at once."""
    await trail.over(drive)
    failpoint.hit("run.ending")
    while True:
        state = drive.state
        events: list[Event] = []
        step = state.step
        others = state.open_calls() and (step is None or step.model != REVERT)
        if state.queued or state.turn_open or others:
            events.append(_wake(drive))
            status = "waiting"
        try:
            await drive.append(*events, RunEnded(status=status, reason=reason), judged=state.outsider_seq)
        except Moved:
            continue
        return


def _wake(drive: Drive) -> WaitOpened:
    return WaitOpened(
        wait_id=ids.wait_id("wait", drive.session),
        kind=WaitKind.TIME,
        reason="something came in while the session was reverted",
        wake_at=drive.parts.clock.now(),
    )
