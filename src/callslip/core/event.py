"""Records: an event with the facts of its writing, its exact text, and the hash chain that binds it.

The stored bytes are what was hashed. ``digest(n) = SHA-256(digest(n-1) || text(n))`` with raw 32-byte digests; the
chain begins at a digest derived from the session's id, so a log can't be passed off as another session's. Position
is bound by the chain itself: the n-th link is event n.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from callslip.core import canon
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.call_parked import CallParked
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.context_compacted import ContextCompacted
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_forked import SessionForked
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.wait import WaitKind
from callslip.errors import LogBroken, UsageError

Event = (
    SessionStarted
    | RunStarted
    | RunEnded
    | UserMessage
    | ModelRequested
    | ModelReplied
    | ModelFailed
    | FunctionCall
    | ApprovalRequested
    | ApprovalDecided
    | ApprovalExpired
    | ToolDispatch
    | BackgroundStarted
    | BackgroundPolled
    | AttemptFailed
    | FunctionResponse
    | BreakerOpened
    | LateOutcome
    | CallParked
    | CallResolved
    | WaitOpened
    | WaitClosed
    | StopRequested
    | RevertStarted
    | SessionSealed
    | SessionImported
    | BlobErased
    | ContextCompacted
    | SessionForked
)

PROTOCOL = 1
"""Version of every event this program writes. A reader that meets a higher one fails closed."""

OUTSIDER_EVENTS = (
    UserMessage, ApprovalDecided, ApprovalExpired, CallResolved, FunctionResponse, LateOutcome, WaitClosed,
    StopRequested, SessionSealed, SessionImported, BlobErased,
)  # fmt: skip
"""What may be appended without owning the session (LEDG-03). A FunctionResponse only for a client-owned call
and for a job.
Beside them, the wait of a log that was copied: :func:`from_outside`."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored: an event, who wrote it and when. ``epoch`` 0 marks an outsider's record."""

    at: int
    """Milliseconds since 1970, UTC, by the writer's clock."""
    by: str
    epoch: int
    event: Event
    run: str
    v: int = PROTOCOL
    sealed: str | msgspec.UnsetType = msgspec.UNSET
    """In a protected record, as it is stored: its private parts (``core/private``), encrypted, in base64."""
    hidden: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Their names."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A record ready to be appended: its text is final, its place in the log is not."""

    record: Record
    text: bytes


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A record in its place. ``digest`` is raw, 32 bytes."""

    seq: int
    digest: bytes
    record: Record
    size: int = 0
    """Bytes of its text, as it is stored."""


def from_outside(event: Event) -> bool:
    """Whether an outsider may append such an event at all."""
    return isinstance(event, OUTSIDER_EVENTS) or (isinstance(event, WaitOpened) and event.kind is WaitKind.COPY)


_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Record, strict=True)


def draft(event: Event, *, at: int, by: str, epoch: int, run: str) -> Draft:
    """Encode an event. Lone surrogates in any text of it are replaced.

    Raises:
        UsageError: a value of a type that could not be read back. Nothing is ever written that can't be read.
    """
    record = Record(at=at, by=by, epoch=epoch, event=event, run=run)
    try:
        text = _encoder.encode(record)
    except UnicodeEncodeError:
        record = _scrub(record)
        text = _encoder.encode(record)
    try:
        _decoder.decode(text)
    except msgspec.DecodeError as error:
        kind = event.__struct_config__.tag
        raise UsageError(f"A {kind} can't be recorded: {error}. Nothing was written.") from error
    return Draft(record=record, text=text)


def _scrub(value: Any) -> Any:
    if isinstance(value, str):
        return canon.scrub(value)
    if isinstance(value, tuple):
        return tuple(map(_scrub, value))
    if isinstance(value, dict):
        return {_scrub(key): _scrub(item) for key, item in value.items()}
    if isinstance(value, msgspec.Struct):
        fields = {name: _scrub(getattr(value, name)) for name in value.__struct_fields__}
        return type(value)(**fields)
    return value


def genesis(session: str) -> bytes:
    """The digest before the first event of a session."""
    return hashlib.sha256(b"callslip log 1\n" + session.encode()).digest()


def link(previous: bytes, text: bytes) -> bytes:
    """The digest of the event with this text that follows the event with that digest."""
    return hashlib.sha256(previous + text).digest()


def read(text: bytes, seq: int) -> Record:
    """Decode a stored record.

    Raises:
        LogBroken: an event type or version this program does not know, or text that is no record at all.
    """
    try:
        record = _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unreadable(text, seq, error) from error
    if record.v > PROTOCOL:
        raise LogBroken(
            f"Event {seq} has version {record.v}; this program reads up to {PROTOCOL}. Nothing was executed. "
            "Open the session with the newer Callslip that wrote it.",
            seq=seq,
        )
    return record


def _unreadable(text: bytes, seq: int, error: Exception) -> LogBroken:
    try:
        loose = msgspec.json.decode(text)
        version, kind = loose.get("v"), loose["event"]["type"]
    except Exception:  # noqa: BLE001 - whatever is wrong with the bytes, the answer is the same
        return LogBroken(f"Event {seq} can't be read ({error}). Nothing was executed.", seq=seq)
    return LogBroken(
        f"Event {seq} has type {kind!r} version {version}, which this program (version {PROTOCOL}) can't read: "
        f"{error}. Nothing was executed. Open the session with the Callslip that wrote it.",
        seq=seq,
    )
