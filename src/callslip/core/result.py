"""What comes of a call: eight statuses, three effects, and the normalised result (CALL-04, RSLT-01)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import msgspec

from callslip.core.instead import Fallback
from callslip.errors import Layer


class Status(StrEnum):
    """The eight outcomes a model can be told. ``pending_approval`` is never an event: the call still waits."""

    SUCCESS = "success"
    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_FOUND = "not_found"
    PERMISSION_DENIED = "permission_denied"
    TIMEOUT = "timeout"
    RETRYABLE_ERROR = "retryable_error"
    FATAL_ERROR = "fatal_error"
    PENDING_APPROVAL = "pending_approval"


class Effect(StrEnum):
    """What the call did to the world, as far as is known."""

    NONE = "none"
    DONE = "done"
    UNKNOWN = "unknown"


class BlobRef(msgspec.Struct, frozen=True, kw_only=True):
    """A payload kept outside the log: ``address`` is ``sha256:`` and the hex digest of its raw bytes."""

    address: str
    size: int
    """Bytes, uncompressed."""
    media_type: str = "application/json"
    name: str = ""


class FieldError(msgspec.Struct, frozen=True, kw_only=True):
    """One fault in the arguments: which field, which rule, what was given, what would be right."""

    field: str
    rule: str
    message: str
    got: str = ""
    allowed: tuple[str, ...] = ()


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """A result as a tool may return it itself, and as every result is normalised.

    ``summary`` is what the model reads first; ``structured`` is any JSON value; ``evidence`` names payloads that stay
    outside the context and can be read back by address.
    """

    summary: str = ""
    structured: Any = None
    evidence: tuple[BlobRef, ...] = ()
    truncated: bool = False


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The one answer to a call, as callers of the library and the model see it."""

    call_id: str
    tool: str
    status: Status
    effect: Effect
    error_code: str | None = None
    """Stable and documented in docs/reference/codes.md; ``None`` on success."""
    error_message: str | None = None
    """Sanitised: no stack, path, host or secret."""
    layer: Layer | None = None
    """Where it failed; ``None`` on success, and while the call waits."""
    field_errors: tuple[FieldError, ...] = ()
    retryable: bool = False
    result: ToolResult | None = None
    attempt: int | None = None
    fallback: Fallback | None = None
    """Not the tool that was called has answered, or not now."""
    wait_id: str | None = None
    """Set with ``pending_approval``: what is waited for."""

    @property
    def ok(self) -> bool:
        return self.status is Status.SUCCESS


Lane = Literal["refused", "settled"]
