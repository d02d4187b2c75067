"""How anything is said to a session from outside: find the wait, show who one is, judge by the log, append.

Each answer reads the log, folds it, judges, and appends at the position it judged by; when something new came in
between, it judges again. The one that comes second finds the wait closed, and is told who closed it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from callslip.core import fold, ids
from callslip.core.event import Event, draft
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.principal import Proof, Role, message
from callslip.core.state import Answered, SessionState
from callslip.core.wait import WaitKind
from callslip.errors import Moved, NotAuthorised, NotFound, WaitConflict
from callslip.gate.proof import fault
from callslip.ports.ledger import WaitRow
from callslip.ports.trust import Identity
from callslip.runtime.parts import Parts

Load = Callable[[str], Awaitable[SessionState]]
"""``load_state`` of ``sessions/checkpoint``, given by the composition root: runtime does not know sessions."""

_SKEW = 300_000
"""Milliseconds by which clocks may differ where it matters when something was signed."""
_TRIES = 1000
"""Each lost race means that somebody else was served."""

_HOW = {
    WaitKind.APPROVAL: "approve, deny or edit",
    WaitKind.CLIENT: "submit",
    WaitKind.QUESTION: "answer",
    WaitKind.BACKGROUND: "submit, or it ends by itself",
    WaitKind.PARKED: "resolve",
    WaitKind.WORKSPACE: "accept_workspace",
    WaitKind.COPY: "accept_copy",
    WaitKind.TIME: "it ends by itself",
}

E = TypeVar("E", bound=msgspec.Struct)


class Outsider:
    """What all answers share."""

    def __init__(self, parts: Parts, load: Load) -> None:
        self.parts = parts
        self.load = load

    async def wait(self, wait_id: str) -> WaitRow:
        """The open wait.

        Raises:
            WaitConflict: it is over, and who ended it. NotFound: there never was one.
        """
        rows = await self.parts.ledger.waits(wait_id=wait_id)
        if rows:
            return rows[0]
        session, answered = await self._over(wait_id)
        if answered is not None:
            raise over(wait_id, session, answered)
        raise NotFound(
            f"No wait {wait_id!r} is open. Nothing was written. `callslip waits` lists the open ones, "
            "`callslip show SESSION` what became of the others."
        )

    async def _over(self, wait_id: str) -> tuple[str, Answered | None]:
        """A wait that is over: its id tells which sessions it can be of."""
        for head in await self.parts.ledger.heads():
            if ids.may_be_of(wait_id, head.session):
                answered = (await self.load(head.session)).answered.get(wait_id)
                if answered is not None:
                    return head.session, answered
        return "", None

    def signed(
        self,
        event: E,
        *,
        by: Identity,
        session: str,
        wait_id: str,
        roles: Sequence[Role],
        tool: str = "",
        behalf: str = "",
    ) -> E:
        """The event (with a field ``proof``) as given by this identity.

        Raises:
            NotAuthorised: they may not give it.
        """
        proof = Proof(
            principal=by.name,
            uid=by.uid,
            key=by.signer.key if by.signer is not None else "",
            on_behalf_of=behalf,
            at=self.parts.clock.now(),
        )
        if by.signer is not None:
            signature = by.signer.sign(message(session, wait_id, event, proof))
            proof = msgspec.structs.replace(proof, signature=signature)
        event = msgspec.structs.replace(event, proof=proof)
        self.check(event, session=session, wait_id=wait_id, roles=roles, tool=tool)
        return event

    def check(self, event: Any, *, session: str, wait_id: str, roles: Sequence[Role], tool: str = "") -> None:
        """Refuse an answer whose giver has not shown that they may give it.

        Raises:
            NotAuthorised: what is missing.
        """
        trust, proof = self.parts.trust, event.proof
        standing = trust.standing()
        if proof is not None and proof.on_behalf_of and abs(self.parts.clock.now() - proof.at) > _SKEW:
            raise NotAuthorised(
                "An answer for somebody else must be given when it is signed, and this was signed at another time. "
                "Nothing was written. Put the clocks right, and sign again."
            )
        wrong = fault(
            event, session=session, wait_id=wait_id, roles=roles, standing=standing, verify=trust.verified, tool=tool
        )
        if wrong is not None:
            raise NotAuthorised(
                f"This can't be answered by you: {wrong}. Nothing was written. Keys are enrolled here, so an answer "
                f"needs the key of a principal who is {' or '.join(roles)} (`callslip principals`)."
            )

    def approvers(self, session: str, asked: ApprovalRequested, decided: Sequence[ApprovalDecided]) -> tuple[str, ...]:
        """Who has answered so far, as far as it is shown to be them."""
        trust = self.parts.trust
        standing = trust.standing()
        return tuple(
            one.proof.principal
            for one in decided
            if fault(
                one,
                session=session,
                wait_id=asked.approval_id,
                roles=(Role.APPROVER,),
                standing=standing,
                verify=trust.verified,
                tool=asked.tool,
            )
            is None
        )

    async def decide(self, session: str, judge: Callable[[SessionState], Sequence[Event]], by: str) -> Sequence[Any]:
        """Append what ``judge`` makes of the session as it stands; nothing when it makes nothing.

        Raises:
            NotFound: no such session. Moved: too many came at once.
        """
        for _ in range(_TRIES):
            state = await self.load(session)
            if not state.seq:
                raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
            events = judge(state)
            if not events:
                return ()
            at = self.parts.clock.now()
            drafts = [draft(event, at=at, by=by, epoch=0, run="") for event in events]
            fold.rehearse(state, drafts)
            try:
                return await self.parts.ledger.decide(session, drafts, expected=state.seq)
            except Moved:
                continue
        raise Moved(f"Session {session!r} moves too fast to be told anything. Nothing was written. Try again.")


def still_open(state: SessionState, row: WaitRow, *kinds: WaitKind) -> WaitOpened:
    """The wait, if it can still be answered in this way.

    Raises:
        WaitConflict: it is over, or of another kind.
    """
    wait = state.waits.get(row.wait_id)
    if wait is None:
        answered = state.answered.get(row.wait_id)
        if answered is not None:
            raise over(row.wait_id, row.session, answered)
        raise WaitConflict(f"Wait {row.wait_id} is over. Nothing was written. See `callslip show {row.session}`.")
    if wait.kind not in kinds:
        raise WaitConflict(
            f"Wait {row.wait_id} is of kind {wait.kind}, which can't be answered this way. Nothing was written. "
            f"It takes: {_HOW.get(wait.kind, 'another answer')}."
        )
    return wait


def over(wait_id: str, session: str, answered: Answered) -> WaitConflict:
    """What is told to whoever comes second."""
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(answered.at / 1000))
    if answered.how in {"withdrawn", "settled", "elapsed"}:
        said = f"needs no answer any more ({answered.how} {when})"
    elif answered.how == "expired":
        said = f"expired {when}"
    else:
        said = f"was {answered.how} by {answered.actor} {when}, and that holds"
    return WaitConflict(f"Wait {wait_id} {said}. Nothing was written. `callslip show {session}` tells the rest.")
