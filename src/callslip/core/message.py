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


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What only the provider of a reply understands, and may want back to the letter: its reasoning, signatures, ids of
    items, and their order (WIRE-05).
    """

    model: str
    """The name of the model that said it; to any other it means nothing, and is not sent."""
    items: tuple[Any, ...]
    """JSON values, in the order and form of that provider."""


class AssistantReply(msgspec.Struct, frozen=True, kw_only=True, tag="assistant"):
    text: str
    calls: tuple[CallMessage, ...] = ()
    kept: Kept | None = None


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """An image or a document that came of a call, to be shown to the model as such (RSLT-04)."""

    name: str
    media_type: str
    """As its first bytes say, whatever it was declared as: providers look too."""
    data: bytes

    @property
    def is_image(self) -> bool:
        return self.media_type.startswith("image/")


class ResultMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one call, as text for the model."""

    call_id: str
    provider_id: str
    tool: str
    content: str
    is_error: bool = False
    attachments: tuple[Attachment, ...] = ()
    """``content`` names each of them, in this order."""
    found: tuple[str, ...] = ()
    """Of a tool search: the tools that can be called since then, by name."""


class ToolResults(msgspec.Struct, frozen=True, kw_only=True, tag="results"):
    """All results of one step, in the order in which the model proposed the calls."""

    results: tuple[ResultMessage, ...]


class Notice(msgspec.Struct, frozen=True, kw_only=True, tag="notice"):
    """Something the runtime must tell the model, such as a reply that was cut."""

    text: str


Message = UserText | AssistantReply | ToolResults | Notice
