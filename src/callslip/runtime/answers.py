"""What outsiders may say to a session: an answer, a verdict, a message, a stop. From any process, without owning it.

Each reads the log, folds it, judges, and appends at the position it judged by; when something new came in between, it
judges again. The one that comes second finds the wait closed and is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

import msgspec

from callslip import failpoint
from callslip.core import canon, fold
from callslip.core.call import CallState
from callslip.core.event import Event, draft
from callslip.core.events.call_resolved import CallResolved, Verdict
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.plain import to_plain
from callslip.core.result import Effect, Status
from callslip.core.state import SessionState
from callslip.core.wait import Wait, WaitKind
from callslip.errors import LogBroken, Moved, NotFound, UsageError, WaitConflict
from callslip.ports.ledger import WaitRow
from callslip.runtime import outcome, payloads
from callslip.runtime.parts import Parts

Load = Callable[[str], Any]
"""``load_state`` of ``sessions/checkpoint``, given by the composition root: runtime does not know sessions."""

_TRIES = 50


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A client's answer to a call it owns: a result, or an error with what is known of the effect."""

    result: Any = None
    error: str | None = None
    effect: Effect = Effect.NONE


class Answers:
    """The outsider's side of a runtime."""

    def __init__(self, parts: Parts, load: Load) -> None:
        self._parts = parts
        self._load = load

    async def send(self, session: str, text: str, *, steer: bool, author: str) -> None:
        """Queue a user message; with ``steer`` it is read at the next step.

        Raises:
            NotFound: no such session.
        """
        await self._decide(session, lambda _: [UserMessage(text=canon.scrub(text), steer=steer, author=author)], author)

    async def stop(self, session: str, *, reason: str, actor: str) -> bool:
        """Ask the session to stop. Whether there was anything to stop."""

        def judge(state: SessionState) -> list[Event]:
            if not (state.turn_open or state.run_open or state.queued) or state.stop:
                return []
            return [StopRequested(actor=actor, reason=reason)]

        return bool(await self._decide(session, judge, actor))

    async def resolve(self, wait_id: str, verdict: Verdict, *, reason: str, actor: str, result: Any = None) -> None:
        """An operator's verdict on a parked call.

        Raises:
            NotFound: no such wait was ever open here. WaitConflict: it was answered already, or is of another kind.
        """
        if not reason.strip():
            raise UsageError("A verdict needs a reason: it stays in the log. Nothing was written.")
        if verdict not in get_args(Verdict):
            raise UsageError(f"{verdict!r} is no verdict. Nothing was written. Say {', '.join(get_args(Verdict))}.")
        row = await self._wait(wait_id)
        kept = await self._json(result) if verdict == "happened" else None
        failpoint.hit("resolve.before")

        def judge(state: SessionState) -> list[Event]:
            wait = _still_open(state, row, WaitKind.PARKED)
            assert wait.call_id is not None
            resolved = CallResolved(
                call_id=wait.call_id, verdict=verdict, reason=canon.scrub(reason), actor=actor, result=kept
            )
            return [resolved, WaitClosed(wait_id=wait_id, how="resolved", actor=actor)]

        await self._decide(row.session, judge, actor)

    async def accept_workspace(self, wait_id: str, *, actor: str) -> None:
        """An operator says that the session goes on in today's workspace."""
        row = await self._wait(wait_id)

        def judge(state: SessionState) -> list[Event]:
            _still_open(state, row, WaitKind.WORKSPACE)
            return [WaitClosed(wait_id=wait_id, how="accepted", actor=actor)]

        await self._decide(row.session, judge, actor)

    async def submit(self, wait_id: str, answer: Client, *, actor: str) -> None:
        """A client's result for a call it owns.

        Raises:
            NotFound, WaitConflict: as in :meth:`resolve`.
        """
        row = await self._wait(wait_id)
        state = await self._load(row.session)
        wait = _still_open(state, row, WaitKind.CLIENT)
        response = await self._response(state.calls[wait.call_id or ""], answer)
        failpoint.hit("submit.before")

        def judge(state: SessionState) -> list[Event]:
            _still_open(state, row, WaitKind.CLIENT)
            return [response, WaitClosed(wait_id=wait_id, how="submitted", actor=actor)]

        await self._decide(row.session, judge, actor)

    async def waits(self, session: str | None) -> list[Wait]:
        """Open waits, oldest first, with the calls they are about.

        Asked for all sessions, a session whose log is broken does not hide the others: its waits come bare.
        """
        rows = await self._parts.ledger.waits(session)
        states: dict[str, SessionState] = {}
        for name in {row.session for row in rows}:
            try:
                states[name] = await self._load(name)
            except LogBroken:
                if session is not None:
                    raise
                states[name] = SessionState(session=name)
        known = (row for row in rows if row.wait_id in states[row.session].waits or not states[row.session].seq)
        return [await self._describe(row, states[row.session]) for row in known]

    async def _describe(self, row: WaitRow, state: SessionState) -> Wait:
        call = state.calls.get(row.call_id or "")
        arguments = None
        if call is not None:
            raw = call.dispatch.arguments if call.dispatch is not None else call.call.arguments
            arguments = await payloads.load(self._parts.blobs, raw)
        return Wait(
            id=row.wait_id,
            session=row.session,
            kind=WaitKind(row.kind),
            reason=row.reason,
            opened_at=row.opened_at,
            call_id=row.call_id,
            tool=call.call.tool if call else None,
            arguments=arguments,
            wake_at=row.wake_at,
        )

    async def _wait(self, wait_id: str) -> WaitRow:
        for row in await self._parts.ledger.waits():
            if row.wait_id == wait_id:
                return row
        raise NotFound(
            f"No wait {wait_id!r} is open. Nothing was written. It was answered already, or never was: "
            "`callslip waits` lists the open ones, `callslip show SESSION` what became of the others."
        )

    async def _response(self, call: CallState, answer: Client) -> FunctionResponse:
        dispatch = call.dispatch
        assert dispatch is not None
        if answer.error is None:
            entry = self._parts.catalogue.get(dispatch.tool)
            return await outcome.success(
                self._parts, dispatch, answer.result, output=entry.output if entry is not None else None
            )
        return FunctionResponse(
            call_id=dispatch.call_id,
            lane="settled",
            status=Status.FATAL_ERROR,
            effect=answer.effect,
            error_code="client_failed",
            error_message=self._parts.redactor.clean(canon.scrub(answer.error)),
            attempt=dispatch.attempt,
            nonce=dispatch.nonce,
        )

    async def _json(self, value: Any) -> Any:
        text = self._parts.redactor.clean_json(canon.canonical(to_plain(value).value))
        return await payloads.store(self._parts.blobs, text)

    async def _decide(self, session: str, judge: Callable[[SessionState], Sequence[Event]], by: str) -> Sequence[Any]:
        for _ in range(_TRIES):
            state = await self._load(session)
            if not state.seq:
                raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
            events = judge(state)
            if not events:
                return ()
            at = self._parts.clock.now()
            drafts = [draft(event, at=at, by=by, epoch=0, run="") for event in events]
            fold.rehearse(state, drafts)
            try:
                return await self._parts.ledger.decide(session, drafts, expected=state.seq)
            except Moved:
                continue
        raise Moved(f"Session {session!r} moves too fast to be told anything. Nothing was written. Try again.")


def _still_open(state: SessionState, row: WaitRow, kind: WaitKind) -> WaitOpened:
    wait = state.waits.get(row.wait_id)
    if wait is None:
        raise WaitConflict(
            f"Wait {row.wait_id} was answered by somebody else a moment ago. Nothing was written; their answer holds. "
            f"`callslip show {row.session}` says who."
        )
    if wait.kind is not kind:
        raise WaitConflict(
            f"Wait {row.wait_id} is of kind {wait.kind}, which can't be answered this way. Nothing was written. "
            "client: submit; parked: resolve; workspace: accept_workspace; time: it ends by itself."
        )
    return wait
