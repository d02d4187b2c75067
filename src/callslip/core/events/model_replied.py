"""The model's reply to a step."""

from __future__ import annotations

import msgspec

from callslip.core.payload import Payload


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as the provider counted them."""

    input_tokens: int = 0
    """All that were read, also those that came from a cache or were written to it."""
    output_tokens: int = 0
    """All that were made, reasoning included."""
    cached_tokens: int = 0
    """Of the input, those read from the provider's cache."""
    cache_write_tokens: int = 0
    """Of the input, those written to it."""
    reasoning_tokens: int = 0
    """Of the output."""
    cost_micros: int | None = None
    """Millionths of a US dollar, where the provider says so or prices are configured."""


class ModelReplied(msgspec.Struct, frozen=True, kw_only=True, tag="model_replied", tag_field="type"):
    """``finish`` is ``calls``, ``stop``, ``length``, ``filtered``, ``cut`` (the stream broke) or ``empty``."""

    step: str
    text: str
    finish: str
    calls: int
    """How many function_call events of this commit belong to the reply."""
    usage: Usage = Usage()
    reply_model: str = ""
    duration_ms: int | None = None
    """From the request to the end of the reply; of a dispatcher's step nobody knows."""
    kept: Payload | None = None
    """A JSON string holding the JSON text of what the provider may want back to the letter; else nothing."""
