"""What is known of a session: the log, folded.

These are the only mutable values of ``core``: ``fold`` changes them, one event at a time, and everybody else reads.
They can be rebuilt from the log at any time; a checkpoint of them is a cache.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from callslip.core.call import CallState, Driver, StepState
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.session_forked import SessionForked
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.events.session_started import SessionStarted, WorkspaceIdentity
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.payload import Payload
from callslip.core.spent import Counts


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
    edits: dict[str, tuple[str, ...]] = {}
    """By call: how a person changed its arguments before it was made."""
    model: str = ""
    """Who said it."""
    kept: Payload | None = None
    """What its provider may want back to the letter."""


class UndoneItem(msgspec.Struct, frozen=True, kw_only=True, tag="undone"):
    """Somebody had an earlier call undone, at this place of the conversation."""

    call: FunctionCall
    """The one that undid it."""
    response: FunctionResponse


class CompactedItem(msgspec.Struct, frozen=True, kw_only=True, tag="compacted"):
    """From here on a summary stands for what came before, but for its latest parts."""

    summary: Payload
    keep: int


Item = UserItem | StepItem | UndoneItem | CompactedItem


class Undoing(msgspec.Struct, frozen=True, kw_only=True):
    """How far the undoing of one call has come."""

    call_id: str
    """The call that undoes it."""
    tries: int
    status: Literal["open", "undone", "failed", "unknown"]
    """``failed``: it certainly had no effect, so it may be tried again."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """How a wait ended."""

    how: str
    actor: str
    at: int
    seq: int


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
    started: SessionStarted | None = None
    """The log's first event: who began the session."""
    workspace: WorkspaceIdentity | None = None
    workspace_accepted: WaitClosed | None = None
    """An operator has accepted that the workspace is another one; the next run records it."""
    trust_seq: int = 0
    trust_digest: str = ""
    """The latest position of the trust file that the session has rested on, and its digest there."""
    turn: int = 0
    steps_in_turn: int = 0
    counts: Counts = msgspec.field(default_factory=Counts)
    """What it has used, and what its model repeats."""
    turn_open: bool = False
    """The user asked for something that has no final answer yet."""
    turn_from: int = 0
    """From when on the turn's time counts, in milliseconds since 1970: its first request, later by all the time in
    which no run was under way. A run that was stopped gives the next one all of it anew."""
    ended_at: int = 0
    """When the latest run ended."""
    step: StepState | None = None
    """The latest step."""
    model_failed: ModelFailed | None = None
    """Set while the model could not answer and is to be asked again."""
    model_failing_since: int = 0
    """When it could not answer for the first time, milliseconds since 1970."""
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
    asked_ids: set[str] = set()
    """Ids of all questions ever asked: an answer can't be used again by asking the same question anew."""
    answered: dict[str, Answered] = {}
    """The latest waits that are over, and who ended them: for whoever comes second."""
    revert: RevertStarted | None = None
    """The latest one."""
    undone: dict[str, Undoing] = {}
    """By the call that was undone, or was to be."""
    stop: bool = False
    checkpoint_seq: int = 0
    """Position at which this state was last kept."""
    activated: dict[str, str] = {}
    """Tools that were found, and are visible from then on until the turn ends: name and version (DEFR-03). Replaced and
    never changed in place."""
    succeeded: set[str] = set()
    """Names of tools that have succeeded at least once, for required earlier calls."""
    sealed: SessionSealed | None = None
    forked: SessionForked | None = None
    """Where its conversation begins, if that is in another session."""
    """The session has left: nothing may be added here."""
    imported: SessionImported | None = None
    """How the log came here, if it did not begin here."""
    copy_accepted: WaitClosed | None = None
    """An operator's word that nothing happened after the copy was made but what they have seen to."""
    erased: dict[str, int] = {}
    """Payloads that are gone on purpose, each with the position of the record that says so."""
    erased_whole: int = 0
    """Position of the record by which everything encrypted before it is gone."""

    @property
    def requester(self) -> str:
        """Who began the session, and so asks for everything in it."""
        return self.started.requester if self.started is not None else ""

    @property
    def requester_uid(self) -> int | None:
        """Their account of the operating system, where it is known."""
        return self.started.uid if self.started is not None else None

    def open_calls(self) -> list[CallState]:
        """Calls without a response, in the order they were proposed."""
        return [call for call in self.calls.values() if call.response is None]
