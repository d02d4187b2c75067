"""What outsiders may say to a session besides deciding on approvals: a result, a verdict, a message, a stop.

From any process, without owning the session; ``runtime/outsider`` says how.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from callslip import failpoint
from callslip.core import canon
from callslip.core.call import CallState
from callslip.core.event import Event
from callslip.core.events.call_resolved import CallResolved, Verdict
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.fold import only_unread
from callslip.core.plain import to_plain
from callslip.core.principal import Role
from callslip.core.result import Effect, Status
from callslip.core.state import SessionState
from callslip.core.wait import Wait, WaitKind
from callslip.errors import LogBroken, UsageError
from callslip.ports.ledger import WaitRow
from callslip.ports.trust import Identity
from callslip.runtime import outcome, payloads
from callslip.runtime.outsider import Outsider, still_open

SUBMITTED = (WaitKind.CLIENT, WaitKind.BACKGROUND)
"""Waits that a result from outside ends."""


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A client's answer to a call it owns: a result, or an error with what is known of the effect."""

    result: Any = None
    error: str | None = None
    effect: Effect = Effect.NONE


class Answers:
    """The outsider's side of a runtime."""

    def __init__(self, outsider: Outsider) -> None:
        self._outsider = outsider
        self._parts = outsider.parts

    async def send(self, session: str, text: str, *, steer: bool, author: str) -> None:
        """Queue a user message; with ``steer`` it is read at the next step.

        Raises:
            NotFound: no such session.
        """
        message = UserMessage(text=canon.scrub(text), steer=steer, author=author)
        await self._outsider.decide(session, lambda _: [message], author)

    async def stop(self, session: str, *, reason: str, actor: str) -> bool:
        """Ask the session to stop. Whether there was anything to stop.

        Where nothing is open but messages that nobody has read, they are taken back.
        """

        def judge(state: SessionState) -> list[Event]:
            if only_unread(state):
                return [StopRequested(actor=actor, reason=reason, unread=True)]
            if not (state.turn_open or state.run_open or state.open_calls()) or state.stop:
                return []
            return [StopRequested(actor=actor, reason=reason)]

        return bool(await self._outsider.decide(session, judge, actor))

    async def resolve(self, wait_id: str, verdict: Verdict, *, reason: str, by: Identity, result: Any = None) -> None:
        """An operator's verdict on a parked call.

        Raises:
            NotFound: no such wait was ever open here. WaitConflict: it was answered already, or is of another kind.
            NotAuthorised: no operator.
        """
        if not reason.strip():
            raise UsageError("A verdict needs a reason: it stays in the log. Nothing was written.")
        if verdict not in get_args(Verdict):
            raise UsageError(f"{verdict!r} is no verdict. Nothing was written. Say {', '.join(get_args(Verdict))}.")
        row = await self._outsider.wait(wait_id)
        wait = still_open(await self._outsider.load(row.session), row, WaitKind.PARKED)
        assert wait.call_id is not None
        resolved = self._outsider.signed(
            CallResolved(
                call_id=wait.call_id,
                verdict=verdict,
                reason=canon.scrub(reason),
                actor=by.name,
                wait_id=wait_id,
                result=await self._json(row.session, result) if verdict == "happened" else None,
            ),
            by=by,
            session=row.session,
            wait_id=wait_id,
            roles=(Role.OPERATOR,),
        )
        failpoint.hit("resolve.before")

        def judge(state: SessionState) -> list[Event]:
            still_open(state, row, WaitKind.PARKED)
            return [resolved, WaitClosed(wait_id=wait_id, how="resolved", actor=by.name)]

        await self._outsider.decide(row.session, judge, by.name)

    async def accept_workspace(self, wait_id: str, *, by: Identity) -> None:
        """An operator says that the session goes on in today's workspace."""
        await self._accept(wait_id, WaitKind.WORKSPACE, by)

    async def accept_copy(self, wait_id: str, *, by: Identity) -> None:
        """An operator says that nothing happened after the log was copied but what they have seen to."""
        await self._accept(wait_id, WaitKind.COPY, by)

    async def _accept(self, wait_id: str, kind: WaitKind, by: Identity) -> None:
        row = await self._outsider.wait(wait_id)
        wait = still_open(await self._outsider.load(row.session), row, kind)
        closed = self._outsider.signed(
            WaitClosed(wait_id=wait_id, how="accepted", actor=by.name, workspace=wait.workspace),
            by=by,
            session=row.session,
            wait_id=wait_id,
            roles=(Role.OPERATOR,),
        )

        def judge(state: SessionState) -> list[Event]:
            still_open(state, row, kind)
            return [closed]

        await self._outsider.decide(row.session, judge, by.name)

    async def submit(self, wait_id: str, answer: Client, *, by: Identity) -> None:
        """A client's result for a call it owns, or what a job in the background has come to.

        Raises:
            NotFound, WaitConflict, NotAuthorised: as in :meth:`resolve`.
        """
        row = await self._outsider.wait(wait_id)
        state = await self._outsider.load(row.session)
        wait = still_open(state, row, *SUBMITTED)
        call = state.calls[wait.call_id or ""]
        assert call.dispatch is not None
        response = self._outsider.signed(
            await self._response(row.session, call, answer),
            by=by,
            session=row.session,
            wait_id=call.dispatch.nonce,  # which the log keeps with the call; its wait it forgets
            roles=(Role.CALLER, Role.OPERATOR),
        )
        failpoint.hit("submit.before")

        def judge(state: SessionState) -> list[Event]:
            still_open(state, row, *SUBMITTED)
            return [response, WaitClosed(wait_id=wait_id, how="submitted", actor=by.name)]

        await self._outsider.decide(row.session, judge, by.name)

    async def waits(self, session: str | None) -> list[Wait]:
        """Open waits, oldest first, with the calls they are about.

        Asked for all sessions, a session whose log is broken does not hide the others: its waits come bare.
        """
        rows = await self._parts.ledger.waits(session)
        states: dict[str, SessionState] = {}
        for name in {row.session for row in rows}:
            try:
                states[name] = await self._outsider.load(name)
            except LogBroken:
                if session is not None:
                    raise
                states[name] = SessionState(session=name)
        known = (row for row in rows if row.wait_id in states[row.session].waits or not states[row.session].seq)
        return [await self._describe(row, states[row.session]) for row in known]

    async def _describe(self, row: WaitRow, state: SessionState) -> Wait:
        call = state.calls.get(row.call_id or "")
        wait = Wait(
            id=row.wait_id,
            session=row.session,
            kind=WaitKind(row.kind),
            reason=row.reason,
            opened_at=row.opened_at,
            call_id=row.call_id,
            tool=call.tool if call else None,
            instead=call.instead if call else None,
            wake_at=row.wake_at,
        )
        if call is None:
            return wait
        asked = call.asked if row.kind == WaitKind.APPROVAL else None
        if asked is None:
            raw = call.dispatch.arguments if call.dispatch is not None else call.call.arguments
            note = call.polled.note if row.kind == WaitKind.BACKGROUND and call.polled is not None else ""
            return msgspec.structs.replace(wait, arguments=await payloads.load(self._parts.blobs, raw), note=note)
        return msgspec.structs.replace(
            wait,
            tool=asked.tool,
            arguments=await payloads.load(self._parts.blobs, asked.arguments),
            reasons=asked.rules,
            binding=asked.binding,
            approvers=asked.approvers,
            approved_by=self._outsider.approvers(row.session, asked, call.decided),
            again=asked.again,
        )

    async def _response(self, session: str, call: CallState, answer: Client) -> FunctionResponse:
        dispatch = call.dispatch
        assert dispatch is not None
        if answer.error is None:
            entry = self._parts.catalogue.get(dispatch.tool)
            return await outcome.success(
                self._parts.of(session),
                dispatch,
                answer.result,
                output=entry.output if entry is not None else None,
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

    async def _json(self, session: str, value: Any) -> Any:
        text = self._parts.redactor.clean_json(canon.canonical(to_plain(value).value))
        return await payloads.store(self._parts.of(session).blobs, text)
