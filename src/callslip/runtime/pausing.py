"""Let time pass before a call may be acted upon: in the run itself, or by a wait that outlives it.

While it pauses a call holds nothing. How long it pauses stands in the log, so a process that is killed meanwhile
leaves it to the next one as it was.
"""

from __future__ import annotations

from callslip.core import crash, ids
from callslip.core.call import CallState
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.result import Effect
from callslip.core.wait import WaitKind
from callslip.runtime import recover
from callslip.runtime.drive import Drive
from callslip.runtime.judge import withdrawn
from callslip.runtime.live import Waiting


async def pause(drive: Drive, call: CallState, until: crash.WaitUntil) -> int | None:
    """Wait until the call may be judged again.

    Returns:
        The time at which it may be, in milliseconds since 1970, also where the clock was set back meanwhile; ``None``:
        it is settled, parked, or left to a later run.

    Raises:
        Moved: an outsider's record came in; judge again.
    """
    if until.at is None:
        return await _still_running(drive, call)
    judged = drive.state.outsider_seq
    if _unwanted(drive, call):
        await recover.give_up(drive, call, judged, "It was not tried again, since it is not wanted any more.")
        return None
    seconds = drive.pause_left(call.call.call_id, until.at)
    if seconds > drive.parts.limits.patience:
        await _wait_durably(drive, call, until)
        return None
    if until.reason != crash.RETRY:  # the failure before it has told of that pause
        drive.parts.watch(Waiting(session=drive.session, reason=until.reason, until=until.at))
    if await drive.rest(seconds, lambda: drive.state.stop or not drive.may_begin() or _unwanted(drive, call)):
        await close_elapsed(drive)
        return until.at
    return 0 if _unwanted(drive, call) else None


def _unwanted(drive: Drive, call: CallState) -> bool:
    """Whether a call that certainly had no effect is not wanted any more: a stop came, or a steer."""
    nothing = call.failed is not None and call.failed.effect is Effect.NONE
    return nothing and not drive.paused and withdrawn(drive, call)


async def _still_running(drive: Drive, call: CallState) -> int | None:
    await drive.parts.clock.sleep(drive.parts.limits.grace)
    if crash.quiet_until(call) is not None:
        return 0
    reason = "something of its earlier attempt still runs"
    await recover.park(drive, call, crash.Park(code="still_running", reason=reason))
    return None


async def _wait_durably(drive: Drive, call: CallState, until: crash.WaitUntil) -> None:
    if any(wait.call_id == call.call.call_id for wait in drive.state.waits.values()):
        return
    wait = WaitOpened(
        wait_id=ids.wait_id("wait", drive.session),
        kind=WaitKind.TIME,
        reason=until.reason,
        call_id=call.call.call_id,
        wake_at=until.at,
    )
    await drive.append(wait)


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
