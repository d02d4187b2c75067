"""What is known of a session: the log, folded.

These are the only mutable values of ``core``: ``fold`` changes them, one event at a time, and everybody else reads.
They can be rebuilt from the log at any time; a checkpoint of them is a cache.
"""

from __future__ import annotations

import msgspec

from callslip.core.call import CallState, Driver, StepState
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.session_started import WorkspaceIdentity
from callslip.core.events.wait_opened import WaitOpened


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
    driver: Driver | None = None
    run_open: bool = False
    marker: bool = False
    last_status: str = ""
    requester: str = ""
    workspace: WorkspaceIdentity | None = None
    workspace_accepted: bool = False
    """An operator has accepted that the workspace is another one; the next run records it."""
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
    checkpoint_seq: int = 0
    """Position at which this state was last kept."""
    succeeded: set[str] = set()
    """Names of tools that have succeeded at least once, for required earlier calls."""

    def open_calls(self) -> list[CallState]:
        """Calls without a response, in the order they were proposed."""
        return [call for call in self.calls.values() if call.response is None]
