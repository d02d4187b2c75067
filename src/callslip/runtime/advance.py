"""Bring one call as far as it can come now: until it has its response, or waits.

New calls and calls found after a crash take the same way: ask the crash table, act, ask again.
"""

from __future__ import annotations

import asyncio

from callslip.core import crash, ids
from callslip.core.call import CallState
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.wait import WaitKind
from callslip.errors import Moved
from callslip.runtime import recover
from callslip.runtime.dispatch import again, dispatch
from callslip.runtime.drive import Drive
from callslip.runtime.live import Waiting

_PAUSE = 0.2
"""Seconds before a second attempt within a run; doubled for each further one."""

_AT_REST = (crash.Reuse, crash.AwaitVerdict, crash.AwaitClient)


def actionable(drive: Drive, call: CallState, *, first: bool) -> bool:
    """Whether anything can be done for the call now.

    ``first``: this run has not tried it yet. Afterwards only a verdict from outside gives reason to try again.
    """
    if isinstance(crash.judge(call, now=drive.parts.clock.now()), _AT_REST):
        return False
    if any(wait.call_id == call.call.call_id and wait.kind is WaitKind.TIME for wait in drive.state.waits.values()):
        return False
    return first or call.resolved is not None


async def advance(drive: Drive, call: CallState, stop: asyncio.Future[None]) -> None:
    """Act until the call is answered or waits."""
    ended_here = False
    for attempt in range(crash.MAX_ATTEMPTS * 4):
        now = drive.parts.clock.now()
        conclusion = crash.judge(call, now=now, ended_here=ended_here)
        match conclusion:
            case crash.Reuse() | crash.AwaitVerdict() | crash.AwaitClient():
                return
            case crash.GateAgain():
                made = await dispatch(drive, call, stop)
                if not made.begun:
                    return
                ended_here = made.ended
            case crash.Again():
                repeated = await _again(drive, call, stop, attempt)
                if repeated is None:
                    return
                ended_here = repeated
            case crash.AskProbe():
                conclusion = await recover.ask_probe(drive, call)
            case crash.CompareEvidence():
                conclusion = await recover.compare_evidence(drive, call)
            case crash.Settle():
                await recover.settle(drive, call, conclusion)
            case crash.SettleByVerdict():
                await recover.settle_by_verdict(drive, call)
            case crash.WaitUntil():
                if not await _wait(drive, call, conclusion, stop):
                    return
        if isinstance(conclusion, crash.Park):
            await recover.park(drive, call, conclusion)
            return
    await recover.park(
        drive, call, crash.Park(code="attempts_exhausted", reason="it could not be brought to an end in many tries")
    )


async def _again(drive: Drive, call: CallState, stop: asyncio.Future[None], round_: int) -> bool | None:
    """Repeat, within the run's own measure; ``None`` when the call was parked, or left to the next run, instead."""
    if not await recover.can_act(drive, call):
        await recover.park(drive, call, recover.GONE)
        return None
    if stop.done() or drive.state.stop or drive.paused:
        return None
    made_here = round_ if call.dispatch_epoch == drive.epoch else 0
    if made_here >= drive.parts.limits.in_run_attempts:
        await recover.park(
            drive, call, crash.Park(code="attempts_exhausted", reason=f"{call.attempts} attempts ended unclear")
        )
        return None
    if made_here:
        await drive.parts.clock.sleep(_PAUSE * 2 ** (made_here - 1))
    while True:
        try:
            return (await again(drive, call, stop)).ended
        except Moved:
            await drive.refresh()


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
                wait_id=ids.random_id("wait"),
                kind=WaitKind.TIME,
                reason=until.reason,
                call_id=call.call.call_id,
                wake_at=until.at,
            )
        )
    return False


def elapsed(drive: Drive) -> list[WaitClosed]:
    """Time waits that are over."""
    now = drive.parts.clock.now()
    return [
        WaitClosed(wait_id=wait.wait_id, how="elapsed", actor="clock")
        for wait in drive.state.waits.values()
        if wait.kind is WaitKind.TIME and wait.wake_at is not None and wait.wake_at <= now
    ]
