"""Void what a log's silence proves: for a state folder put back from a backup, or a log older than it should be.

What was not in the backup may have happened. So in each session the runs' markers are void for calls that are open
(``core/sealing`` has the table), and no session goes on by itself that might do something a second time: an operator
must look first, and say so (``accept_copy``).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal

import msgspec

from callslip.core import canon, fold, ids
from callslip.core.event import Event
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.principal import Role
from callslip.core.state import SessionState
from callslip.core.wait import WaitKind
from callslip.errors import Busy, NotFound
from callslip.ports.owners import Liveness
from callslip.ports.trust import Identity
from callslip.runtime.outsider import Outsider
from callslip.runtime.parts import Parts
from callslip.sessions.checkpoint import load_state

How = Literal["imported", "restored", "behind"]


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one session."""

    session: str
    voided: bool
    """False: there was nothing to void, or it was void already."""
    wait_id: str = ""
    """What an operator must answer before it goes on; empty: nothing in it could be done twice."""
    error: str = ""
    """It was left as it is, and why."""


async def void_marker(parts: Parts, session: str, *, by: Identity, reason: str, how: How = "restored") -> Restored:
    """Let nothing of the session be taken for proof that something did not happen.

    Raises:
        NotFound: no such session. Busy: a live process drives it. NotAuthorised: by no operator.
    """
    await _check_ended(parts, session)
    outsider = Outsider(parts, functools.partial(load_state, parts))
    opened = ""

    def judge(state: SessionState) -> list[Event]:
        nonlocal opened
        opened = ""
        if state.sealed is not None or _void_already(state):
            return []
        imported = SessionImported(
            actor=by.name,
            reason=canon.scrub(reason),
            how=how,
            host=state.driver.host if state.driver is not None else "",
            prefix_seq=state.seq,
            prefix_digest=state.digest.hex(),
        )
        signed = outsider.signed(imported, by=by, session=session, wait_id=session, roles=(Role.OPERATOR,))
        events = voiding(state, signed)
        opened = next((event.wait_id for event in events if isinstance(event, WaitOpened)), "")
        return events

    written = await outsider.decide(session, judge, by.name)
    return Restored(session=session, voided=bool(written), wait_id=opened)


async def restore(parts: Parts, *, by: Identity, reason: str) -> Sequence[Restored]:
    """The same for every session of a state folder. One that can't be treated does not hold up the others."""
    found = []
    for head in await parts.ledger.heads():
        try:
            found.append(await void_marker(parts, head.session, by=by, reason=reason))
        except Busy as error:
            found.append(Restored(session=head.session, voided=False, error=str(error)))
    return found


def voiding(state: SessionState, imported: SessionImported) -> list[Event]:
    """The events by which a log's silence proves nothing any more: the fact, questions withdrawn, and a wait for an
    operator where anything could be done a second time.
    """
    events: list[Event] = [imported]
    events += [
        WaitClosed(wait_id=wait.wait_id, how="withdrawn", actor=imported.actor)
        for wait in state.waits.values()
        if wait.kind is WaitKind.APPROVAL
    ]
    open_already = any(wait.kind is WaitKind.COPY for wait in state.waits.values())
    if not at_rest(state) and not open_already:
        reason = f"its log was {_WORDS[imported.how]}: what happened in it since is not known"
        wait_id = ids.wait_id("wait", state.session)
        events.append(WaitOpened(wait_id=wait_id, kind=WaitKind.COPY, reason=reason))
    return events


_WORDS: dict[str, str] = {
    "imported": "taken in without its seal",
    "restored": "put back from a backup",
    "behind": "found older than it was seen to be",
}


def at_rest(state: SessionState) -> bool:
    """Whether nothing of the session could be done twice by going on: no open call, turn or message, and no caller
    who might dispatch a step again that the copy does not know.
    """
    callers = bool(state.steps) or (state.step is not None and state.step.model == fold.CALLER)
    return not (state.open_calls() or state.turn_open or state.queued or state.run_open or callers)


def _void_already(state: SessionState) -> bool:
    imported = state.imported
    if imported is None or imported.proven:
        return False
    return any(wait.kind is WaitKind.COPY for wait in state.waits.values()) or state.seq == imported.prefix_seq + 1


async def _check_ended(parts: Parts, session: str) -> None:
    head = next(iter(await parts.ledger.heads(session)), None)
    if head is None:
        raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
    if head.owner is not None and parts.owners.liveness(head.owner) in {Liveness.ALIVE, Liveness.STILL_RUNNING}:
        raise Busy(
            f"Session {session!r} is driven by process {head.owner.process} right now. It was left as it is. Stop "
            "whatever drives sessions of this state folder, then again."
        )
