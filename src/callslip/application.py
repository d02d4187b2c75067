"""The public face: a :class:`Runtime` and what it gives back."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from callslip import build
from callslip.agent.batch import Batch, collect, record_step
from callslip.agent.loop import Ended, Plan, drive_session
from callslip.agent.revert import Reverted, revert
from callslip.bound import bind
from callslip.core.breaker import BreakerRules
from callslip.core.budget import Budgets, Use
from callslip.core.events.revert_started import RevertStarted
from callslip.core.principal import Role
from callslip.core.routing import Routing
from callslip.core.wait import Wait
from callslip.errors import LedgerError, UsageError
from callslip.gate.catalogue import Catalogue
from callslip.models import build_model
from callslip.outside import Outside
from callslip.ports.authority import Capacity
from callslip.ports.clock import Clock
from callslip.ports.executor import Executor
from callslip.ports.model import Model, Proposal
from callslip.ports.policy import Policy
from callslip.ports.trust import Identity
from callslip.providers.options import Options
from callslip.runtime.batch import settle_step
from callslip.runtime.drive import Drive
from callslip.runtime.live import Observer, Watch, ignore
from callslip.runtime.parts import Limits, Parts
from callslip.sessions import checkpoint
from callslip.sessions.acquire import acquire
from callslip.sessions.holding import Holding
from callslip.telemetry.settings import Telemetry

if TYPE_CHECKING:
    from callslip.notify.notifier import Notifier

_TOLD_EVERY = 50
"""Steps that are dispatched before the audit is told."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    session: str
    status: Literal["finished", "waiting", "stopped"]
    text: str
    """The final answer; empty unless finished."""
    reason: str
    waits: tuple[Wait, ...]
    """What the session waits for."""
    limit: str = ""
    """What was used up, if that ended it: ``turn.tokens``, ``session.money``, ``turn.steps``, ``loop`` and so on."""
    spent: tuple[Use, ...] = ()
    """What was used by then, in the turn and in the session, and of how much."""


class Runtime(Outside):
    """Tools, a model, a policy and a place for the log: everything a session needs.

    Args:
        tools: what ``@tool`` made, or any other executor.
        model: a :class:`Model`, or a name such as ``openai:gpt-5`` or ``recorded:replies.jsonl``.
        state: the state folder, outside everything tools may write. ``None`` keeps the log in memory: nothing survives.
        workspace: the folder the file tools work in; sessions are bound to its identity.
        policy: decides each call; or a mapping from risk to ``allow``, ``ask`` or ``deny``.
        system: the system prompt.
        budgets: what a turn, a session and a requester may use.
        routing: which tools the model is shown, and which it finds.
        breakers: when a tool that keeps failing is left alone, and for how long.
        timezone: where sessions are, by its IANA name: what day "tomorrow" is, where a tool declares such words.
        secrets: exact texts that are taken out of tools' results and errors before log and model see them; or a mapping
            from names to them, for arguments that say ``secret://name``.
        capacities: what limited services take, by the name that tools claim as ``slot:NAME``; ``tool.NAME`` limits a
            tool itself.
        identity: who begins sessions and answers here, with an unlocked key; default: the operating system's account.
        watch: called with what happens live (``callslip.runtime.live``).
        telemetry: an ``OpenTelemetry`` of ``callslip.telemetry.opentelemetry``, which tells spans and metrics on.

    Use it as an asynchronous context manager, or call :meth:`aclose`.

    Raises:
        StateRefused, LedgerUnavailable, LogBroken, ToolDefinitionError, ConfigError: nothing was started.
    """

    def __init__(
        self,
        *,
        tools: Sequence[Executor] = (),
        model: Model | str | None = None,
        state: Path | str | None = None,
        workspace: Path | str | None = None,
        policy: Policy | Mapping[str, str] | None = None,
        system: str = "",
        limits: Limits | None = None,
        budgets: Budgets | None = None,
        routing: Routing | None = None,
        breakers: BreakerRules | None = None,
        timezone: str = "UTC",
        secrets: Iterable[str] | Mapping[str, str] = (),
        capacities: Mapping[str, Capacity] | None = None,
        identity: Identity | None = None,
        base_url: str | None = None,
        options: Options | None = None,
        stream: bool = False,
        watch: Watch = ignore,
        telemetry: Observer | None = None,
        clock: Clock | None = None,
    ) -> None:
        decisions = isinstance(policy, Mapping)
        self.settings = build.Settings(
            executors=tuple(tools),
            model=build_model(model, base_url=base_url, options=options) if isinstance(model, str) else model,
            system=system,
            stream=stream,
            state=None if state is None else Path(state),
            workspace=None if workspace is None else Path(workspace),
            policy=None if decisions else policy,  # type: ignore[arg-type]
            decisions=dict(policy) if decisions else {},  # type: ignore[arg-type]
            limits=limits or Limits(),
            budgets=budgets or Budgets(),
            routing=routing or Routing(),
            breakers=breakers or BreakerRules(),
            timezone=timezone,
            capacities=dict(capacities or {}),
            secrets=dict(secrets) if isinstance(secrets, Mapping) else {f"{n}": text for n, text in enumerate(secrets)},
            identity=identity,
            watch=watch,
            telemetry=telemetry or Telemetry(),
            clock=clock,
        )
        self._sessions = Holding(self._take)
        self._former: list[Model] = []
        """Models that were asked before this one; a drive may still ask them."""
        self._parts: Parts | None = None
        self._untold = 0
        """Steps dispatched since the audit was told."""

    @property
    def parts(self) -> Parts:
        """The wired parts; opened at the first use."""
        if self._parts is None:
            self._parts = build.build_parts(self.settings)
        return self._parts

    @property
    def catalogue(self) -> Catalogue:
        """The bound tools, without opening any state."""
        if self._parts is not None:
            return self._parts.catalogue
        return bind(self.settings.executors, self.settings.routing).catalogue

    def configure(self, **changes: Any) -> None:
        """Change settings before the first use (``state``, ``workspace``, ``watch``, ``limits``, ``model``, …).

        Raises:
            UsageError: the runtime is open already.
        """
        if self._parts is not None:
            raise UsageError("The runtime is open; its settings can't be changed any more.")
        self.settings = msgspec.structs.replace(self.settings, **changes)

    def use_model(self, model: Model | str, *, base_url: str | None = None, options: Options | None = None) -> None:
        """Ask another model from the next :meth:`run` or :meth:`resume` on, even though the runtime is open.

        It may be another provider's: the session's history goes along, in that one's own form. A drive that is under
        way keeps the model that it began with. The model before is closed together with the runtime.

        Raises:
            ConfigError: it can't be built. The model before stays.
        """
        made = build_model(model, base_url=base_url, options=options) if isinstance(model, str) else model
        if self.settings.model is not None:
            self._former.append(self.settings.model)
        self.settings = msgspec.structs.replace(self.settings, model=made)

    # Driving

    async def run(self, text: str, *, session: str) -> Run:
        """Say something to the session, and drive it until it has an answer, waits or is stopped.

        Raises:
            Busy: another live process drives it; the message was not added. ModelError: resume to try again.
            LogBroken: nothing was executed.
        """
        async with self._driving(session, create=True) as drive:
            await self.answers.send(session, text, steer=False, author=self.identity().name)
            await drive.refresh()
            return await self._drive(drive)

    async def resume(self, session: str) -> Run:
        """Go on with the session: settle what a crash or a wait left open, then the turn.

        Raises:
            NotFound, Busy, ModelError, LogBroken.
        """
        async with self._driving(session, create=False) as drive:
            return await self._drive(drive)

    def pause(self, session: str, *, leave: bool = False) -> None:
        """Let a run of this process end at its next boundary: dispatched calls settle, nothing new begins.

        The turn stays open: :meth:`resume` goes on with it, here or elsewhere. ``leave``: any worker does.
        """
        if session in self._sessions.driven:
            self._sessions.driven[session].pause(leave=leave)

    def is_active(self, session: str) -> bool:
        """Whether this runtime drives or holds the session at this moment."""
        return session in self._sessions.active

    def run_sync(self, text: str, *, session: str) -> Run:
        """:meth:`run` for code without an event loop; opens and closes the runtime around it."""

        async def main() -> Run:
            async with self:
                return await self.run(text, session=session)

        return asyncio.run(main())

    async def _drive(self, drive: Drive) -> Run:
        plan = Plan(
            model=self.settings.model,
            system=self.settings.system,
            workspace=build.workspace_identity(self.settings.workspace),
            stream=self.settings.stream,
        )
        ended: Ended = await drive_session(drive, plan)
        waits = await self.waits(drive.session) if ended.status == "waiting" else []
        return Run(
            session=drive.session,
            status=ended.status,
            text=ended.text,
            reason=ended.reason,
            waits=tuple(waits),
            limit=ended.limit,
            spent=self._used(drive.state),
        )

    # Dispatching for somebody else's loop

    async def dispatch(
        self,
        calls: Sequence[Proposal | Mapping[str, Any]],
        *,
        session: str,
        step: str,
        visible: Iterable[str] | None = None,
    ) -> Batch:
        """Run one step's calls for a loop that is not ours. Identity is (session, step, position): the same again
        gives the same batch and executes nothing twice.

        Args:
            calls: proposals, or a provider's own tool-call objects (OpenAI, Anthropic).
            session: any id; made if new.
            step: any text that names this step within the session.
            visible: the tools the model was shown in this step; default: all that are not deferred, and the latest
                that the session has found.

        Raises:
            StepConflict: the step is there with other calls. StillWaiting: an earlier step still waits.
            Busy: another has the session. UsageError: from within a call of it, or the runtime is being closed.
        """
        if not calls:
            return Batch(session=session, step=step, results=(), waits=(), texts=())
        held = await self._sessions.hold(session)
        try:
            return await self._dispatch(held.drive, calls, step, visible)
        except LedgerError:
            held.broken = True
            raise
        finally:
            await self._sessions.leave(held)

    async def _dispatch(
        self,
        drive: Drive,
        calls: Sequence[Proposal | Mapping[str, Any]],
        step: str,
        visible: Iterable[str] | None,
    ) -> Batch:
        async with drive.recording:
            await record_step(drive, calls, step=step, visible=visible)
        await settle_step(drive)
        await checkpoint.keep_up(self.parts, drive.state)
        self._untold += 1
        if self._untold >= _TOLD_EVERY:
            await self._tell_audit()
        return await collect(self.parts, drive.state, step)

    async def _tell_audit(self) -> None:
        """Let the audit follow the log. It is behind by what is told in the next turn; a crash loses nothing of it."""
        self._untold = 0
        if self.parts.audit is not None:
            await self.parts.audit.catch_up()

    async def release(self, session: str) -> None:
        """Let go of a session that :meth:`dispatch` holds, so that another process may take it.

        Raises:
            Busy: a dispatch of it is under way.
        """
        with self._sessions.under_way():
            if await self._sessions.release(session):
                await self._tell_audit()

    # Undoing

    async def revert(
        self, session: str, *, turn: int | None = None, reason: str = "", by: Identity | None = None
    ) -> Reverted:
        """Undo the effects of a turn, the last one unless told otherwise: run the compensation of each of its calls,
        in reverse order, through the same gates, approvals and log as any call. Asked for again, it goes on where it
        ended, and undoes nothing twice.

        Raises:
            NotFound: no such session or turn. UsageError: something is open. NotAuthorised: not by this identity.
            Busy. Nothing was undone.
        """
        identity = self.identity(by)

        def sign(event: RevertStarted) -> RevertStarted:
            stated = msgspec.structs.replace(event, actor=identity.name)
            return self._outsider.signed(stated, by=identity, session=session, wait_id=session, roles=(Role.OPERATOR,))

        state = await self._revertible(session, turn)
        chosen = state.turn if turn is None else turn
        sign(RevertStarted(turn=chosen, actor="", prefix_seq=0))  # whoever may not is told so before anything is held
        async with self._driving(session, create=False) as drive:
            workspace = build.workspace_identity(self.settings.workspace)
            done = await revert(drive, chosen, workspace, sign, reason)
        waits = await self.waits(session) if done.status == "waiting" else []
        return msgspec.structs.replace(done, waits=tuple(waits))

    def notifier(self, tell: Callable[[str], None]) -> Notifier | None:
        """What tells people of what needs them, as the settings say; ``tell`` hears of what could not be told."""
        return build.build_notifier(self.settings, self.parts, tell)

    # Lifetime

    async def aclose(self) -> None:
        """End what this runtime holds and close its files. Safe to call twice.

        What is begun meanwhile is refused with a ``UsageError`` before anything of it is executed.
        """
        if self._parts is None:
            return
        try:
            await self._close()
        finally:
            self._sessions.opened()

    async def _close(self) -> None:
        if await self._sessions.settled():
            with contextlib.suppress(Exception):  # closing must go on; the audit follows the log another time
                await self._tell_audit()
        parts, self._parts = self._parts, None
        if parts is None:  # closed twice at once
            return
        for wired in ("_outsider", "answers", "approvals"):
            self.__dict__.pop(wired, None)
        if parts.audit is not None:
            parts.audit.close()
        for store in (parts.breakers, parts.last_good, parts.finder):
            if store is not None:
                store.close()
        await parts.ledger.aclose()
        holders = parts.authority.close()
        if not any(context.still_running for context in parts.left_behind):
            parts.owners.close()  # else the lock says, until this process ends, that something of it still works
        models, self._former = [*self._former, self.settings.model], []
        async with contextlib.AsyncExitStack() as closing:  # one that can't be closed leaves none of the others open
            for model in {id(one): one for one in models}.values():
                close = getattr(model, "aclose", None)
                if close is not None:
                    closing.push_async_callback(close)
        if holders:  # no call is under way any more: whoever operates this loses nothing, and a test should fail
            calls = ", ".join(f"{holder.call_id} ({holder.tool})" for holder in holders)
            said = f"Calls that are over still held what they had claimed: {calls}"
            warnings.warn(said, ResourceWarning, stacklevel=3)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @contextlib.asynccontextmanager
    async def _driving(self, session: str, *, create: bool) -> AsyncIterator[Drive]:
        with self._sessions.under_way():
            async with self._sessions.driving(session, create=create) as drive:
                yield drive
            await self._tell_audit()

    async def _take(self, session: str, others: frozenset[str], create: bool) -> Drive:
        return await acquire(
            self.parts,
            session,
            active=others,
            requester=self.identity(),
            workspace=build.workspace_identity(self.settings.workspace),
            create=create,
        )
