"""The model proposed a call."""

from __future__ import annotations

import msgspec

from callslip.core.payload import Payload


class FunctionCall(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="function_call", tag_field="type"
):
    """A proposal, taken into the log exactly as the model made it; nothing in it has been believed yet."""

    call_id: str
    step: str
    position: int
    tool: str
    """The name as it was emitted."""
    arguments: Payload
    """A JSON string holding the raw text, or the JSON value where the provider sends objects."""
    provider_call_id: str = ""
    parent: str | None = None
    """The call whose program issued this one."""
    hidden: bool = False
    """Not shown to the model."""
    undoes: str = ""
    """Not the model's: the call that this one undoes, of an earlier step."""
