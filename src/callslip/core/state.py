"""What is known of a session: the log, folded.

These are the only mutable values of ``core``: ``fold`` changes them, one event at a time, and everybody else reads.
They can be rebuilt from the log at any time; a checkpoint of them is a cache.
"""

from __future__ import annotations

import msgspec

from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_requested import VisibleTool
from callslip.core.events.session_started import WorkspaceIdentity
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.result import Effect


class CallState(msgspec.Struct, kw_only=True):
    """One call, from proposal to response."""

    call: FunctionCall
    seq: int
    marker: bool
    """Whether the run that recorded the proposal promised T1 before every effect."""
    dispatch: ToolDispatch | None = None
    """The latest T1."""
    dispatch_epoch: int = 0
    failed: AttemptFailed | None = None
    """Set when the latest attempt ended without a response."""
    ended_seen_at: int | None = None
    """When a later run began, and with it was seen that the owner of the latest T1 had ended."""
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


class QueuedMessage(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    text: str
    steer: bool


class UserItem(msgspec.Struct, frozen=True, kw_only=True, tag="user"):
    """The user's words, at the place where the model first saw them."""

    text: str


class StepItem(msgspec.Struct, frozen=True, kw_only=True, tag="step"):
    """A reply whose calls all have their responses."""

    step: str
    text: str
    finish: str
    calls: tuple[FunctionCall, ...] = ()
    responses: tuple[FunctionResponse, ...] = ()


Item = UserItem | StepItem


class SessionState(msgspec.Struct, kw_only=True):
    """Everything a run needs to go on."""

    session: str
    seq: int = 0
    digest: bytes = b""
    outsider_seq: int = 0
    """Position of the last record an outsider appended."""
    epoch: int = 0
    run: str | None = None
    run_open: bool = False
    marker: bool = False
    last_status: str = ""
    requester: str = ""
    workspace: WorkspaceIdentity | None = None
    workspace_accepted: WorkspaceIdentity | None = None
    turn: int = 0
    steps_in_turn: int = 0
    turn_open: bool = False
    """The user asked for something that has no final answer yet."""
    step: StepState | None = None
    """The latest step."""
    calls: dict[str, CallState] = {}
    """Calls of steps that are not closed yet, and of the latest step."""
    steps: dict[str, tuple[int, int]] = {}
    """A dispatcher's closed steps: where each one's records begin and end in the log."""
    queued: list[QueuedMessage] = []
    items: list[Item] = []
    """The conversation since the last segment, for the projection."""
    segments: tuple[str, ...] = ()
    """Addresses of blobs holding earlier items, oldest first."""
    waits: dict[str, WaitOpened] = {}
    wait_opened_at: dict[str, int] = {}
    stop: bool = False
    succeeded: set[str] = set()
    """Names of tools that have succeeded at least once, for required earlier calls."""

    def open_calls(self) -> list[CallState]:
        """Calls without a response, in the order they were proposed."""
        return [call for call in self.calls.values() if call.response is None]
