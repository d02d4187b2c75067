"""Count what a record adds to what its session has used, and to what its model repeats. Pure.

Called by the fold for each record that is really there, after it was taken in; a rehearsal counts nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from callslip.core import repeat
from callslip.core.event import Record, Stored
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.context_compacted import ContextCompacted
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.payload import Payload
from callslip.core.repeat import Repeat
from callslip.core.result import Status
from callslip.core.spent import Counts, Spent
from callslip.core.state import SessionState
from callslip.core.tool import Risk
from callslip.core.undoing import REVERT

CALLER = "caller"
"""The model name of a dispatcher's steps, whose turns Callslip does not know."""
SEARCH = "tool_search"
"""The tool by which a model searches for tools."""
SPENT = "budget_spent"
"""Code of a call that is not made because a budget is used up."""
TURN_CALLS, SESSION_CALLS = "turn.calls", "session.calls"
DAY_MS = 86_400_000


def count(state: SessionState, stored: Stored) -> None:
    """Take one more record into account."""
    counts, record = state.counts, stored.record
    rule = _RULES.get(type(record.event))
    if rule is not None:
        rule(state, counts, record.event, record)
    counts.at = record.at
    counts.session.log_bytes += stored.size
    counts.turn.log_bytes += stored.size


def _run_started(state: SessionState, counts: Counts, event: RunStarted, record: Record) -> None:
    if counts.run_from:  # the run before broke off: it lasted until its last record, as far as anybody knows
        counts.ran_ms += max(counts.at - counts.run_from, 0)
    counts.run_from = record.at
    if counts.limit:
        _grant(counts)
    elif state.turn_open:
        counts.turn.wakeups += 1
        counts.session.wakeups += 1


def _grant(counts: Counts) -> None:
    """Whoever goes on after a limit of the turn allows as much again of what was used up; of nothing else."""
    scope, _, what = counts.limit.partition(".")
    if counts.limit == repeat.LOOP:
        counts.failures, counts.results = {}, {}
    elif scope == "turn" and what == "calls":
        counts.turn.calls = counts.told = 0
    elif scope == "turn" and what == "tokens":
        counts.turn.input_tokens = counts.turn.output_tokens = 0
    elif scope == "turn" and what == "money":
        counts.turn.cost_micros = counts.turn.unpriced = 0
    elif scope == "turn" and what in Spent.__struct_fields__:
        setattr(counts.turn, what, 0)
    counts.limit = ""


def _run_ended(state: SessionState, counts: Counts, event: RunEnded, record: Record) -> None:
    counts.ran_ms += max(record.at - counts.run_from, 0)
    counts.run_from = 0
    counts.limit = event.limit


def _model_requested(state: SessionState, counts: Counts, event: ModelRequested, record: Record) -> None:
    if event.model == REVERT:
        return
    if event.model == CALLER:
        if counts.failures:
            old = [key for key, one in counts.failures.items() if record.at - one.at > repeat.WINDOW_MS]
            for key in old:
                del counts.failures[key]
        return
    if event.turn != counts.of_turn:
        counts.of_turn = event.turn
        counts.turn = Spent()
        counts.told, counts.told_step = 0, ""
        counts.failures, counts.results = {}, {}
    elif event.consumed:  # the user has said something: what they are told may be another thing now
        counts.failures, counts.results = {}, {}


def _model_replied(state: SessionState, counts: Counts, event: ModelReplied, record: Record) -> None:
    if record.at // DAY_MS != counts.day:
        counts.day, counts.today = record.at // DAY_MS, Spent()
    _blob(counts, event.kept)
    usage = event.usage
    if not (usage.input_tokens or usage.output_tokens or usage.cost_micros):
        return
    for spent in (counts.session, counts.turn, counts.today):
        spent.input_tokens += usage.input_tokens
        spent.output_tokens += usage.output_tokens
        if usage.cost_micros is None:
            spent.unpriced += 1
        else:
            spent.cost_micros += usage.cost_micros


def _function_call(state: SessionState, counts: Counts, event: FunctionCall, record: Record) -> None:
    if event.undoes:  # an operator's, not the model's
        return
    session, turn = counts.session, counts.turn
    session.calls += 1
    turn.calls += 1
    counts.today.calls += 1
    if event.tool == SEARCH:
        session.searches += 1
        turn.searches += 1
    if event.arguments.blob:
        _blob(counts, event.arguments)


def _function_response(state: SessionState, counts: Counts, event: FunctionResponse, record: Record) -> None:
    call, step = state.calls[event.call_id], state.step
    if event.evidence or event.shown is not None or (event.structured is not None and event.structured.blob):
        _blob(counts, event.structured)
        _blob(counts, event.shown)
        kept = event.structured.blob if event.structured is not None else ""
        size = sum(one.size for one in event.evidence if one.address != kept)
        counts.session.blob_bytes += size
        counts.turn.blob_bytes += size
    if step is None or step.model == REVERT:
        return
    if event.status is Status.SUCCESS:
        if call.dispatch is not None and call.dispatch.risk is not Risk.READ:
            _world_changed(counts)
        elif step.model != CALLER:
            key, same = repeat.key_of(call, event), repeat.result_digest(event)
            now = Repeat(same=same, count=1, step=step.step, at=record.at, succeeded=True, call_id=event.call_id)
            repeat.keep(counts.results, key, repeat.once_more(counts.results.get(key), now))
        return
    if event.error_code == SPENT:
        if step.step != counts.told_step and (TURN_CALLS in event.rules or SESSION_CALLS in event.rules):
            counts.told, counts.told_step = counts.told + 1, step.step
    elif event.error_code == repeat.LOOP:
        _looped(counts, event.same_as, step.step)
    elif repeat.counts_as_failure(event):
        key = repeat.key_of(call, event)
        code = event.error_code or event.status.value
        now = Repeat(same=code, count=1, step=step.step, at=record.at, lane=event.lane, call_id=event.call_id)
        repeat.keep(counts.failures, key, repeat.once_more(counts.failures.get(key), now))


def _world_changed(counts: Counts) -> None:
    """A call has written: what failed in the world, or gave the same again, may now come to another end. What the gate
    or a person refused was refused for what it says.
    """
    if counts.results:
        counts.results = {}
    if counts.failures:
        counts.failures = {key: one for key, one in counts.failures.items() if one.lane == "refused"}


def _looped(counts: Counts, same_as: str, step: str) -> None:
    for known in (counts.failures, counts.results):
        for key, before in known.items():
            if before.call_id == same_as:
                repeat.keep(known, key, repeat.insisted(before, step))
                break


def _background_started(state: SessionState, counts: Counts, event: BackgroundStarted, record: Record) -> None:
    _blob(counts, event.handle)


def _context_compacted(state: SessionState, counts: Counts, event: ContextCompacted, record: Record) -> None:
    _blob(counts, event.summary)


def _blob(counts: Counts, payload: Payload | None) -> None:
    if payload is not None and payload.blob:
        counts.session.blob_bytes += payload.size
        counts.turn.blob_bytes += payload.size


_RULES: dict[type[Any], Callable[[SessionState, Counts, Any, Record], None]] = {
    RunStarted: _run_started,
    RunEnded: _run_ended,
    ModelRequested: _model_requested,
    ModelReplied: _model_replied,
    FunctionCall: _function_call,
    FunctionResponse: _function_response,
    BackgroundStarted: _background_started,
    ContextCompacted: _context_compacted,
}
