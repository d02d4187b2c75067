"""Ask the model again after it could not answer: by the one rule, with the pause on record (WIRE-06).

The pause stands in the log before it begins, so a process that is killed meanwhile leaves it to the next one, and the
model is asked as often as the settings say however many processes that takes. A pause that is longer than a run waits
by itself becomes a wait of kind ``time``; a worker goes on from there. What users say meanwhile is read with the next
request; it makes that come no earlier, since the server asked to be left alone.
"""

from __future__ import annotations

from callslip.core import ids
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.retry import Over, again_at
from callslip.core.sentence import sentence
from callslip.core.wait import WaitKind
from callslip.errors import ModelError, ModelUnavailable
from callslip.runtime.drive import Drive
from callslip.runtime.pausing import close_elapsed

REASON = "the model could not answer, and is asked again after a pause"


async def note(drive: Drive, error: ModelError, *, step: str, model: str) -> bool:
    """Record that the model could not answer, if it is to be asked again. False: it is not; the error then says how
    often it was asked.
    """
    if not isinstance(error, ModelUnavailable) or not error.can_retry:
        return False
    state, parts = drive.state, drive.parts
    now, before = parts.clock.now(), state.model_failed
    tried = 1 if before is None else before.attempt + 1
    again = again_at(
        parts.limits.retry,
        tried=tried,
        began=now if before is None else state.model_failing_since,
        now=now,
        asked=error.retry_after,
        draw=parts.draw(),
        left=drive.time_left(),
    )
    if isinstance(again, Over):
        if tried > 1 or again.why != "attempts":
            error.args = (f"{sentence(str(error))} {again.said(tried)}",)
        return False
    drive.will_pause("", again, now=now)
    message = parts.redactor.clean(str(error))
    await drive.append(
        ModelFailed(step=step, attempt=tried, model=model, code=error.code, message=message, retry_at=again)
    )
    return True


def due(drive: Drive) -> bool:
    """Whether the model may be asked now, as far as its earlier failures go."""
    failed = drive.state.model_failed
    return failed is None or max(drive.parts.clock.now(), drive.rested) >= failed.retry_at


def clocks(drive: Drive) -> list[WaitClosed]:
    """Ends the waits by which a clock would have the model asked again."""
    mine = (wait for wait in drive.state.waits.values() if wait.kind is WaitKind.TIME and wait.call_id is None)
    return [WaitClosed(wait_id=wait.wait_id, how="settled", actor="callslip") for wait in mine]


async def pause(drive: Drive) -> bool:
    """Wait until the model may be asked again, or something else is to be done.

    Returns:
        False: that is longer than a run waits. The wait for it is open; the run may end.
    """
    failed = drive.state.model_failed
    assert failed is not None
    seconds = drive.pause_left("", failed.retry_at)
    if seconds > drive.parts.limits.patience:
        mine = (wait for wait in drive.state.waits.values() if wait.kind is WaitKind.TIME and wait.call_id is None)
        if not any(wait.wake_at == failed.retry_at for wait in mine):
            wait_id = ids.wait_id("wait", drive.session)
            await drive.append(WaitOpened(wait_id=wait_id, kind=WaitKind.TIME, reason=REASON, wake_at=failed.retry_at))
        return False
    async with drive.listening():
        if await drive.rest(seconds, lambda: drive.state.stop or drive.paused):
            drive.rested = failed.retry_at
            await close_elapsed(drive)
    return True
