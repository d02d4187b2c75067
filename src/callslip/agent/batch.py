"""A step dispatched for somebody else's loop: taken into the log, and given back as a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callslip.agent.given_back import given_back
from callslip.agent.showing import for_caller
from callslip.agent.step import raw_arguments, record
from callslip.core import canon, fold, ids, layers
from callslip.core.call import CallState
from callslip.core.erasure import NOTHING, by_now
from callslip.core.event import Event, Stored
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_requested import ModelRequested
from callslip.core.message import ResultMessage
from callslip.core.result import Effect, Outcome, Status, ToolResult
from callslip.core.state import SessionState
from callslip.core.wait import Wait, WaitKind
from callslip.errors import StepConflict, StillWaiting, UsageError
from callslip.ports.model import Proposal, Reply
from callslip.runtime import payloads
from callslip.runtime.drive import Drive
from callslip.runtime.parts import Parts
from callslip.runtime.proofs import check_client_results
from callslip.sessions.project import result

_WAIT_CODES = {
    WaitKind.APPROVAL: "approval",
    WaitKind.CLIENT: "client",
    WaitKind.QUESTION: "question",
    WaitKind.BACKGROUND: "background",
    WaitKind.PARKED: "parked",
    WaitKind.TIME: "time",
}


_SHAPES = "Give a Proposal, or a tool call as OpenAI, Anthropic, Gemini or Mistral sends it."


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """A step's outcomes, in the order of its calls."""

    session: str
    step: str
    results: tuple[Outcome, ...]
    waits: tuple[Wait, ...]
    texts: tuple[ResultMessage, ...]

    def messages(self, provider: str) -> list[dict[str, Any]]:
        """The results as messages, or input items, for a provider: ``openai_chat``, ``openai_responses``,
        ``anthropic``, ``gemini`` or ``mistral``.

        Raises:
            StillWaiting: a call of the batch has no answer yet; dispatch the step again once it has.
        """
        waiting = [outcome for outcome in self.results if outcome.status is Status.PENDING_APPROVAL]
        if waiting:
            raise StillWaiting(
                f"Call {waiting[0].call_id} ({waiting[0].tool}) still waits ({waiting[0].error_code}). "
                "Nothing was given back. Dispatch the same step again once it is answered."
            )
        return given_back(provider, self.texts)


def proposal(call: Proposal | Mapping[str, Any]) -> Proposal:
    """A provider's tool-call object as a proposal.

    Raises:
        UsageError: of no known shape.
    """
    if isinstance(call, Proposal):
        return call
    dump = getattr(call, "model_dump", None)
    if callable(dump):  # what the OpenAI and Anthropic SDKs give
        call = dump()
    if not isinstance(call, Mapping):
        raise UsageError(f"A call of type {type(call).__name__} has no known shape. Nothing was executed. {_SHAPES}")
    function = call.get("function")
    if isinstance(function, Mapping):  # OpenAI Chat Completions
        return Proposal(
            tool=str(function.get("name", "")),
            arguments=function.get("arguments", ""),
            provider_id=str(call.get("id") or ""),
        )
    nested = call.get("functionCall", call.get("function_call"))
    if isinstance(nested, Mapping):  # a part of Gemini's content
        call = nested
    if (
        "name" in call
    ):  # Anthropic's tool_use block, Gemini's function call, an item of OpenAI Responses, or our own form
        arguments = call.get("input", call.get("arguments", call.get("args", "")))
        provider_id = call.get("call_id") or call.get("id") or ""
        return Proposal(
            tool=str(call["name"]), arguments="" if arguments is None else arguments, provider_id=str(provider_id)
        )
    raise UsageError(
        f"A call needs a name and arguments; got the keys {sorted(map(str, call))}. Nothing was executed. {_SHAPES}"
    )


async def record_step(
    drive: Drive,
    calls: Sequence[Proposal | Mapping[str, Any]],
    *,
    step: str,
    visible: Iterable[str] | None = None,
) -> None:
    """Take the calls into the log, unless they are there. ``visible``: what their model was shown; default: the pinned
    tools, and what the session has found.

    Raises:
        StepConflict: the step is there with other calls. StillWaiting: an earlier step has open calls.
    """
    ids.check_step(step)
    shown = for_caller(drive, visible)
    check_client_results(drive)  # of the step before, which another process may have closed
    proposals = tuple(proposal(call) for call in calls)
    state = drive.state
    if step in state.steps:
        known, _, _ = await _pairs(drive.parts, state, step)
        await _same(drive.parts, known, proposals, step)
        return
    if state.open_calls():
        open_step = state.step.step if state.step else ""
        raise StillWaiting(
            f"Step {open_step!r} of session {drive.session!r} has calls without an answer. Nothing was executed. "
            "Dispatch that step again, or answer its waits, first."
        )
    same = state.step is not None and state.step.visible == shown
    requested = ModelRequested(step=step, turn=state.turn, model=fold.CALLER, visible=None if same else shown)
    await record(drive, requested, Reply(text="", proposals=proposals, finish="calls"))


async def _same(parts: Parts, known: Sequence[FunctionCall], proposals: Sequence[Proposal], step: str) -> None:
    then = [(call.tool, await payloads.text(parts.blobs, call.arguments)) for call in known]
    now = [(canon.scrub(one.tool), raw_arguments(one.arguments)) for one in proposals]
    if len(then) == len(now):  # what was erased can't be compared
        pairs = zip(known, then, now, strict=True)
        now = [new if call.arguments != NOTHING else (new[0], old[1]) for call, old, new in pairs]
    if then != now:
        raise StepConflict(
            f"Step {step!r} was recorded with other calls. Nothing was executed. "
            "A step is recorded once: give a new step its own name."
        )


async def collect(parts: Parts, state: SessionState, step: str) -> Batch:
    """The batch as the log has it."""
    calls, responses, edits = await _pairs(parts, state, step)
    outcomes, texts, waits = [], [], []
    for call in calls:
        response = responses.get(call.call_id)
        if response is not None:
            outcomes.append(await outcome(parts, call, response))
            texts.append(await result(parts, call, response, edits=edits.get(call.call_id, ())))
            continue
        wait = _wait(state, call)
        if wait is not None:
            waits.append(wait)
        outcomes.append(_pending(call, wait))
    return Batch(session=state.session, step=step, results=tuple(outcomes), waits=tuple(waits), texts=tuple(texts))


async def _pairs(
    parts: Parts, state: SessionState, step: str
) -> tuple[list[FunctionCall], dict[str, FunctionResponse], dict[str, tuple[str, ...]]]:
    """The step's calls, their responses, and how people changed their arguments: from the open step, or read back from
    the log.
    """
    if state.step is not None and state.step.step == step and state.step.model == fold.CALLER:
        open_calls: list[CallState] = [state.calls[call_id] for call_id in state.step.calls]
        return (
            [call.call for call in open_calls],
            {call.call.call_id: call.response for call in open_calls if call.response is not None},
            {call.call.call_id: call.edits for call in open_calls if call.edits},
        )
    first, last = state.steps[step]
    log: Sequence[Stored] = await parts.ledger.read(state.session, after=first - 1, limit=last - first + 1)
    events = [by_now(state, stored.seq, stored.record.event) for stored in log]
    calls = [event for event in events if isinstance(event, FunctionCall)]
    responses = {event.call_id: event for event in events if isinstance(event, FunctionResponse)}
    return calls, responses, _edits(events)


def _edits(events: Sequence[Event]) -> dict[str, tuple[str, ...]]:
    edits: dict[str, tuple[str, ...]] = {}
    for event in events:
        if isinstance(event, ApprovalRequested):
            edits[event.call_id] = event.edited
        elif isinstance(event, ApprovalDecided) and event.edited is not None:
            edits[event.call_id] = (*edits.get(event.call_id, ()), *event.changes)
    return edits


async def outcome(parts: Parts, call: FunctionCall, response: FunctionResponse) -> Outcome:
    """One response as callers of the library see it."""
    value = None
    if response.status is Status.SUCCESS:
        value = ToolResult(
            summary=response.summary,
            structured=await payloads.load(parts.blobs, response.structured) if response.structured else None,
            evidence=response.evidence,
            truncated=response.truncated,
        )
    return Outcome(
        call_id=call.call_id,
        tool=call.tool,
        status=response.status,
        effect=response.effect,
        error_code=response.error_code,
        error_message=response.error_message,
        layer=layers.of_response(response),
        field_errors=response.field_errors,
        retryable=response.retryable,
        result=value,
        attempt=response.attempt,
        fallback=response.fallback,
    )


def _wait(state: SessionState, call: FunctionCall) -> Wait | None:
    for wait in state.waits.values():
        if wait.call_id == call.call_id:
            return Wait(
                id=wait.wait_id,
                session=state.session,
                kind=wait.kind,
                reason=wait.reason,
                opened_at=state.wait_opened_at[wait.wait_id],
                call_id=call.call_id,
                tool=state.calls[call.call_id].tool,
                instead=state.calls[call.call_id].instead,
                wake_at=wait.wake_at,
            )
    return None


def _pending(call: FunctionCall, wait: Wait | None) -> Outcome:
    return Outcome(
        call_id=call.call_id,
        tool=call.tool,
        status=Status.PENDING_APPROVAL,
        effect=Effect.UNKNOWN,
        error_code=_WAIT_CODES[wait.kind] if wait is not None else "open",
        error_message=wait.reason if wait is not None else "The call has no outcome yet.",
        wait_id=wait.id if wait is not None else None,
    )
