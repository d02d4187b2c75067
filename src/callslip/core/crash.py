"""The crash table: what may be concluded of a call whose process died, and what may be done next.

Pure. ``judge`` reads a folded call and the time; it never asks, runs or writes anything. The table, row by row, stands
in docs/explain/crash-table.md; its claim is: never repeated unless declared safe, otherwise settled by evidence or
parked. ``runtime/recover`` acts on the conclusions.
"""

from __future__ import annotations

import msgspec

from callslip.core.attempts import HERE
from callslip.core.call import CallState
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.result import Effect, Status
from callslip.core.sealing import COPY, ELSEWHERE
from callslip.core.tool import Recovery, Risk

MAX_ATTEMPTS = 5
"""After so many attempts a call is not tried again, unless the settings say otherwise: one that kills its process must
not do so for ever."""

RETRY = "it failed, and is tried again after a pause"


class Reuse(msgspec.Struct, frozen=True):
    """The call has its response; it is never executed again."""


class GateAgain(msgspec.Struct, frozen=True):
    """It certainly did not happen: today's gate decides, and may dispatch it."""


class Again(msgspec.Struct, frozen=True):
    """Declared safe to repeat: dispatch with the same idempotency key, as a new attempt."""


class AskProbe(msgspec.Struct, frozen=True):
    """Ask the tool's probe whether it happened."""


class CompareEvidence(msgspec.Struct, frozen=True):
    """Take the target's digest now and compare it with those in T1."""


class Settle(msgspec.Struct, frozen=True, kw_only=True):
    """Answer it with a failure whose effect is unknown; for calls that only read."""

    status: Status
    code: str
    effect: Effect = Effect.UNKNOWN


class GiveUp(msgspec.Struct, frozen=True):
    """Answer it with what its latest attempt failed with: it is not tried again."""


EXHAUSTED = Settle(status=Status.RETRYABLE_ERROR, code="attempts_exhausted")
"""For a call that only reads and never ended with an answer."""


class SettleByVerdict(msgspec.Struct, frozen=True):
    """The operator said what happened, or gave up."""


class Park(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing can tell: a person must."""

    code: str
    reason: str


class AwaitVerdict(msgspec.Struct, frozen=True):
    """Parked already, no answer yet."""


class AwaitApproval(msgspec.Struct, frozen=True):
    """A person was asked, no answer yet."""


class AwaitClient(msgspec.Struct, frozen=True):
    """Handed out to its client, no answer yet."""


class AwaitJob(msgspec.Struct, frozen=True):
    """Its job goes on outside, and is not to be asked after yet."""


class PollJob(msgspec.Struct, frozen=True):
    """Ask after its job. Whoever started it may have ended: it is known by its handle."""


class WaitUntil(msgspec.Struct, frozen=True, kw_only=True):
    """The old attempt has not provably ended. ``at`` is in milliseconds since 1970; ``None``: it can't be known."""

    at: int | None
    reason: str


Conclusion = (
    Reuse | GateAgain | Again | AskProbe | CompareEvidence | Settle | GiveUp | SettleByVerdict | Park | AwaitVerdict
    | AwaitApproval | AwaitClient | AwaitJob | PollJob | WaitUntil
)  # fmt: skip

_ASK_AGAIN = frozenset({"probe_failed", "still_running"})
"""Parked for want of an answer that may come by itself: judged anew at each resume."""

_POLL_AGAIN = frozenset({"tool_gone", "job_overdue"})
"""The same of a call whose job is known."""


def judge(call: CallState, *, now: int, most: int = MAX_ATTEMPTS) -> Conclusion:
    """What may be done with a call, by the log alone.

    Args:
        call: the folded call.
        now: milliseconds since 1970, UTC.
        most: how often it may be tried.
    """
    if call.response is not None:
        return Reuse()
    if call.resolved is not None and call.resolved.verdict != "did_not_happen":
        return SettleByVerdict()
    if call.resolved is not None:
        return AwaitApproval() if call.pending else GateAgain()
    if call.parked is not None and not _may_be_told(call, call.parked.code):
        return AwaitVerdict()
    if call.pending and (call.marker or call.dispatch is not None):
        return AwaitApproval()
    if call.dispatch is None:
        if call.marker:
            return GateAgain()
        return Park(code="no_marker", reason="the log does not prove that it was never dispatched")
    if call.dispatch.client_owned:
        return AwaitClient()
    if call.job is not None:
        return _job(call, now)
    if call.failed is not None and call.failed.effect is Effect.NONE:
        return _no_effect(call, call.failed, now, most)
    return _unknown_outcome(call, now, most)


def _may_be_told(call: CallState, code: str) -> bool:
    """Whether a parked call may get its answer without a person."""
    return call.dispatch is not None and code in (_ASK_AGAIN if call.job is None else _POLL_AGAIN)


def _job(call: CallState, now: int) -> Conclusion:
    """A job that was started is asked after, and never started again."""
    wake_at = call.wake_at
    assert wake_at is not None
    return AwaitJob() if call.parked is None and now < wake_at else PollJob()


def _no_effect(call: CallState, failed: AttemptFailed, now: int, most: int) -> Conclusion:
    """It may be made again, once its pause is over and as long as it was not tried too often."""
    if failed.instead is not None:  # another tool is to answer, and has not been tried yet
        return GateAgain()
    if call.tried >= most or failed.last:
        return GiveUp()
    if failed.retry_at is not None and now < failed.retry_at:
        return WaitUntil(at=failed.retry_at, reason=RETRY)
    return GateAgain()


def _unknown_outcome(call: CallState, now: int, most: int) -> Conclusion:
    dispatch = call.dispatch
    assert dispatch is not None
    if dispatch.recovery is Recovery.NEVER:
        if dispatch.risk is Risk.READ:
            late = now >= dispatch.deadline
            return Settle(
                status=Status.TIMEOUT if late else Status.FATAL_ERROR,
                code="timeout" if late else "interrupted",
            )
        return Park(code="unknown_outcome", reason=_unclear(call))
    until = quiet_until(call)
    if until is None or now < until:
        return WaitUntil(at=until, reason="its earlier attempt may still take effect")
    if dispatch.recovery is Recovery.IDEMPOTENT:
        return _repeat(call, dispatch, now, most)
    if dispatch.recovery is Recovery.PROBE:
        return AskProbe()
    if dispatch.evidence is None:
        return Park(code="unknown_outcome", reason="no evidence was taken before its dispatch")
    return CompareEvidence()


def _repeat(call: CallState, dispatch: ToolDispatch, now: int, most: int) -> Conclusion:
    """Make an attempt that is declared safe to repeat again, unless it was made too often or would fail the same."""
    failed = call.failed
    stays = failed is not None and failed.transient is False
    if call.tried >= most or (failed is not None and failed.last):
        if dispatch.risk is Risk.READ:
            return EXHAUSTED if failed is None or failed.transient is None else GiveUp()
        if stays:
            return Park(code="unknown_outcome", reason=_unclear(call))
        times = f"{call.tried} attempts" if call.tried > 1 else "its one attempt"
        earlier = _earlier(call) if call.unclear else ""
        return Park(code="attempts_exhausted", reason=f"{times} ended without an answer{earlier}")
    if failed is not None and failed.retry_at is not None and now < failed.retry_at:
        return WaitUntil(at=failed.retry_at, reason=RETRY)
    return Again()


def _unclear(call: CallState) -> str:
    if call.failed is None:
        return "it was dispatched and no outcome was recorded"
    if call.unclear:
        return f"its latest attempt, {call.attempts}, failed ({call.failed.code}){_earlier(call)}"
    return f"its attempt failed ({call.failed.code}), and nothing tells whether it took effect"


def _earlier(call: CallState) -> str:
    """What is known of the attempts that the latest has repeated, as the end of a sentence. That one tells of itself
    only, also where it says that nothing was executed: what was in its way may be what an earlier one has done.
    """
    many = call.unclear
    which = f"attempt {many[0]}" if len(many) == 1 else f"attempts {many[0]} to {many[-1]}"
    version = None if call.dispatch is None else call.dispatch.version
    look = "Look at what it changes"
    if version is not None:
        look = f"Look what has become of {version.of}: that its version is another may be this call's own doing"
    return f"; {which} may have taken effect, whatever the latest says. {look}"


def quiet_until(call: CallState) -> int | None:
    """When the latest attempt has provably ended, in milliseconds since 1970; ``None`` when nothing shows it.

    Same host: its owner's lock was seen free and its processes gone, and then its quiet period passed, since a
    request already sent may still arrive. Elsewhere: its deadline and then its quiet period passed. In a log that was
    copied: the same, for an attempt that began when the copy was taken in. Its own process saw it end: then its quiet
    period passed, except before a repeat that is declared safe in itself.
    """
    dispatch = call.dispatch
    assert dispatch is not None
    if call.ended_seen_at is None:
        return None
    if call.ended_how == ELSEWHERE:
        return dispatch.deadline + dispatch.quiet_ms
    if call.ended_how == COPY:
        latest = call.ended_seen_at + dispatch.deadline - call.dispatched_at
        return max(dispatch.deadline, latest) + dispatch.quiet_ms
    seen_by_itself = call.ended_how == HERE and call.failed is not None
    at_once = dispatch.local_effect or (seen_by_itself and dispatch.recovery is Recovery.IDEMPOTENT)
    return call.ended_seen_at + (0 if at_once else dispatch.quiet_ms)


def after_probe(*, happened: bool | None) -> Conclusion:
    """What a probe's answer means. ``True`` is settled with the probe's result by whoever asked."""
    if happened is None:
        return Park(code="probe_failed", reason="the tool's probe could not tell whether it happened")
    return Reuse() if happened else Again()


def after_evidence(call: CallState, now_digest: str) -> Conclusion:
    """What the target's digest now means, beside those taken before the dispatch."""
    assert call.dispatch is not None
    assert call.dispatch.evidence is not None
    if now_digest == call.dispatch.evidence.after:
        return Reuse()
    if now_digest == call.dispatch.evidence.before:
        return Again()
    return Park(code="evidence_differs", reason="its target is neither as before nor as it would be after")
