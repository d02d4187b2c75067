"""What a model says, before any vendor's form: each format makes its own reply of it."""

from __future__ import annotations

from typing import Any

import msgspec


class Call(msgspec.Struct, frozen=True):
    """A tool call. The name is sent as it is, so it must be the one on the wire. ``tool_search`` is a call of the
    vendor's own search, where it has one (Responses) and the request offers it.
    """

    name: str
    arguments: dict[str, Any] | str = {}
    """An object, or text that is sent as it is where the vendor sends text."""
    id: str | None = None
    """None: made up as the vendor does. "": blank."""


class Says(msgspec.Struct, frozen=True):
    """A good reply, plain or streamed as the request asks for it."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    """Sends the vendor's opaque item, which it then demands back verbatim where the vendor does."""
    finish: str = ""
    """The vendor's word for why it ended; derived unless given."""
    refusal: str = ""
