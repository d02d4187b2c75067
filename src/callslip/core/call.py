"""A call as the log knows it, from proposal to response, and the step it belongs to.

This is where one call can be followed from: a provider proposes it, ``agent/step`` records it, ``gate/pipeline`` judges
it, ``runtime/dispatch`` commits T1, runs it and commits T2, ``runtime/outcome`` shapes what is committed.
"""

from __future__ import annotations

import msgspec

from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_requested import VisibleTool
from callslip.core.events.tool_dispatch import ToolDispatch
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
    dispatch: ToolDispatch | None = None
    """The latest T1."""
    dispatch_epoch: int = 0
    dispatched_by: Driver | None = None
    """Whose process made the latest attempt."""
    failed: AttemptFailed | None = None
    """Set when the latest attempt ended without a response."""
    ended_seen_at: int | None = None
    """When it was seen that the latest attempt had ended: by its own process, or by a run that found its owner gone."""
    ended_how: str = ""
    parked: CallParked | None = None
    resolved: CallResolved | None = None
    resolved_seq: int | None = None
    response: FunctionResponse | None = None
    late: int = 0
    """How many late outcomes were recorded."""

    @property
    def attempts(self) -> int:
        return self.dispatch.attempt if self.dispatch else 0

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
    expected: int = 0
    calls: list[str] = []
    """Call ids in the model's order."""
