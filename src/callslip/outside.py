"""What may be said to a runtime's sessions from outside, by anybody with access to its state: the half of
:class:`callslip.Runtime` that drives nothing.

Who says it is never a parameter's text. ``by`` is an unlocked key (``callslip.trust.keys.load_key``), or nothing: then
it is the runtime's ``identity``, or else the account of the operating system, whose word counts as long as no key is
enrolled.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from callslip import build
from callslip.agent.revert import check
from callslip.core.budget import Use, uses
from callslip.core.events.call_resolved import Verdict
from callslip.core.grant import Grant
from callslip.core.result import Effect
from callslip.core.state import SessionState
from callslip.core.wait import Wait, WaitKind
from callslip.errors import CallslipError, NotFound
from callslip.ports.ledger import Head
from callslip.ports.trust import Identity
from callslip.runtime import compensate, questions
from callslip.runtime.answers import Answers, Client
from callslip.runtime.approvals import Approvals
from callslip.runtime.compensate import Undo
from callslip.runtime.outsider import Outsider
from callslip.runtime.parts import Parts
from callslip.sessions import checkpoint


class Outside:
    """The answering side of a runtime."""

    settings: build.Settings

    @property
    def parts(self) -> Parts:
        raise NotImplementedError

    @functools.cached_property
    def _outsider(self) -> Outsider:
        return Outsider(self.parts, functools.partial(checkpoint.load_state, self.parts))

    @functools.cached_property
    def answers(self) -> Answers:
        """Results, verdicts, messages, stops."""
        return Answers(self._outsider)

    @functools.cached_property
    def approvals(self) -> Approvals:
        """Decisions on calls that need a person's word."""
        return Approvals(self._outsider)

    def identity(self, by: Identity | None = None) -> Identity:
        """Who acts."""
        return by or self.settings.identity or build.requester()

    # Messages

    async def send(self, session: str, text: str, *, steer: bool = False) -> None:
        """Queue a user message; with ``steer`` it is read at the next step and closes undispatched calls."""
        await self.answers.send(session, text, steer=steer, author=self.identity().name)

    async def stop(self, session: str, *, reason: str = "") -> bool:
        """Ask the session to stop, wherever it is driven. Whether there was anything to stop.

        Where nothing is open but messages that nobody has read, they are taken back.
        """
        return await self.answers.stop(session, reason=reason, actor=self.identity().name)

    # Waits

    async def waits(self, session: str | None = None) -> list[Wait]:
        """What is waited for, oldest first."""
        return await self.answers.waits(session)

    async def approve(
        self,
        wait: str,
        *,
        note: str = "",
        grant: Grant | None = None,
        by: Identity | None = None,
        on_behalf_of: str = "",
        shown: str = "",
    ) -> bool:
        """Approve a call exactly as it was asked about; it is made once a process drives its session.

        ``grant``: a rule of :meth:`rule`, to hold for calls like it as well. ``shown``: the ``binding`` of the wait
        that this person has seen; if the question is another one by now, nothing is written.

        Returns:
            Whether nobody else needs to approve.

        Raises:
            NotFound, WaitConflict: it is not open, and why. NotAuthorised: not by you. Nothing was written.
        """
        return await self.approvals.approve(
            wait, by=self.identity(by), note=note, grant=grant, on_behalf_of=on_behalf_of, shown=shown
        )

    async def deny(
        self,
        wait: str,
        *,
        reason: str = "",
        by: Identity | None = None,
        on_behalf_of: str = "",
        shown: str = "",
    ) -> None:
        """Deny a call; the model is told the reason. Its siblings are not touched."""
        await self.approvals.deny(wait, by=self.identity(by), reason=reason, on_behalf_of=on_behalf_of, shown=shown)

    async def edit(
        self,
        wait: str,
        arguments: Mapping[str, Any],
        *,
        note: str = "",
        by: Identity | None = None,
        on_behalf_of: str = "",
        shown: str = "",
    ) -> bool:
        """Approve a call with other arguments. They are checked by the tool's schema now, and by today's gate before
        they are used; the model is told what was changed.

        Raises:
            UsageError: they break the schema; the question stays open.
        """
        return await self.approvals.approve(
            wait, by=self.identity(by), note=note, arguments=arguments, on_behalf_of=on_behalf_of, shown=shown
        )

    async def rule(
        self,
        wait: str,
        *,
        scope: Literal["session", "always"],
        free: Iterable[str] = (),
        at_most: Mapping[str, float] | None = None,
        until: int | None = None,
        reason: str = "",
    ) -> Grant:
        """The narrowest rule that covers the call and its equals, to be looked at and then given to :meth:`approve`."""
        asked = await self.approvals.question(wait)
        return self.approvals.rule(asked, scope=scope, free=free, at_most=at_most, until=until, reason=reason)

    def grants(self) -> list[Grant]:
        """The rules in force."""
        return self.approvals.grants()

    def revoke_grant(self, grant: str, *, reason: str = "", by: Identity | None = None) -> None:
        """Take a rule back; its calls are asked about again."""
        self.approvals.revoke_grant(grant, by=self.identity(by), reason=reason)

    async def submit(
        self,
        wait: str,
        result: Any = None,
        *,
        error: str | None = None,
        effect: Effect | str = Effect.NONE,
        by: Identity | None = None,
    ) -> None:
        """A client's answer to a call it owns."""
        answer = Client(result=result, error=error, effect=Effect(effect))
        await self.answers.submit(wait, answer, by=self.identity(by))

    async def answer(self, wait: str, text: str, *, by: Identity | None = None) -> None:
        """The user's answer to a question of the model, in their own words."""
        await questions.answer(self._outsider, wait, text, by=self.identity(by))

    async def resolve(
        self, wait: str, verdict: Verdict, *, reason: str, result: Any = None, by: Identity | None = None
    ) -> None:
        """An operator's verdict on a parked call: ``happened`` (with its result), ``did_not_happen``, ``give_up``."""
        await self.answers.resolve(wait, verdict, reason=reason, by=self.identity(by), result=result)

    async def accept_workspace(self, wait: str, *, by: Identity | None = None) -> None:
        """An operator's word that the session may go on in today's workspace."""
        await self.answers.accept_workspace(wait, by=self.identity(by))

    async def accept_copy(self, wait: str, *, by: Identity | None = None) -> None:
        """An operator's word that nothing happened after a session's log was copied but what they have seen to."""
        await self.answers.accept_copy(wait, by=self.identity(by))

    async def sweep(self) -> int:
        """End the questions that nobody answered in time; how many. A worker does so now and then."""
        now, ended = self.parts.clock.now(), 0
        for row in await self.parts.ledger.waits(due_at=now):
            if row.kind == WaitKind.APPROVAL:
                with contextlib.suppress(CallslipError):  # a broken session must not keep the others waiting
                    ended += await self.approvals.expire(row)
        return ended

    # Reading

    async def sessions(self) -> Sequence[Head]:
        """Every session's head, the latest first."""
        return await self.parts.ledger.heads()

    async def state(self, session: str) -> SessionState:
        """What is known of a session."""
        return await checkpoint.load_state(self.parts, session)

    async def spent(self, session: str) -> tuple[Use, ...]:
        """What the session has used so far, in its latest turn and in all, and of how much; nothing if there is none.

        Raises:
            LogBroken: its log can't be trusted.
        """
        return self._used(await self.state(session))

    def _used(self, state: SessionState) -> tuple[Use, ...]:
        waiting = sum(wait.kind is WaitKind.APPROVAL for wait in state.waits.values())
        return tuple(uses(state.counts, self.settings.budgets, self.parts.clock.now(), waiting=waiting))

    async def revert_plan(self, session: str, *, turn: int | None = None) -> list[Undo]:
        """What a revert would do: the calls of a turn (the last one) that took effect, the latest first.

        Raises:
            NotFound: no such session or turn. UsageError: something is open. Nothing was written.
        """
        state = await self._revertible(session, turn)
        return await compensate.plan(self.parts, state, state.turn if turn is None else turn)

    async def _revertible(self, session: str, turn: int | None) -> SessionState:
        state = await self.state(session)
        if not state.seq:
            raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
        workspace = build.workspace_identity(self.settings.workspace)
        check(state, state.turn if turn is None else turn, workspace)
        return state
