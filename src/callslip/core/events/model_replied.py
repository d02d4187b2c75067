"""The model's reply to a step."""

from __future__ import annotations

import msgspec


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class ModelReplied(msgspec.Struct, frozen=True, kw_only=True, tag="model_replied", tag_field="type"):
    """``finish`` is ``calls``, ``stop``, ``length``, ``filtered``, ``cut`` (the stream broke) or ``empty``."""

    step: str
    text: str
    finish: str
    calls: int
    """How many function_call events of this commit belong to the reply."""
    usage: Usage = Usage()
    reply_model: str = ""
