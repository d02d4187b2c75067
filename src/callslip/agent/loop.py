"""The ReAct loop: settle what is open, ask, record, settle; until an answer, or something to wait for (ORCH-01).

Every turn of the loop begins from the folded log alone, so a run that resumes takes the same way as one that never
stopped.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from callslip import failpoint
from callslip.agent import asking, spending
from callslip.agent.step import next_step, take_step
from callslip.agent.unless_stopped import Interrupted
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.session_started import WorkspaceIdentity
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.ids import wait_id
from callslip.core.state import SessionState
from callslip.core.wait import WaitKind
from callslip.errors import EmptyReply, IncompleteReply, ModelError, Moved, TrustBroken, UsageError
from callslip.ports.model import Model, Reply
from callslip.runtime import batch, pausing, poll, trail
from callslip.runtime.drive import Drive
from callslip.runtime.proofs import workspace_fault
from callslip.sessions.checkpoint import keep_up

_MOST_CUT_REPLIES = 2


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    status: Literal["finished", "waiting", "stopped"]
    text: str = ""
    """The final answer."""
    reason: str = ""
    limit: str = ""
    """What was used up, if that ended it."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run needs beside the session itself."""

    model: Model | None
    system: str
    workspace: WorkspaceIdentity | None
    stream: bool = False


async def drive_session(drive: Drive, plan: Plan) -> Ended:
    """Drive the session until it has an answer, waits or is stopped; the run is ended in the log.

    Raises:
        ModelError: the model gave nothing that can be used. TrustBroken: what the installation trusts was altered. The
        run is ended as failed and can be resumed.
    """
    steps = cut = 0
    while True:
        try:
            ended = await _reason_to_end(drive, plan, steps)
        except Moved:
            continue  # something came in while the run was about to end
        except TrustBroken as error:
            await _fail(drive, str(error), error.code)
            raise
        if ended is not None:
            return ended
        if not asking.due(drive):
            continue  # its pause was cut short: there is something else to do first
        reply = await _ask(drive, plan)
        if reply is None:
            continue
        steps += 1
        cut = cut + 1 if reply.finish in {"length", "cut", "filtered"} else 0
        await _check(drive, reply.finish, cut)
        await keep_up(drive.parts, drive.state)


async def _reason_to_end(drive: Drive, plan: Plan, steps: int) -> Ended | None:
    """Settle what is open; then, is there a reason not to ask the model now?"""
    await pausing.close_elapsed(drive)  # or a clock that has rung would wake the session again and again
    if any(wait.kind is WaitKind.COPY for wait in drive.state.waits.values()):
        return await _end(drive, "waiting", reason="it is not known what happened after this log was copied")
    if not await _same_workspace(drive, plan):
        await poll.postpone(drive, "not asked after: this is not the workspace the session began in")
        return await _end(drive, "waiting", reason="the workspace is not the one the session began in")
    settled = await batch.settle_step(drive)
    state, most = drive.state, drive.parts.limits.steps_per_turn
    if state.stop:
        return await _end(drive, "stopped", reason="asked to stop")
    if drive.out_of_time and not (settled and turn_over(state) and not state.queued):
        return await _end(drive, "stopped", reason=_used_up(drive), limit="turn.seconds")
    if drive.paused:
        reason = "the process was asked to end; resume to go on"
        if drive.left:
            reason = "the worker was asked to end; the next one goes on"
        return await _end(drive, "stopped", reason=reason, left=drive.left)
    if not settled:
        return await _end(drive, "waiting", reason=_waiting_for(state))
    if turn_over(state) and not state.queued:
        return await _end(drive, "finished", text=state.step.text if state.step else "")
    if steps >= most:
        reason = f"it used its {most} steps; resume to allow as many again"
        return await _end(drive, "stopped", reason=reason, limit="turn.steps")
    if not turn_over(state) and not drive.may_begin():
        return await _end(drive, "stopped", reason=_used_up(drive), limit="turn.seconds")
    used_up = await spending.used_up(drive, new_turn=turn_over(state))
    if used_up is not None:
        return await _end(drive, "stopped", reason=used_up.reason, limit=used_up.limit)
    if not asking.due(drive) and not await asking.pause(drive):
        return await _end(drive, "waiting", reason=WaitKind.TIME.value)
    return None


def _used_up(drive: Drive) -> str:
    return f"the turn used its {drive.parts.limits.turn_seconds:g} seconds; resume to allow as many again"


async def _ask(drive: Drive, plan: Plan) -> Reply | None:
    state = drive.state
    over = turn_over(state)
    if plan.model is None:
        await _fail(drive, "no model", UsageError.code)
        raise UsageError("This runtime has no model. Nothing was asked. Give one to Runtime(model=…), or --model.")
    try:
        return await take_step(
            drive,
            plan.model,
            system=plan.system,
            # A turn begins with all that is queued; within a turn only a steer is let in.
            consume=[message for message in state.queued if over or message.steer],
            turn=state.turn + 1 if over else state.turn,
            stream=plan.stream,
        )
    except Interrupted:
        return None
    except ModelError as error:
        turn = state.turn + 1 if over else state.turn
        if await asking.note(drive, error, step=next_step(drive, turn), model=plan.model.name):
            return None
        await _fail(drive, str(error), error.code)
        raise


def turn_over(state: SessionState) -> bool:
    """Whether the user's last words have their final answer."""
    step = state.step
    final = step is not None and step.turn == state.turn and step.finish == "stop" and not step.calls
    return final or not state.turn_open


async def _check(drive: Drive, finish: str, cut: int) -> None:
    """Fail the run on a reply that can't be used (CALL-08); a cut one is told to the model first (CALL-05)."""
    if finish == "empty":
        reason = "The model's reply held neither text nor calls. Nothing was executed. Resume to ask it again."
        await _fail(drive, reason, EmptyReply.code)
        raise EmptyReply(reason)
    if cut > _MOST_CUT_REPLIES:
        reason = (
            f"The model's reply was cut off {cut} times in a row ({finish}). Nothing of it was executed. "
            "Allow longer replies, or ask for less, then resume."
        )
        await _fail(drive, reason, IncompleteReply.code)
        raise IncompleteReply(reason)


def is_workspace(state: SessionState, here: WorkspaceIdentity | None) -> bool:
    """Whether the session works in the folder of here, by true identity."""
    known = state.workspace
    return known is None or here is None or (known.device, known.inode) == (here.device, here.inode)


async def _same_workspace(drive: Drive, plan: Plan) -> bool:
    """RECO-04: the folder is the one the session knows, or an operator said that another is meant."""
    same = is_workspace(drive.state, plan.workspace)
    accepted = drive.state.workspace_accepted
    asked = [wait for wait in drive.state.waits.values() if wait.kind is WaitKind.WORKSPACE]
    over = [WaitClosed(wait_id=wait.wait_id, how="settled", actor="callslip") for wait in asked]
    if same or (accepted is not None and accepted.workspace == plan.workspace and not workspace_fault(drive)):
        if over:
            await drive.append(*over)
        return True
    if not any(wait.workspace == plan.workspace for wait in asked):
        reason = "the workspace is another folder than the one the session began in; accept it, or go back to that one"
        wait = WaitOpened(
            wait_id=wait_id("wait", drive.session), kind=WaitKind.WORKSPACE, reason=reason, workspace=plan.workspace
        )
        await drive.append(*over, wait)
    return False


def _waiting_for(state: SessionState) -> str:
    kinds = sorted({wait.kind.value for wait in state.waits.values()})
    return ", ".join(kinds) if kinds else "a call has no outcome yet"


async def _end(
    drive: Drive,
    status: Literal["finished", "waiting", "stopped"],
    *,
    text: str = "",
    reason: str = "",
    left: bool = False,
    limit: str = "",
) -> Ended:
    """End the run.

    Raises:
        Moved: something has just come in from outside; look again.
    """
    await trail.over(drive)
    failpoint.hit("run.ending")
    ended = RunEnded(status="left" if left else status, reason=reason, limit=limit)
    # What is used up is not granted anew by a clock: a person has to go on.
    clocks = asking.clocks(drive) if limit else ()
    await drive.append(*clocks, ended, judged=drive.state.outsider_seq)
    return Ended(status=status, text=text, reason=reason, limit=limit)


async def _fail(drive: Drive, reason: str, code: str) -> None:
    await trail.over(drive)
    await drive.append(RunEnded(status="failed", reason=reason, code=code))
