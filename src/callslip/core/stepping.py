"""Fold a step: what the model was asked, what it answered, what it proposed. Pure; used by ``core/fold`` alone."""

from __future__ import annotations

from callslip.core import counting, undoing
from callslip.core.broken import broken
from callslip.core.call import CallState, StepState
from callslip.core.event import Record
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.state import SessionState, StepItem, UserItem
from callslip.core.undoing import REVERT


def model_requested(state: SessionState, event: ModelRequested, record: Record, seq: int) -> None:
    if state.step is not None and any(state.calls[call].response is None for call in state.step.calls):
        raise broken(seq, f"step {event.step} begins while a call of step {state.step.step} has no response")
    if event.model == counting.CALLER:  # what was meant for the step before has done what it could
        state.stop, state.queued = False, [message for message in state.queued if not message.steer]
    elif event.model == REVERT:
        undoing.check_step(state, event.turn, seq)
    else:
        consumed = {message.seq: message for message in state.queued}
        for position in event.consumed:
            if position not in consumed:
                raise broken(seq, f"it shows user message {position}, which is not in the queue")
            state.items.append(UserItem(text=consumed[position].text))
        state.queued = [message for message in state.queued if message.seq not in event.consumed]
        state.model_failed = None
    if event.model != REVERT:
        if event.turn != state.turn:
            if state.turn or state.forked is None:
                state.activated = {}
            state.turn = event.turn
            state.steps_in_turn = 0
            state.turn_from = record.at
        state.steps_in_turn += 1
        state.turn_open = event.model != counting.CALLER
    visible = event.visible if event.visible is not None else state.step.visible if state.step else ()
    if event.preselected:
        versions = {tool.name: tool.version for tool in visible}
        if not versions.keys() >= set(event.preselected):
            raise broken(seq, f"step {event.step} was preselected tools that it was not shown")
        state.activated = state.activated | {name: versions[name] for name in event.preselected}
    _forget_step(state)
    state.step = StepState(step=event.step, turn=event.turn, model=event.model, visible=visible)
    if event.model == counting.CALLER:
        state.steps[event.step] = (seq, 0)


def model_replied(state: SessionState, event: ModelReplied, record: Record, seq: int) -> None:
    step = state.step
    if step is None or step.step != event.step or step.finish:
        raise broken(seq, f"a reply to step {event.step}, which was not asked")
    step.text, step.finish, step.expected, step.kept = event.text, event.finish, event.calls, event.kept
    if not event.calls and step.model != counting.CALLER:
        state.items.append(
            StepItem(step=step.step, text=event.text, finish=event.finish, model=step.model, kept=event.kept)
        )


def model_failed(state: SessionState, event: ModelFailed, record: Record, seq: int) -> None:
    before = 0 if state.model_failed is None else state.model_failed.attempt
    if event.attempt != before + 1:
        raise broken(seq, f"request {event.attempt} to the model failed after request {before}")
    if any(call.response is None for call in state.calls.values()):
        raise broken(seq, "the model was asked while a call has no response")
    if not before:
        state.model_failing_since = record.at
    state.model_failed = event


def function_call(state: SessionState, event: FunctionCall, record: Record, seq: int) -> None:
    step = state.step
    if step is None or step.step != event.step or event.position != len(step.calls) or not step.finish:
        raise broken(seq, f"{event.call_id} is not the next call of the current step")
    if len(step.calls) >= step.expected:
        raise broken(seq, f"the reply to step {step.step} made {step.expected} calls, and {event.call_id} is one more")
    if event.call_id in state.calls:
        raise broken(seq, f"{event.call_id} was proposed before")
    undoing.proposed(state, step, event, seq)
    step.calls.append(event.call_id)
    state.calls[event.call_id] = CallState(call=event, seq=seq, marker=state.marker, proposed_at=record.at)


def close_step(state: SessionState, seq: int) -> None:
    step = state.step
    if step is None or len(step.calls) < step.expected:
        return
    calls = [state.calls[call_id] for call_id in step.calls]
    responses = [call.response for call in calls if call.response is not None]
    if len(responses) < len(calls):
        return
    if step.model == REVERT:
        return
    if step.model == counting.CALLER:
        state.steps[step.step] = (state.steps[step.step][0], seq)
        return
    state.items.append(
        StepItem(
            step=step.step,
            text=step.text,
            finish=step.finish,
            calls=tuple(call.call for call in calls),
            responses=tuple(responses),
            edits={call.call.call_id: call.edits for call in calls if call.edits},
            model=step.model,
            kept=step.kept,
        )
    )


def _forget_step(state: SessionState) -> None:
    """Drop the calls of the step before: answered, and kept as an item of the conversation."""
    if state.step is not None:
        for call_id in state.step.calls:
            del state.calls[call_id]
