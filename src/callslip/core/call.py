"""A call as the log knows it, from proposal to response, and the step it belongs to.

This is where one call can be followed from: a provider proposes it, ``agent/step`` records it, ``gate/pipeline`` judges
it, ``runtime/dispatch`` commits T1, runs it and commits T2, ``runtime/outcome`` shapes what is committed.
"""

from __future__ import annotations

import msgspec

from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_requested import VisibleTool
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.instead import Instead
from callslip.core.payload import Payload
from callslip.core.result import Effect


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """The process that drove a run."""

    owner: str
    host: str
    boot: str
    process: int


class CallState(msgspec.Struct, kw_only=True):
    """One call, from proposal to response."""

    call: FunctionCall
    seq: int
    marker: bool
    """Whether the run that recorded the proposal promised T1 before every effect."""
    proposed_at: int = 0
    """Milliseconds since 1970, by the clock of whoever recorded the proposal: what "tomorrow" in it counts from."""
    asked: ApprovalRequested | None = None
    """The latest question to a person; the earlier ones are void."""
    decided: tuple[ApprovalDecided, ...] = ()
    """The answers to it: one, or several where several people must approve."""
    lapsed: bool = False
    """Nobody answered in time."""
    kept: Payload | None = None
    kept_edits: tuple[str, ...] = ()
    """What an approval that is used up had made of the arguments, and how it had changed them."""
    withdrawn: bool = False
    """The session was asked to stop while it was open: what has not been dispatched is not wanted any more."""
    dispatch: ToolDispatch | None = None
    """The latest T1."""
    dispatch_epoch: int = 0
    dispatched_by: Driver | None = None
    """Whose process made the latest attempt."""
    dispatched_at: int = 0
    """When it was dispatched, milliseconds since 1970, by the clock of whoever did."""
    failed: AttemptFailed | None = None
    """Set when the latest attempt ended without a response."""
    unclear: tuple[int, ...] = ()
    """Attempts before the latest that may have taken effect: the latest repeats them."""
    tried: int = 0
    """How many attempts there were since the call was proposed, or since a person said that it did not happen."""
    first_failed_at: int | None = None
    """When the first of them was seen to have failed, milliseconds since 1970."""
    ended_seen_at: int | None = None
    """When it was seen that the latest attempt had ended: by its own process, or by a run that found its owner gone."""
    ended_how: str = ""
    job: BackgroundStarted | None = None
    """What the latest attempt has started, and goes on outside."""
    polled: BackgroundPolled | None = None
    """What the job's tool said of it last."""
    polls: int = 0
    """How often it has said that the job goes on."""
    parked: CallParked | None = None
    resolved: CallResolved | None = None
    resolved_seq: int | None = None
    response: FunctionResponse | None = None
    erased_by: BlobErased | None = None
    """What was said in the response is gone, so its giver's signature fits it no more."""
    from_outside: bool = False
    """The response was given by an outsider."""
    late: int = 0
    """How many late outcomes were recorded."""

    @property
    def denied(self) -> ApprovalDecided | None:
        """Whoever said no: anything that is not literally an approval."""
        return next((one for one in self.decided if one.decision != "approved"), None)

    @property
    def approved(self) -> bool:
        """Everybody who must approve has, and nobody has denied."""
        return self.asked is not None and self.denied is None and len(self.decided) >= self.asked.approvers

    @property
    def pending(self) -> bool:
        """Asked, and not answered in full."""
        return self.asked is not None and not (self.approved or self.denied or self.lapsed)

    @property
    def edited(self) -> ApprovalDecided | None:
        """The answer that put other arguments in the place of those asked about."""
        return next((one for one in self.decided if one.edited is not None), None)

    @property
    def edits(self) -> tuple[str, ...]:
        """How people have changed the arguments, in words; empty when they are the model's."""
        before = self.asked.edited if self.asked is not None else self.kept_edits
        return (*before, *(self.edited.changes if self.edited is not None else ()))

    def arguments(self, *, decided: bool = True) -> Payload:
        """The arguments to be judged: the model's, unless a person has put others in their place. ``decided=False``
        leaves out the latest answer.
        """
        if decided and self.edited is not None and self.edited.edited is not None:
            return self.edited.edited
        if self.asked is not None and self.asked.edited:
            return self.asked.arguments
        return self.kept if self.kept is not None and self.kept_edits else self.call.arguments

    @property
    def instead(self) -> Instead | None:
        """Set once another tool is to answer: from then on all is about that one."""
        for said in (self.dispatch, self.failed, self.asked):
            if said is not None and said.instead is not None:
                return said.instead
        return None

    @property
    def tool(self) -> str:
        """What is to answer: the tool that was called, or what stands in for it."""
        instead = self.instead
        return self.call.tool if instead is None else instead.tool

    @property
    def attempts(self) -> int:
        return self.dispatch.attempt if self.dispatch else 0

    @property
    def asked_to_end(self) -> bool:
        """Its job has been told that the session was stopped."""
        return self.polled is not None and self.polled.asked_to_end

    @property
    def wake_at(self) -> int | None:
        """When its job is asked after next, or has taken too long."""
        if self.job is None or self.polled is not None:
            return None if self.polled is None else self.polled.wake_at
        return self.job.poll_at if self.job.until is None else min(self.job.poll_at, self.job.until)

    @property
    def unconcluded(self) -> bool:
        """A dispatch whose effect is neither ruled out nor answered for."""
        if self.dispatch is None:
            return False
        if self.failed is not None and self.failed.effect is Effect.NONE:
            return False
        return not (self.resolved is not None and self.resolved.verdict == "did_not_happen")


class StepState(msgspec.Struct, kw_only=True):
    """One model request with its reply and calls."""

    step: str
    turn: int
    model: str
    visible: tuple[VisibleTool, ...]
    text: str = ""
    finish: str = ""
    kept: Payload | None = None
    """What its provider may want back to the letter."""
    expected: int = 0
    calls: list[str] = []
    """Call ids in the model's order."""
