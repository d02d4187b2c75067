"""What budgets and the loop guard say to one call, as the gate's answer (RESI-06, ARGS-05)."""

from __future__ import annotations

from collections.abc import Callable

from callslip.core import budget, canon, repeat
from callslip.core.call import CallState
from callslip.core.counting import CALLER
from callslip.core.events.function_response import FunctionResponse
from callslip.core.repeat import Repeat
from callslip.core.result import Status
from callslip.core.undoing import REVERT
from callslip.core.wait import WaitKind
from callslip.gate.refusal import Refusal
from callslip.runtime.drive import Drive


def used_up(drive: Drive, call: CallState) -> Refusal | None:
    """A refusal where the calls of the turn or the session are used up. What was dispatched once goes on."""
    budgets, step = drive.parts.budgets, drive.state.step
    if budgets is None or step is None or step.model == REVERT or call.dispatch is not None:
        return None
    if step.model == CALLER:  # its turns are not known here
        budgets = budget.Budgets(session=budgets.session)
    proposed = [drive.state.calls[call_id].call for call_id in step.calls]
    use = budget.before_call(drive.state.counts, budgets, proposed, call.call.position)
    if use is None or use.of is None:
        return None
    scope, _, what = use.name.partition(".")
    whose = "this turn" if scope == "turn" else "this session"
    then = "Call no more tools: answer with what you have, and say what is missing."
    if what == "searches":
        then = "Do without searching: use the tools you have, or say what is missing."
    amount = f"{use.of:g} {budget.counted(what, use.of)}"
    message = f"The budget of {amount} for {whose} is used up. Nothing was executed. {then}"
    return Refusal(status=Status.PERMISSION_DENIED, code="budget_spent", message=message, rules=(use.name,))


def _waiting(calls: int) -> str:
    return f"{calls} calls of this session wait" if calls != 1 else "A call of this session waits"


def too_many_waiting(drive: Drive, call_id: str) -> Refusal | None:
    """A refusal where so many calls wait for a person that no further one may. Else the call has a place among them,
    which is held until :func:`asked`: siblings are judged side by side.
    """
    most = None if drive.parts.budgets is None else drive.parts.budgets.session.approvals
    if most is None:
        return None
    waits = drive.state.waits.values()
    waiting = {wait.call_id for wait in waits if wait.kind is WaitKind.APPROVAL} | drive.asking
    if len(waiting - {call_id}) < most:
        drive.asking.add(call_id)
        return None
    message = (
        f"{_waiting(most)} for a person's word already, and no more may. Nothing was executed. "
        "Call it again once they are answered, or do without."
    )
    return Refusal(
        status=Status.PERMISSION_DENIED,
        code="budget_spent",
        message=message,
        rules=("session.approvals",),
        retryable=True,
    )


def asked(drive: Drive, call_id: str) -> None:
    """The question stands in the log, or was not asked: its place need not be held any longer."""
    drive.asking.discard(call_id)


def repeated(drive: Drive, call: CallState) -> Repeat | None:
    """Set when the model has proposed this very call too often, and always come to the same end."""
    if not drive.state.counts.failures or not _guarded(drive, call):
        return None
    return _too_often(drive, repeat.call_key(call.call))


def made(drive: Drive, call: CallState) -> Callable[[str, bytes], Repeat | None] | None:
    """Tells whether the model has made too often what this call proves to be: by its tool and final arguments."""
    counts = drive.state.counts
    if not (counts.failures or counts.results) or not _guarded(drive, call):
        return None
    return lambda tool, text: _too_often(drive, repeat.final_key(tool, canon.digest(text)))


def _guarded(drive: Drive, call: CallState) -> bool:
    step = drive.state.step
    return step is not None and step.model != REVERT and call.dispatch is None and call.asked is None


def _too_often(drive: Drive, key: str) -> Repeat | None:
    counts, step, limits = drive.state.counts, drive.state.step, drive.parts.limits
    assert step is not None
    for known, most in ((counts.failures, limits.same_failures), (counts.results, limits.same_results)):
        one = known.get(key) if most else None
        if one is not None and one.before(step.step) >= most:
            return one
    return None


def same_again(drive: Drive, call: CallState, response: FunctionResponse) -> int:
    """How often in this turn the call has given this very result, this time included; 0: not worth saying."""
    most, step = drive.parts.limits.same_results, drive.state.step
    known = drive.state.counts.results
    if not most or not known or step is None or step.model == CALLER or response.status is not Status.SUCCESS:
        return 0
    given = known.get(repeat.key_of(call, response))
    often = 1 if given is None else given.before(step.step) + 1
    if given is None or often < max(most // 2, 2) or given.same != repeat.result_digest(response):
        return 0
    return often
