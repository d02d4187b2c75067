"""What a failed attempt means: what kind of fault it was, what it did, and when it is made again (RESI-01, RESI-02)."""

from __future__ import annotations

from callslip.core import fault as faults
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.fault import UNKNOWN, Fault
from callslip.core.result import Effect
from callslip.core.retry import Over, again_at
from callslip.core.tool import Recovery, Risk
from callslip.errors import Conflict, ToolFailed
from callslip.ports.executor import Classifier, Executor
from callslip.runtime.drive import Drive
from callslip.runtime.outcome import Attempt, Failure, Raised, effect_of


def failure(
    drive: Drive, executor: Executor, dispatch: ToolDispatch, attempt: Attempt, *, repeats: bool = False
) -> Failure:
    """Judge an attempt of this process that has just failed; how often the call was tried is read off the log.

    ``repeats``: an earlier attempt may have had its effect.
    """
    now = drive.parts.clock.now()
    fault = _fault(executor, attempt, now)
    effect = effect_of(dispatch, attempt, fault)
    if repeats and effect is Effect.NONE and _of_itself(dispatch, attempt):
        effect = Effect.UNKNOWN
    call = drive.state.calls[dispatch.call_id]
    again: int | Over | None = None
    if _may_be_tried(dispatch, fault, effect):
        again = again_at(
            drive.parts.limits.retry,
            tried=call.tried,
            began=call.first_failed_at or now,
            now=now,
            asked=fault.retry_after,
            draw=drive.parts.draw(),
            # What may have happened can't be answered for want of time: it is left to the next run.
            left=drive.time_left() if effect is Effect.NONE else None,
        )
        if isinstance(again, int):
            drive.will_pause(dispatch.call_id, again, now=now)
    return Failure(fault=fault, effect=effect, again=again, tried=call.tried)


def _of_itself(dispatch: ToolDispatch, attempt: Attempt) -> bool:
    """Whether a repeat that has done nothing tells of itself only: that it was never begun, found the service down, or
    was refused, since what it would change is not as it was; and it may be the earlier attempt that has changed it. A
    tool that knows better says so: by its key the service knows both attempts.
    """
    if dispatch.risk is Risk.READ:
        return False
    error = attempt.error if isinstance(attempt, Raised) else None
    return not isinstance(error, ToolFailed) or isinstance(error, Conflict) or error.transient


def _may_be_tried(dispatch: ToolDispatch, fault: Fault, effect: Effect) -> bool:
    """Of a call that may have had its effect, an attempt that is safe to repeat also finds out what has become of it:
    so it is made unless it would certainly fail the same way.
    """
    if effect is Effect.NONE:
        return fault.transient is True
    return effect is Effect.UNKNOWN and dispatch.recovery is Recovery.IDEMPOTENT and fault.transient is not False


def _fault(executor: Executor, attempt: Attempt, now: int) -> Fault:
    """By the tool's own word, else by what is known of such exceptions."""
    if not isinstance(attempt, Raised):
        return UNKNOWN
    error = attempt.error
    if isinstance(error, Conflict):
        return Fault(transient=False)
    if isinstance(error, ToolFailed):
        return Fault(transient=True if error.transient else None, retry_after=_seconds(error.retry_after))
    own = _own(executor, error)
    if own is None:
        return faults.classify(error, now=now)
    known = faults.classify(error, now=now)
    return Fault(
        transient=known.transient if own.transient is None else own.transient,
        effect=own.effect,
        retry_after=known.retry_after if own.retry_after is None else _seconds(own.retry_after),
        said=str(own.said or known.said),
        network=own.network or known.network,
    )


def _own(executor: Executor, error: BaseException) -> Fault | None:
    """What the tool's classifier says. One that fails, or gives something else, says nothing."""
    if not isinstance(executor, Classifier):
        return None
    try:
        said = executor.classify(error)
    except Exception:  # noqa: BLE001 - the tool author's code; the failure it was to judge is recorded all the same
        return None
    return said if isinstance(said, Fault) else None


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
