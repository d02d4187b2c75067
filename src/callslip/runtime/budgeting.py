"""What budgets and the loop guard say to one call, as the gate's answer (RESI-06, ARGS-05)."""

from __future__ import annotations

from callslip.core import budget, repeat
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
    message = f"The budget of {use.of:g} {what} for {whose} is used up. Nothing was executed. {then}"
    return Refusal(status=Status.PERMISSION_DENIED, code="budget_spent", message=message, rules=(use.name,))


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
        f"{most} calls of this session wait for a person's word already, and no more may. Nothing was executed. "
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
    """Set when the model has made this very call too often, and always come to the same end."""
    counts, step, limits = drive.state.counts, drive.state.step, drive.parts.limits
    if step is None or step.model == REVERT or call.dispatch is not None or call.asked is not None:
        return None
    if limits.same_failures and counts.failures:
        failed = counts.failures.get(repeat.call_key(call.call))
        if failed is not None and failed.before(step.step) >= limits.same_failures:
            return failed
    if limits.same_results and counts.results:
        given = counts.results.get(repeat.raw_key(call.call))
        if given is not None and given.before(step.step) >= limits.same_results:
            return given
    return None


def same_again(drive: Drive, call: CallState, response: FunctionResponse) -> int:
    """How often in this turn the call has given this very result, this time included; 0: not worth saying."""
    most, step = drive.parts.limits.same_results, drive.state.step
    known = drive.state.counts.results
    if not most or not known or step is None or step.model == CALLER or response.status is not Status.SUCCESS:
        return 0
    given = known.get(repeat.raw_key(call.call))
    often = 1 if given is None else given.before(step.step) + 1
    if given is None or often < max(most // 2, 2) or given.same != repeat.result_digest(response):
        return 0
    return often
