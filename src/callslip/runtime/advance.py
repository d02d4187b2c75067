"""Bring one call as far as it can come now: until it has its response, or waits.

New calls and calls found after a crash take the same way: ask the crash table, act, ask again.
"""

from __future__ import annotations

import asyncio

from callslip.core import crash
from callslip.core.call import CallState
from callslip.core.wait import WaitKind
from callslip.errors import Moved
from callslip.runtime import breaking, pausing, poll, questions, recover
from callslip.runtime.closing import closing
from callslip.runtime.dispatch import again, dispatch
from callslip.runtime.drive import Drive
from callslip.runtime.holds import void
from callslip.runtime.judge import withdrawn
from callslip.runtime.proofs import verdict_fault


def actionable(drive: Drive, call: CallState, *, first: bool) -> bool:
    """Whether anything can be done for the call now.

    ``first``: this run has not tried it yet. Afterwards only what came from outside gives reason to try again: a
    verdict, an approval, a denial, a stop.
    """
    conclusion = _judge(drive, call)
    if _rests(drive, call, conclusion):
        return False
    if isinstance(conclusion, crash.AwaitApproval | crash.AwaitClient | crash.AwaitJob):
        return True
    if isinstance(conclusion, crash.PollJob):
        return first or poll.wanted(drive, call)
    if any(wait.call_id == call.call.call_id and wait.kind is WaitKind.TIME for wait in drive.state.waits.values()):
        return False
    return first or call.resolved is not None or isinstance(conclusion, crash.GateAgain)


def _judge(drive: Drive, call: CallState, rested: int = 0) -> crash.Conclusion:
    """``rested``: until when a pause of this run was to last that is over, whatever a clock that was set back says."""
    now = max(drive.parts.clock.now(), rested)
    return crash.judge(call, now=now, most=drive.parts.limits.retry.attempts)


def _rests(drive: Drive, call: CallState, conclusion: crash.Conclusion) -> bool:
    """Whether there is nothing to do but wait, or nothing at all. What asks a person, and a job that is not to be asked
    after yet, rest until they are not wanted any more.
    """
    match conclusion:
        case crash.Reuse() | crash.AwaitVerdict():
            return True
        case crash.AwaitApproval():
            return not withdrawn(drive, call)
        case crash.AwaitClient():
            question = call.dispatch is not None and call.dispatch.asks_user
            return not (question and withdrawn(drive, call))
        case crash.AwaitJob():
            return not poll.wanted(drive, call)
    return False


async def advance(drive: Drive, call: CallState, stop: asyncio.Future[None]) -> None:
    """Act until the call is answered or waits."""
    rested = 0
    for _ in range(max(crash.MAX_ATTEMPTS, drive.parts.limits.retry.attempts) * 4):
        try:
            conclusion = _judge(drive, call, rested)
            if isinstance(conclusion, crash.WaitUntil):
                paused = await pausing.pause(drive, call, conclusion)
                if paused is None:
                    return
                rested = max(rested, paused)
            elif not await _act(drive, call, stop, conclusion):
                return
        except Moved:
            continue  # somebody outside was quicker; what they said is folded now
    reason = "it could not be brought to an end in many tries"
    await recover.park(drive, call, crash.Park(code="attempts_exhausted", reason=reason))


async def _act(drive: Drive, call: CallState, stop: asyncio.Future[None], conclusion: crash.Conclusion) -> bool:
    """Do what the crash table says.

    Returns:
        Whether it should be asked again.

    Raises:
        Moved: an outsider's record came in; judge again.
    """
    judged = drive.state.outsider_seq
    forged = verdict_fault(drive, call)
    if forged is not None:
        conclusion = crash.Park(code="verdict_refused", reason=f"the verdict recorded on it does not count: {forged}")
    if _rests(drive, call, conclusion):
        return False
    left: crash.Conclusion | None
    match conclusion:
        case crash.GateAgain() | crash.AwaitApproval():
            return await dispatch(drive, call, stop)
        case crash.Again():
            return await _again(drive, call, stop, judged)
        case crash.PollJob() | crash.AwaitJob():
            left = await poll.ask_after(drive, call, judged, stop)
        case _:
            left = await _conclude(drive, call, conclusion, judged)
    if isinstance(left, crash.Park):
        await recover.park(drive, call, left)
        return False
    return left is not None and not isinstance(left, crash.AwaitJob)


async def _conclude(drive: Drive, call: CallState, conclusion: crash.Conclusion, judged: int) -> crash.Conclusion:
    """Bring a call to an end that needs no further dispatch; what is left to do then."""
    match conclusion:
        case crash.AskProbe():
            return await recover.ask_probe(drive, call, judged)
        case crash.CompareEvidence():
            return await recover.compare_evidence(drive, call, judged)
        case crash.Settle():
            await recover.settle(drive, call, conclusion, judged)
        case crash.GiveUp():
            await recover.give_up(drive, call, judged)
        case crash.SettleByVerdict():
            await recover.settle_by_verdict(drive, call, judged)
        case crash.AwaitClient():
            await questions.withdraw(drive, call, judged)
    return conclusion


async def _again(drive: Drive, call: CallState, stop: asyncio.Future[None], judged: int) -> bool:
    """Repeat; false when the call was parked, or left to the next run, instead."""
    if not await recover.can_act(drive, call):
        await recover.park(drive, call, recover.GONE)
        return False
    if stop.done() or drive.state.stop or not drive.may_begin():
        return False
    why = await void(drive, call)
    if why is not None:
        await recover.park(drive, call, crash.Park(code="approval_void", reason=why))
        return False
    until = await breaking.enter_again(drive, call)
    if until is not None:
        left_alone = crash.WaitUntil(at=until, reason="its tool fails at the moment, and is left alone")
        return await pausing.pause(drive, call, left_alone) is not None
    try:
        await again(drive, call, stop, judged, closing(drive, call.call.call_id))
    finally:
        breaking.leave(drive, call.call.call_id)
    return True
