"""Questions of the model to its user (CALL-09): an answer is the user's own words, and recorded as such.

A question asks for nothing but words, so it needs no approval and can be taken back: a stop, or a user who says
something else, ends it unanswered.
"""

from __future__ import annotations

from typing import Any

import msgspec

from callslip import failpoint
from callslip.core import canon
from callslip.core.call import CallState
from callslip.core.event import Event
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.principal import Role
from callslip.core.result import Effect, Status
from callslip.core.state import SessionState
from callslip.core.wait import WaitKind
from callslip.errors import UsageError
from callslip.ports.trust import Identity
from callslip.runtime import outcome, payloads
from callslip.runtime.closing import closing
from callslip.runtime.drive import Drive
from callslip.runtime.outsider import Outsider, still_open

GIVERS = (Role.CALLER, Role.OPERATOR)
"""Who may answer where keys are enrolled."""


async def answer(outsider: Outsider, wait_id: str, text: str, *, by: Identity) -> None:
    """Answer an open question, in the user's own words.

    Raises:
        UsageError: no words. NotFound: no such wait was ever open here. WaitConflict: it was answered already, or is of
        another kind. NotAuthorised: not by this identity. Nothing was written.
    """
    if not text.strip():
        raise UsageError("An answer has words. Nothing was written. To end the question unanswered, stop the session.")
    row = await outsider.wait(wait_id)
    state = await outsider.load(row.session)
    wait = still_open(state, row, WaitKind.QUESTION)
    call = state.calls[wait.call_id or ""]
    assert call.dispatch is not None
    given = await outcome.success(outsider.parts, call.dispatch, canon.scrub(text))
    asked = await payloads.load(outsider.parts.blobs, call.dispatch.arguments)
    response = outsider.signed(
        msgspec.structs.replace(given, from_user=True, notes=_notes(asked, text)),
        by=by,
        session=row.session,
        wait_id=call.dispatch.nonce,  # which the log keeps with the call; its wait it forgets
        roles=GIVERS,
    )
    failpoint.hit("submit.before")

    def judge(state: SessionState) -> list[Event]:
        still_open(state, row, WaitKind.QUESTION)
        return [response, WaitClosed(wait_id=wait_id, how="answered", actor=by.name)]

    await outsider.decide(row.session, judge, by.name)


async def withdraw(drive: Drive, call: CallState, judged: int) -> None:
    """End a question that nobody will answer any more."""
    dispatch = call.dispatch
    assert dispatch is not None
    response = FunctionResponse(
        call_id=dispatch.call_id,
        lane="settled",
        status=Status.RETRYABLE_ERROR,
        effect=Effect.NONE,
        error_code="cancelled",
        error_message="The question was withdrawn before the user had answered it. What they said instead, if they "
        "did, follows.",
        retryable=True,
        attempt=dispatch.attempt,
        nonce=dispatch.nonce,
    )
    await drive.append(response, *closing(drive, dispatch.call_id), judged=judged)


def _notes(asked: Any, text: str) -> tuple[str, ...]:
    """A list of choices is a suggestion; that the user went another way is worth knowing."""
    choices = asked.get("choices") if isinstance(asked, dict) else None
    if not isinstance(choices, list) or not choices or text in choices:
        return ()
    return ("none of the suggested choices",)
