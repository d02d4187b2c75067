"""Bring one call as far as it can come now: until it has its response, or waits.

New calls and calls found after a crash take the same way: ask the crash table, act, ask again.
"""

from __future__ import annotations

import asyncio

from callslip.core import crash, ids
from callslip.core.call import CallState
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.tool import Risk
from callslip.core.wait import WaitKind
from callslip.errors import Moved
from callslip.runtime import poll, questions, recover
from callslip.runtime.closing import closing
from callslip.runtime.dispatch import again, dispatch
from callslip.runtime.drive import Drive
from callslip.runtime.holds import void
from callslip.runtime.judge import withdrawn
from callslip.runtime.live import Waiting
from callslip.runtime.proofs import verdict_fault

_PAUSE = 0.2
"""Seconds before a second attempt within a run; doubled for each further one."""


def actionable(drive: Drive, call: CallState, *, first: bool) -> bool:
    """Whether anything can be done for the call now.

    ``first``: this run has not tried it yet. Afterwards only what came from outside gives reason to try again: a
    verdict, an approval, a denial, a stop.
    """
    conclusion = crash.judge(call, now=drive.parts.clock.now())
    if _rests(drive, call, conclusion):
        return False
    if isinstance(conclusion, crash.AwaitApproval | crash.AwaitClient | crash.AwaitJob):
        return True
    if isinstance(conclusion, crash.PollJob):
        return first or poll.wanted(drive, call)
    if any(wait.call_id == call.call.call_id and wait.kind is WaitKind.TIME for wait in drive.state.waits.values()):
        return False
    return first or call.resolved is not None or isinstance(conclusion, crash.GateAgain)


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
    for round_ in range(crash.MAX_ATTEMPTS * 4):
        try:
            if not await _act(drive, call, stop, round_):
                return
        except Moved:
            continue  # somebody outside was quicker; what they said is folded now
    reason = "it could not be brought to an end in many tries"
    await recover.park(drive, call, crash.Park(code="attempts_exhausted", reason=reason))


async def _act(drive: Drive, call: CallState, stop: asyncio.Future[None], round_: int) -> bool:
    """Ask the crash table once and do what it says.

    Returns:
        Whether it should be asked again.

    Raises:
        Moved: an outsider's record came in; judge again.
    """
    judged = drive.state.outsider_seq
    conclusion = crash.judge(call, now=drive.parts.clock.now())
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
            return await _again(drive, call, stop, round_, judged)
        case crash.WaitUntil():
            return await _wait(drive, call, conclusion, stop)
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
        case crash.SettleByVerdict():
            await recover.settle_by_verdict(drive, call, judged)
        case crash.AwaitClient():
            await questions.withdraw(drive, call, judged)
    return conclusion


async def _again(drive: Drive, call: CallState, stop: asyncio.Future[None], round_: int, judged: int) -> bool:
    """Repeat, within the run's own measure; false when the call was parked, or left to the next run, instead."""
    if not await recover.can_act(drive, call):
        await recover.park(drive, call, recover.GONE)
        return False
    assert call.dispatch is not None
    if stop.done() or drive.state.stop or drive.paused:
        return False
    made_here = round_ if call.dispatch_epoch == drive.epoch else 0
    if made_here >= drive.parts.limits.in_run_attempts and call.dispatch.risk is Risk.READ:
        await recover.settle(drive, call, crash.EXHAUSTED, judged)
        return False
    if made_here >= drive.parts.limits.in_run_attempts:
        await recover.park(
            drive, call, crash.Park(code="attempts_exhausted", reason=f"{call.attempts} attempts ended unclear")
        )
        return False
    if made_here:
        await drive.parts.clock.sleep(_PAUSE * 2 ** (made_here - 1))
    why = await void(drive, call)
    if why is not None:
        await recover.park(drive, call, crash.Park(code="approval_void", reason=why))
        return False
    await again(drive, call, stop, judged, closing(drive, call.call.call_id))
    return True


async def _wait(drive: Drive, call: CallState, until: crash.WaitUntil, stop: asyncio.Future[None]) -> bool:
    """Let the old attempt end: by sleeping, or by a wait that outlives the run.

    Returns:
        Whether the call may be judged again.
    """
    clock, limits = drive.parts.clock, drive.parts.limits
    if until.at is None:
        await clock.sleep(limits.grace)
        if crash.quiet_until(call) is None:
            await recover.park(
                drive, call, crash.Park(code="still_running", reason="something of its earlier attempt still runs")
            )
            return False
        return True
    seconds = (until.at - clock.now()) / 1000
    if seconds <= limits.patience:
        drive.parts.watch(Waiting(session=drive.session, reason=until.reason, until=until.at))
        timer = asyncio.ensure_future(clock.sleep(max(seconds, 0.001)))
        await asyncio.wait([timer, stop], return_when=asyncio.FIRST_COMPLETED)
        timer.cancel()
        return not stop.done()
    if not any(wait.call_id == call.call.call_id for wait in drive.state.waits.values()):
        await drive.append(
            WaitOpened(
                wait_id=ids.wait_id("wait", drive.session),
                kind=WaitKind.TIME,
                reason=until.reason,
                call_id=call.call.call_id,
                wake_at=until.at,
            )
        )
    return False


async def close_elapsed(drive: Drive) -> None:
    """Close the time waits that are over."""
    now = drive.parts.clock.now()
    over = [
        WaitClosed(wait_id=wait.wait_id, how="elapsed", actor="clock")
        for wait in drive.state.waits.values()
        if wait.kind is WaitKind.TIME and wait.wake_at is not None and wait.wake_at <= now
    ]
    if over:
        await drive.append(*over)
