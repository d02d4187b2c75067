"""Seal a session: its last record, by which whoever takes the log in knows that nothing came after (LEDG-06)."""

from __future__ import annotations

import functools

from callslip.core import canon, fold
from callslip.core.event import Event
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.principal import Role
from callslip.core.state import SessionState
from callslip.errors import Busy
from callslip.ports.trust import Identity
from callslip.runtime.outsider import Outsider
from callslip.runtime.parts import Parts
from callslip.sessions.checkpoint import load_state


async def seal(parts: Parts, session: str, *, by: Identity, reason: str = "", destination: str = "") -> None:
    """End the session here, for good.

    Raises:
        NotFound: no such session. Busy: somebody drives it, or its last run did not end. Sealed: it was before.
        NotAuthorised: by no operator.
    """
    outsider = Outsider(parts, functools.partial(load_state, parts))

    def judge(state: SessionState) -> list[Event]:
        if state.sealed is not None:
            raise fold.moved_away(state)
        if state.run_open:
            raise Busy(
                f"A run of session {session!r} has not ended. Nothing was written. Stop it, or, if its process is "
                "gone, resume it until it rests; then seal it."
            )
        sealed = SessionSealed(
            actor=by.name,
            reason=canon.scrub(reason),
            destination=canon.scrub(destination),
            prefix_seq=state.seq,
            prefix_digest=state.digest.hex(),
        )
        return [outsider.signed(sealed, by=by, session=session, wait_id=session, roles=(Role.OPERATOR,))]

    await outsider.decide(session, judge, by.name)
