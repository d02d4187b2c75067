"""A person's word on a call: approve it, deny it, or approve it with other arguments (APPR-01, APPR-04 … APPR-08).

Whoever decides needs neither the session nor the tool's code: everything stands in the question.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from callslip import failpoint
from callslip.core import canon
from callslip.core.approval import altered
from callslip.core.call import CallState
from callslip.core.difference import differences
from callslip.core.event import Event
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.grant import Grant, Subject, covers
from callslip.core.principal import Proof, Role
from callslip.core.standing import Granted, GrantRevoked
from callslip.core.state import SessionState
from callslip.core.wait import WaitKind
from callslip.errors import LogBroken, NotAuthorised, NotFound, UsageError, WaitConflict
from callslip.gate.proof import Asker, same_people
from callslip.ports.ledger import WaitRow
from callslip.ports.trust import Identity
from callslip.runtime import edits, payloads
from callslip.runtime.outsider import Outsider, still_open

Via = Literal["cli", "api", "http"]
_NOBODY = Proof(principal="")
GRANT = "grant_"
"""How the id of a grant begins: a T1 tells by it that no approval is used up."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """An open question, as whoever decides sees it."""

    row: WaitRow
    asked: ApprovalRequested
    arguments: dict[str, Any]
    decided: tuple[ApprovalDecided, ...]
    asker: Asker


class Approvals:
    """The approver's side of a runtime."""

    def __init__(self, outsider: Outsider) -> None:
        self._outsider = outsider
        self._parts = outsider.parts

    async def question(self, wait_id: str) -> Asked:
        """What is asked.

        Raises:
            NotFound: there never was such a wait. WaitConflict: it is over, and who ended it; or of another kind.
        """
        row = await self._outsider.wait(wait_id)
        state = await self._outsider.load(row.session)
        call = _asked(state, row)
        assert call.asked is not None
        text = await payloads.text(self._parts.blobs, call.asked.arguments)
        if altered(call.asked, row.session, text):
            raise LogBroken(
                f"The question {wait_id} was altered after it was asked. Nothing was written. Whoever did so can write "
                "the state folder: find out who, and stop the session."
            )
        return Asked(
            row=row,
            asked=call.asked,
            arguments=canon.parse(text),
            decided=call.decided,
            asker=_asker(state),
        )

    async def approve(
        self,
        wait_id: str,
        *,
        by: Identity,
        note: str = "",
        arguments: Mapping[str, Any] | None = None,
        grant: Grant | None = None,
        on_behalf_of: str = "",
        via: Via = "api",
        shown: str = "",
    ) -> bool:
        """Approve the call as it was asked about, or with other ``arguments`` (an edit). ``shown`` is the binding of
        the question that this person has seen: another one is not answered.

        ``grant``: a rule made by :meth:`rule` and shown before, stated once the approval stands.

        Returns:
            Whether nobody else needs to approve.

        Raises:
            NotFound, WaitConflict: as in :meth:`question`. NotAuthorised: they may not. UsageError: the arguments
            break the tool's schema; the question stays open.
        """
        asked = _as_shown(await self.question(wait_id), shown)
        self._check_grant(asked, grant, by)
        edited, changes = None, tuple[str, ...]()
        if arguments is not None:
            parts = self._parts.of(asked.row.session)
            text = canon.canonical(dict(arguments))
            given = canon.parse(text)  # as it will be read back
            await edits.check(parts, asked.asked, asked.arguments, given)
            edited, changes = await payloads.store(parts.blobs, text), differences(asked.arguments, given)
        event = ApprovalDecided(
            call_id=asked.asked.call_id,
            approval_id=wait_id,
            binding=asked.asked.binding,
            decision="approved",
            proof=_NOBODY,
            edited=edited,
            changes=changes,
            reason=canon.scrub(note),
            grant=grant.id if grant is not None else "",
            via=via,
        )
        enough = await self.take(asked, self._signed(asked, event, by, on_behalf_of))
        if grant is not None:
            self._parts.trust.state(Granted(grant=grant), by)
        return enough

    async def deny(
        self,
        wait_id: str,
        *,
        by: Identity,
        reason: str = "",
        on_behalf_of: str = "",
        via: Via = "api",
        shown: str = "",
    ) -> None:
        """Deny the call; the model is told the reason. ``shown`` as in :meth:`approve`.

        Raises:
            NotFound, WaitConflict, NotAuthorised.
        """
        asked = _as_shown(await self.question(wait_id), shown)
        event = ApprovalDecided(
            call_id=asked.asked.call_id,
            approval_id=wait_id,
            binding=asked.asked.binding,
            decision="denied",
            proof=_NOBODY,
            reason=canon.scrub(reason),
            via=via,
        )
        await self.take(asked, self._signed(asked, event, by, on_behalf_of))

    async def take(self, asked: Asked, event: ApprovalDecided) -> bool:
        """Record an answer that is signed already. Whether the question is answered in full.

        Raises:
            NotAuthorised, WaitConflict, UsageError: nothing was written.
        """
        wait_id, row = asked.row.wait_id, asked.row
        self._check(asked, event)
        await edits.check_signed(self._parts.of(row.session), asked.asked, asked.arguments, event)
        failpoint.hit("decide.before")

        def judge(state: SessionState) -> list[Event]:
            call = _asked(state, row)
            assert call.asked is not None
            _check_wanted(state, call, row)
            if (event.call_id, event.approval_id, event.binding) != (
                call.asked.call_id, call.asked.approval_id, call.asked.binding,
            ):  # fmt: skip
                raise WaitConflict(f"This answers another question than {wait_id}. Nothing was written.")
            self._check_people(call, event, _asker(state))
            if event.decision == "approved" and len(call.decided) + 1 < call.asked.approvers:
                return [event]
            how = "denied" if event.decision != "approved" else "edited" if event.edited is not None else "approved"
            return [event, WaitClosed(wait_id=wait_id, how=how, actor=event.proof.principal)]

        written = await self._outsider.decide(row.session, judge, event.proof.principal)
        failpoint.hit("decide.after")
        return len(written) > 1

    async def expire(self, row: WaitRow) -> bool:
        """Record that nobody answered in time. Whether it was this that ended the question."""
        now = self._parts.clock.now()

        def judge(state: SessionState) -> list[Event]:
            wait = state.waits.get(row.wait_id)
            if wait is None or wait.call_id is None or wait.wake_at is None or now < wait.wake_at:
                return []
            expired = ApprovalExpired(call_id=wait.call_id, approval_id=row.wait_id)
            return [expired, WaitClosed(wait_id=row.wait_id, how="expired", actor="clock")]

        return bool(await self._outsider.decide(row.session, judge, "clock"))

    # Grants

    def rule(
        self,
        asked: Asked,
        *,
        scope: Literal["session", "always"],
        free: Iterable[str] = (),
        at_most: Mapping[str, float] | None = None,
        until: int | None = None,
        reason: str = "",
    ) -> Grant:
        """The narrowest rule that covers this call and those equal to it: to be shown, then given to :meth:`approve`.

        ``free`` names arguments that may be anything; ``at_most`` bounds numbers. Every other argument must be equal.

        Raises:
            UsageError: an argument that is not there, or a bound below what is asked for.
        """
        question, arguments, bounds = asked.asked, asked.arguments, dict(at_most or {})
        open_ones = tuple(dict.fromkeys(free))
        for name in (*open_ones, *bounds):
            if name not in arguments:
                raise UsageError(f"The call has no argument {name!r}. Nothing was written.")
        for name, bound in bounds.items():
            value = arguments[name]
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= bound:
                raise UsageError(f"{name} is {value!r}, which is no number from 0 to {bound:g}. Nothing was written.")
        return Grant(
            id=GRANT + secrets.token_hex(8),
            tool=question.tool,
            tool_version=question.tool_version,
            executor=question.executor,
            requester=question.requester,
            rules=question.rules,
            equal={name: value for name, value in arguments.items() if name not in {*open_ones, *bounds}},
            at_most=bounds,
            free=open_ones,
            session=asked.row.session if scope == "session" else "",
            until=until,
            reason=canon.scrub(reason),
        )

    def grants(self) -> list[Grant]:
        """Those in force."""
        return list(self._parts.trust.standing().grants.values())

    def revoke_grant(self, grant_id: str, *, by: Identity, reason: str = "") -> None:
        """Take a grant back: from now on its calls are asked about again.

        Raises:
            NotFound: no such grant. NotAuthorised.
        """
        if grant_id not in self._parts.trust.standing().grants:
            raise NotFound(f"There is no grant {grant_id!r}. Nothing was written. `callslip grants` lists them.")
        self._parts.trust.state(GrantRevoked(id=grant_id, reason=canon.scrub(reason)), by)

    # Checks

    def _signed(self, asked: Asked, event: ApprovalDecided, by: Identity, on_behalf_of: str) -> ApprovalDecided:
        return self._outsider.signed(
            event,
            by=by,
            session=asked.row.session,
            wait_id=asked.row.wait_id,
            roles=(Role.APPROVER,),
            tool=asked.asked.tool,
            behalf=on_behalf_of,
        )

    def _check(self, asked: Asked, event: ApprovalDecided) -> None:
        self._outsider.check(
            event,
            session=asked.row.session,
            wait_id=asked.row.wait_id,
            roles=(Role.APPROVER,),
            tool=asked.asked.tool,
        )

    def _check_people(self, call: CallState, event: ApprovalDecided, asker: Asker) -> None:
        """Four-eyes: so many different people, and none of them the one who asks."""
        assert call.asked is not None
        if call.asked.approvers < 2 or event.decision != "approved":
            return
        wrong = same_people((*call.decided, event), asker, self._parts.trust.standing())
        if wrong is not None:
            raise NotAuthorised(
                f"{call.asked.approvers} different people must approve this, and {wrong}. Nothing was written; "
                "the question stays open."
            )

    def _check_grant(self, asked: Asked, grant: Grant | None, by: Identity) -> None:
        """Refuse a rule that could not be stated, before the approval that would state it stands."""
        if grant is None:
            return
        question = asked.asked
        if question.approvers > 1:
            raise UsageError("What several people must approve can't be granted by one. Nothing was written.")
        standing = self._parts.trust.standing()
        if not standing.advisory and not standing.may(by.name, Role.APPROVER):
            raise NotAuthorised(f"{by.name!r} is no approver, so nothing can be granted by them. Nothing was written.")
        subject = Subject(
            session=asked.row.session,
            requester=question.requester,
            tool=question.tool,
            tool_version=question.tool_version,
            executor=question.executor,
            rules=question.rules,
            arguments=asked.arguments,
        )
        if not _kept(grant) or not covers(grant, subject, now=self._parts.clock.now()):
            raise UsageError("This rule can't be kept, or does not cover the call asked about. Nothing was written.")


def _kept(grant: Grant) -> bool:
    """Whether the rule reads back as what it is: infinities, for one, do not."""
    try:
        return grant.id.startswith(GRANT) and msgspec.json.decode(msgspec.json.encode(grant), type=Grant) == grant
    except (msgspec.MsgspecError, ValueError, OverflowError):
        return False


def _asked(state: SessionState, row: WaitRow) -> CallState:
    """The call that the open question is about."""
    wait = still_open(state, row, WaitKind.APPROVAL)
    return state.calls[wait.call_id or ""]


def _as_shown(asked: Asked, shown: str) -> Asked:
    if shown and shown != asked.asked.binding:
        raise WaitConflict(
            f"The question {asked.row.wait_id} is not the one that was shown any more: somebody has altered the log. "
            "Nothing was written. Don't approve it; find out who."
        )
    return asked


def _check_wanted(state: SessionState, call: CallState, row: WaitRow) -> None:
    if state.stop or call.withdrawn or any(message.steer for message in state.queued):
        why = "asked to stop" if state.stop or call.withdrawn else "steered elsewhere by its user"
        raise WaitConflict(
            f"Session {row.session!r} was {why}, so its call is not wanted any more. Nothing was written; "
            "nothing was executed."
        )


def _asker(state: SessionState) -> Asker:
    """Who began the session. Whether a key has truly shown it is looked at before the call is made."""
    shown = state.started is not None and state.started.proof is not None
    return Asker(name=state.requester, uid=state.requester_uid, shown=shown)
