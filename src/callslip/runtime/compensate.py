"""What it would take to undo a turn: which of its calls took effect, and which call undoes each of them (RECO-07).

Read from the log; nothing is executed here. The last effect comes first, as it is the first to be undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from callslip.core.erasure import NOTHING, by_now
from callslip.core.event import Event
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.result import Effect, Status
from callslip.core.state import SessionState
from callslip.core.tool import Risk
from callslip.core.undoing import REVERT
from callslip.errors import NotFound
from callslip.ports.compensation import Undoable
from callslip.runtime import payloads
from callslip.runtime.parts import Parts

_PAGE = 2000

UndoStatus = Literal["to_do", "undone", "waits", "failed", "unknown", "kept"]


class Undo(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a turn that took effect, and its undoing."""

    call_id: str
    tool: str
    arguments: Any
    """As it was made."""
    status: UndoStatus
    """``failed``: what should undo it did not work, and had no effect. ``unknown``: nobody knows whether it is undone.
    ``kept``: nothing can undo it."""
    by: str = ""
    """The tool that undoes it, …"""
    given: Any = None
    """… and its arguments."""
    reason: str = ""
    """Why it is not undone."""


class _Made(msgspec.Struct, kw_only=True):
    """A call of the turn, as the log has it."""

    dispatch: ToolDispatch | None = None
    response: FunctionResponse | None = None
    settled: int = 0


async def plan(parts: Parts, state: SessionState, turn: int) -> list[Undo]:
    """The calls of a turn that took effect, the latest first.

    Raises:
        NotFound: the session has no such turn.
    """
    made = [one for one in (await _calls(parts, state, turn)).values() if one.dispatch is not None]
    made.sort(key=lambda one: -one.settled)
    found = []
    for one in made:
        assert one.dispatch is not None
        if one.response is None or not _took_effect(one.dispatch, one.response):
            continue
        found.append(await _undo(parts, state, one.dispatch, one.response))
    return found


async def _calls(parts: Parts, state: SessionState, turn: int) -> dict[str, _Made]:
    """The turn's calls, by their ids; those that undo others are nobody's turn."""
    steps: set[str] = set()
    calls: dict[str, _Made] = {}
    after = 0
    while after < state.seq:
        page = await parts.ledger.read(state.session, after=after, limit=min(_PAGE, state.seq - after))
        for stored in page:
            _take(steps, calls, by_now(state, stored.seq, stored.record.event), stored.seq, turn)
        after = page[-1].seq
    if not steps:
        raise NotFound(
            f"Session {state.session!r} has no turn {turn}. Nothing was undone. Its latest turn is {state.turn}."
        )
    return calls


def _take(steps: set[str], calls: dict[str, _Made], event: Event, seq: int, turn: int) -> None:
    if isinstance(event, ModelRequested):
        if event.turn == turn and event.model != REVERT:
            steps.add(event.step)
    elif isinstance(event, FunctionCall):
        if event.step in steps and not event.undoes:
            calls[event.call_id] = _Made()
    elif isinstance(event, ToolDispatch) and event.call_id in calls:
        calls[event.call_id].dispatch = event
    elif isinstance(event, FunctionResponse) and event.call_id in calls:
        calls[event.call_id].response, calls[event.call_id].settled = event, seq


def _took_effect(dispatch: ToolDispatch, response: FunctionResponse) -> bool:
    """Or may have: of what only reads there is nothing to undo."""
    if response.effect is Effect.UNKNOWN:
        return dispatch.risk is not Risk.READ
    return response.effect is Effect.DONE


async def _undo(parts: Parts, state: SessionState, dispatch: ToolDispatch, response: FunctionResponse) -> Undo:
    arguments = await payloads.load(parts.blobs, dispatch.arguments)
    undo = Undo(call_id=dispatch.call_id, tool=dispatch.tool, arguments=arguments, status="kept")
    if response.effect is Effect.UNKNOWN:
        return _kept(undo, "nobody knows whether it took effect")
    if NOTHING in (dispatch.arguments, response.structured):
        return _kept(undo, "what it was made with, or what it gave, was erased")
    entry = parts.catalogue.get(dispatch.tool)
    if entry is None:
        return _kept(undo, "its tool is not bound here, so nothing says how it is undone")
    by = entry.executor.spec.compensation
    if by is None:
        return _kept(undo, "its tool declares nothing that undoes it")
    undo = msgspec.structs.replace(undo, by=by)
    if response.status is not Status.SUCCESS:
        return _kept(undo, "it failed after it had taken effect, and left no result to undo it by")
    result = await payloads.load(parts.blobs, response.structured) if response.structured is not None else None
    try:
        given = entry.executor.compensate_with(arguments, result) if isinstance(entry.executor, Undoable) else arguments
        given = dict(given) if given is not None else None
    except Exception as error:  # noqa: BLE001 - the tool author's code
        reason = f"what undoes it can't be told: its compensate_with failed ({type(error).__name__})"
        return msgspec.structs.replace(undo, status="failed", reason=reason)
    if given is None:
        return _kept(undo, "there is nothing to undo, its tool says")
    return _so_far(state, msgspec.structs.replace(undo, status="to_do", given=given))


def _so_far(state: SessionState, undo: Undo) -> Undo:
    """How far its undoing has come already."""
    done = state.undone.get(undo.call_id)
    if done is None or done.status == "failed":  # what certainly had no effect is tried anew
        return undo
    status: Mapping[str, UndoStatus] = {"open": "waits", "undone": "undone", "unknown": "unknown"}
    reason = "nobody knows whether it was undone" if done.status == "unknown" else ""
    return msgspec.structs.replace(undo, status=status[done.status], reason=reason)


def _kept(undo: Undo, reason: str) -> Undo:
    return msgspec.structs.replace(undo, status="kept", reason=reason)
