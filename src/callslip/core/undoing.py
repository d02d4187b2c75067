"""What the fold makes of a turn that is undone (RECO-07). Pure; ``core/fold`` calls it.

Each call that undoes another stands in a step of its own, which is nobody's reply. So the conversation goes on where it
was: the turn, the queue and a stop are left as they are.
"""

from __future__ import annotations

from typing import Literal

from callslip.core.broken import broken
from callslip.core.call import CallState, StepState
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.revert_started import RevertStarted
from callslip.core.result import Effect, Status
from callslip.core.state import SessionState, Undoing, UndoneItem

REVERT = "revert"
"""The model name of such a step."""


def started(state: SessionState, event: RevertStarted, seq: int) -> None:
    if event.prefix_seq != state.seq:
        raise broken(seq, f"it was stated of the log at record {event.prefix_seq}, not at {state.seq}")
    reverting = state.step is not None and state.step.model == REVERT
    if state.turn_open or (state.open_calls() and not reverting):
        raise broken(seq, "a turn is undone while something is open")
    state.revert = event


def check_step(state: SessionState, turn: int, seq: int) -> None:
    if state.revert is None or state.revert.turn != turn or state.turn_open:
        raise broken(seq, f"a call of turn {turn} is undone, and nobody has asked for that")


def proposed(state: SessionState, step: StepState, event: FunctionCall, seq: int) -> None:
    """A call undoes another exactly where that is what its step is for; and a call is undone once."""
    if bool(event.undoes) is not (step.model == REVERT):
        raise broken(seq, f"{event.call_id} stands in a step that is not for it")
    if not event.undoes:
        return
    before = state.undone.get(event.undoes)
    if before is not None and before.status != "failed":
        raise broken(seq, f"{event.undoes} is undone a second time")
    tries = 1 if before is None else before.tries + 1
    state.undone[event.undoes] = Undoing(call_id=event.call_id, tries=tries, status="open")


def concluded(state: SessionState, call: CallState, event: FunctionResponse) -> None:
    undoes = call.call.undoes
    before = state.undone[undoes]
    state.undone[undoes] = Undoing(call_id=before.call_id, tries=before.tries, status=_status(event))
    state.items.append(UndoneItem(call=call.call, response=event))


def _status(event: FunctionResponse) -> Literal["undone", "failed", "unknown"]:
    if event.status is Status.SUCCESS or event.effect is Effect.DONE:
        return "undone"
    return "failed" if event.effect is Effect.NONE else "unknown"
