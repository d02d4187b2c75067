"""What of a record users, models and tools said, as opposed to what happened: it is kept out of a protected log. Pure.

A protected record holds everything the fold needs, in clear text, and its private parts beside it, encrypted. When
their key is destroyed the record still tells that a call was made, how it ended and who decided; not what was said.
Payloads are no private part: they lie outside such a record, each for itself, so that one can be erased alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from callslip.core.erasure import TEXT
from callslip.core.event import Event
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.user_message import UserMessage

HIDDEN: dict[type, tuple[str, ...]] = {
    UserMessage: ("text",),
    ModelReplied: ("text",),
    ModelFailed: ("message",),
    ApprovalRequested: ("evidence", "version", "again", "edited"),
    ApprovalDecided: ("changes",),
    ToolDispatch: ("claims", "evidence", "version", "changed"),
    AttemptFailed: ("internal", "message"),
    BackgroundPolled: ("note",),
    BreakerOpened: ("target",),
    FunctionResponse: ("summary", "error_message", "field_errors", "notes", "internal"),
    LateOutcome: ("internal",),
}
"""Left empty in the record."""

TAGGED: dict[type, tuple[str, ...]] = {
    ApprovalRequested: ("binding", "arguments_digest"),
    ApprovalDecided: ("binding",),
    ToolDispatch: ("arguments_digest",),
}
"""Digests: whoever guesses a short argument could confirm it by them. The record has a keyed one instead, which still
says which are equal."""


def split(event: Event, tag: Callable[[str], str]) -> tuple[Event, dict[str, Any]]:
    """The event as a protected record holds it, and its private parts; no parts: it has none."""
    kind = type(event)
    hidden = {name: getattr(event, name) for name in HIDDEN.get(kind, ())}
    parts = {name: value for name, value in hidden.items() if value}
    tagged = {name: getattr(event, name) for name in TAGGED.get(kind, ())}
    if not parts and not tagged:
        return event, {}
    bare = {name: _empty(value) for name, value in parts.items()}
    tags = {name: tag(value) for name, value in tagged.items()}
    return msgspec.structs.replace(event, **bare, **tags), parts | tagged


def join(event: Event, parts: dict[str, Any]) -> Event:
    """The whole event again."""
    return msgspec.structs.replace(event, **parts)


def erased(event: Event, names: tuple[str, ...]) -> Event:
    """The event whose private parts, of these names, nobody can read any more."""
    texts = {name: TEXT for name in names if name in HIDDEN.get(type(event), ()) and _is_text(event, name)}
    return msgspec.structs.replace(event, **texts)


def _empty(value: Any) -> Any:
    return "" if isinstance(value, str) else () if isinstance(value, tuple) else None


def _is_text(event: Event, name: str) -> bool:
    return isinstance(getattr(event, name), str)
