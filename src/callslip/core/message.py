"""The provider-neutral conversation: what a projection is made of and what every adapter translates."""

from __future__ import annotations

from typing import Any

import msgspec


class UserText(msgspec.Struct, frozen=True, kw_only=True, tag="user"):
    text: str


class CallMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A call in the history, as the model made it."""

    call_id: str
    provider_id: str
    tool: str
    arguments: str | dict[str, Any]


class AssistantReply(msgspec.Struct, frozen=True, kw_only=True, tag="assistant"):
    text: str
    calls: tuple[CallMessage, ...] = ()


class ResultMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one call, as text for the model."""

    call_id: str
    provider_id: str
    tool: str
    content: str
    is_error: bool = False


class ToolResults(msgspec.Struct, frozen=True, kw_only=True, tag="results"):
    """All results of one step, in the order in which the model proposed the calls."""

    results: tuple[ResultMessage, ...]


class Notice(msgspec.Struct, frozen=True, kw_only=True, tag="notice"):
    """Something the runtime must tell the model, such as a reply that was cut."""

    text: str


Message = UserText | AssistantReply | ToolResults | Notice
