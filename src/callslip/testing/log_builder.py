"""Write logs by hand, event by event, for tests of what is concluded from them."""

from __future__ import annotations

import json
from typing import Any, Self

import msgspec

from callslip.core import asking, canon, fold
from callslip.core.call import CallState
from callslip.core.event import Event, Stored, draft, genesis, link
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved, Verdict
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested, VisibleTool
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.tool_dispatch import Evidence, ToolDispatch
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import inline
from callslip.core.principal import Proof
from callslip.core.result import Effect, Status
from callslip.core.state import SessionState
from callslip.core.tool import Recovery, Risk
from callslip.core.undoing import REVERT
from callslip.core.wait import WaitKind


class LogBuilder:
    """A log in the making. Every method appends one event and gives the builder back; ``now`` stamps the records.

    Calls are named by their position in the step: 0, 1, 2, …
    """

    def __init__(self, session: str = "s", *, start: bool = True, marker: bool = True) -> None:
        self.session = session
        self.records: list[Stored] = []
        self.texts: list[bytes] = []
        self.now = 1_000_000
        self.epoch = 1
        self._digest = genesis(session)
        self._step = ""
        self._dispatches: dict[int, ToolDispatch] = {}
        if start:
            self.add(SessionStarted(requester="tester")).run(marker=marker)

    def add(self, event: Event, *, outsider: bool = False, epoch: int | None = None) -> Self:
        """Append any event."""
        written = 0 if outsider else self.epoch if epoch is None else epoch
        made = draft(event, at=self.now, by="tester", epoch=written, run=f"run{self.epoch}")
        self._digest = link(self._digest, made.text)
        seq, size = len(self.records) + 1, len(made.text)
        self.records.append(Stored(seq=seq, digest=self._digest, record=made.record, size=size))
        self.texts.append(made.text)
        return self

    def state(self) -> SessionState:
        """The log, folded."""
        return fold.fold(self.session, self.records)

    def call_state(self, position: int = 0) -> CallState:
        """One call of the latest step, folded."""
        return self.state().calls[self.call_id(position)]

    def call_id(self, position: int = 0) -> str:
        return f"call-{self._step}-{position}"

    def run(self, *, marker: bool = True, ended: str = "first") -> Self:
        seen = {} if ended in {"first", "still_running"} else {"own": ended}
        return self.add(
            RunStarted(owner="own", host="h", boot="b", process=1, marker=marker, parent_ended=ended, ended=seen)
        )

    def crash(self, *, ended: str = "lock_free", marker: bool = True, after_ms: int = 1000) -> Self:
        """The owner dies, and the next run begins some time later."""
        self.now += after_ms
        self.epoch += 1
        return self.run(marker=marker, ended=ended)

    def user(self, text: str = "hello", *, steer: bool = False) -> Self:
        return self.add(UserMessage(text=text, steer=steer), outsider=True)

    def step(
        self, *tools: str, step: str = "1.1", turn: int = 1, model: str = "m", finish: str = "calls", undoes: str = ""
    ) -> Self:
        """A request that shows every queued message, its reply, and a call of each named tool."""
        self._step = step
        self._dispatches = {}
        consumed = tuple(message.seq for message in self.state().queued) if model not in {fold.CALLER, REVERT} else ()
        visible = tuple(VisibleTool(name=tool, version="v1") for tool in dict.fromkeys(tools))
        self.add(ModelRequested(step=step, turn=turn, model=model, visible=visible, consumed=consumed))
        self.add(ModelReplied(step=step, text="", finish=finish if tools else "stop", calls=len(tools)))
        for position, tool in enumerate(tools):
            self.add(
                FunctionCall(
                    call_id=self.call_id(position),
                    step=step,
                    position=position,
                    tool=tool,
                    arguments=inline(canon.canonical(json.dumps({"n": position}))),
                    undoes=undoes,
                )
            )
        return self

    def undo(self, call_id: str, step: str, *, turn: int = 1) -> Self:
        """A step with the call that undoes that one."""
        return self.step("undo", step=step, turn=turn, model=REVERT, undoes=call_id)

    def ask(self, position: int = 0, *, approval: str = "", **changes: Any) -> Self:
        """A person is asked about the call, and the wait is opened."""
        text = canon.canonical({"n": position})
        approval = approval or f"{asking.APPROVAL}_{position}"
        asked = ApprovalRequested(
            call_id=self.call_id(position), approval_id=approval, binding=f"binding-{position}", tool="t",
            tool_version="v1", executor="e", arguments=inline(text), arguments_digest=canon.digest(text),
            requester="tester", rules=("r",), reason="because", schema=inline(b"{}"),
        )  # fmt: skip
        asked = msgspec.structs.replace(asked, **changes)
        wait = WaitOpened(
            wait_id=approval, kind=WaitKind.APPROVAL, reason="because", call_id=asked.call_id, wake_at=asked.expires_at
        )
        return self.add(asked).add(wait)

    def decide(
        self,
        decision: str = "approved",
        position: int = 0,
        *,
        by: str = "anna",
        approval: str = "",
        closes: bool = True,
        **changes: Any,
    ) -> Self:
        """A person's answer, and the end of the wait if it ``closes`` it."""
        approval = approval or f"{asking.APPROVAL}_{position}"
        decided = ApprovalDecided(
            call_id=self.call_id(position), approval_id=approval, binding=f"binding-{position}",
            decision="denied" if decision == "denied" else "approved", proof=Proof(principal=by),
        )  # fmt: skip
        self.add(msgspec.structs.replace(decided, **changes), outsider=True)
        return self.close(approval, decision, by) if closes else self

    def lapse(self, position: int = 0) -> Self:
        """Nobody answers in time."""
        approval = f"{asking.APPROVAL}_{position}"
        self.add(ApprovalExpired(call_id=self.call_id(position), approval_id=approval), outsider=True)
        return self.close(approval, "expired", "clock")

    def close(self, wait: str, how: str, actor: str) -> Self:
        return self.add(WaitClosed(wait_id=wait, how=how, actor=actor), outsider=True)

    def dispatch(
        self,
        position: int = 0,
        *,
        recovery: Recovery | str = Recovery.NEVER,
        risk: Risk | str = Risk.WRITE,
        quiet_ms: int = 500,
        local: bool = False,
        client: bool = False,
        evidence: Evidence | None = None,
        **changes: Any,
    ) -> Self:
        """T1 of the call's next attempt."""
        earlier = self._dispatches.get(position)
        attempt = earlier.attempt + 1 if earlier else 1
        text = canon.canonical({"n": position})
        event = ToolDispatch(
            call_id=self.call_id(position), attempt=attempt, nonce=f"nonce-{position}-{attempt}", tool="t",
            tool_version="v1", arguments=inline(text), arguments_digest=canon.digest(text),
            idempotency_key=f"key-{position}", risk=Risk(risk), recovery=Recovery(recovery), rules=("r",),
            deadline=self.now + 60_000, quiet_ms=quiet_ms, local_effect=local, client_owned=client, evidence=evidence,
        )  # fmt: skip
        event = msgspec.structs.replace(event, **changes)
        self._dispatches[position] = event
        return self.add(event)

    def job(self, position: int = 0, *, poll_after_ms: int = 1000, until: int | None = None) -> Self:
        """The latest T1 has started a job, and the wait for it is opened."""
        t1, wait_id = self._dispatches[position], f"job-{position}"
        wake_at = self.now + poll_after_ms
        self.add(
            WaitOpened(wait_id=wait_id, kind=WaitKind.BACKGROUND, reason="because", call_id=t1.call_id, wake_at=wake_at)
        )
        return self.add(
            BackgroundStarted(
                call_id=t1.call_id, attempt=t1.attempt, nonce=t1.nonce, handle=inline(b'"job"'), wait_id=wait_id,
                poll_at=wake_at, until=until,
            )
        )  # fmt: skip

    def polled(self, position: int = 0, *, again_ms: int = 2000, **changes: Any) -> Self:
        """The job was asked after, and goes on."""
        t1 = self._dispatches[position]
        event = BackgroundPolled(
            call_id=t1.call_id, attempt=t1.attempt, nonce=t1.nonce, wait_id=f"job-{position}",
            poll_at=self.now + again_ms, wake_at=self.now + again_ms,
        )  # fmt: skip
        return self.add(msgspec.structs.replace(event, **changes))

    def fail(
        self,
        position: int = 0,
        *,
        effect: Effect | str = Effect.UNKNOWN,
        code: str = "boom",
        ended: bool = False,
        **changes: Any,
    ) -> Self:
        t1 = self._dispatches[position]
        event = AttemptFailed(
            call_id=t1.call_id, attempt=t1.attempt, nonce=t1.nonce, effect=Effect(effect), code=code, ended=ended
        )
        return self.add(msgspec.structs.replace(event, **changes))

    def settle(self, position: int = 0, *, outsider: bool = False, **changes: Any) -> Self:
        """T2, naming the latest T1."""
        t1 = self._dispatches.get(position)
        event = FunctionResponse(
            call_id=self.call_id(position), lane="settled", status=Status.SUCCESS, effect=Effect.DONE,
            structured=inline(b'"ok"'), attempt=t1.attempt if t1 else None, nonce=t1.nonce if t1 else None,
        )  # fmt: skip
        return self.add(msgspec.structs.replace(event, **changes), outsider=outsider)

    def refuse(
        self,
        position: int = 0,
        *,
        status: Status = Status.PERMISSION_DENIED,
        code: str = "no",
        same_as: str = "",
    ) -> Self:
        return self.add(
            FunctionResponse(
                call_id=self.call_id(position),
                lane="refused",
                status=status,
                effect=Effect.NONE,
                error_code=code,
                same_as=same_as,
            )
        )

    def park(self, position: int = 0, *, code: str = "unknown_outcome") -> Self:
        return self.add(CallParked(call_id=self.call_id(position), code=code, reason="because"))

    def resolve(self, verdict: Verdict, position: int = 0) -> Self:
        return self.add(
            CallResolved(
                call_id=self.call_id(position), verdict=verdict, reason="looked", actor="op", result=inline(b'"R"')
            ),
            outsider=True,
        )
