"""What a model can be told besides the conversation, in one form for all providers."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

Provider = Literal["openai", "openai_chat", "openai_responses", "anthropic", "gemini", "mistral", "constrained"]
"""What stands before the colon of a model's name; what is behind each is in ``callslip.models``."""
WARMEST = 2
"""Of temperatures, as far as any provider takes them; some take less, and say so themselves."""
Effort = Literal["", "off", "low", "medium", "high"]


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars for a million tokens, as on the provider's price list on the day you write it down."""

    input: float
    output: float
    cached: float | None = None
    """Of those read from the cache; like ``input`` unless given."""
    cache_write: float | None = None
    """Of those written to it; like ``input`` unless given."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            dollars = getattr(self, name)
            if dollars is not None and not (math.isfinite(dollars) and dollars >= 0):
                raise ValueError(f"{name} = {dollars:g} is no price: give the dollars for a million tokens")


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings that not every provider has; what one does not know is not sent to it, and its page says so."""

    max_output_tokens: int | None = None
    """Reasoning included. Anthropic demands a number, and gets 16,384 unless one is given."""
    effort: Effort = ""
    """How much the model is to reason; empty leaves it to the provider."""
    temperature: float | None = None
    parallel: bool | None = None
    """Whether one reply may hold several calls; None leaves it to the provider, as several models refuse the field."""
    strict: bool | None = None
    """Whether schemas are enforced while the model writes: None where they can be, False nowhere."""
    images: bool = True
    """Whether images in results are shown to the model; a model without eyes refuses them."""
    constrain: Literal["json_schema", "json_object", "text"] = "json_schema"
    """Of models without calls of their own: how the server is told what a reply has to be. ``json_object`` where it
    knows JSON and no schema, ``text`` where it knows neither: then the prompt alone says it."""
    system_role: bool = True
    """Of those too: whether the chat template takes a system message. If not, the user's first turn begins with it."""
    native_search: Literal["auto", "on", "off"] = "auto"
    """Whether a provider's own tool search is used for tools that are found: ``auto`` where model and address are known
    to have one, ``on`` where you know it, as behind a gateway."""
    price: Price | None = None
    """For the cost of each reply, where the provider does not say it itself."""

    def __post_init__(self) -> None:
        if self.max_output_tokens is not None and self.max_output_tokens < 1:
            raise ValueError(f"max_output_tokens = {self.max_output_tokens} leaves the model no word: give at least 1")
        if self.temperature is not None and not 0 <= self.temperature <= WARMEST:
            raise ValueError(f"temperature = {self.temperature:g} is none: give a number from 0 to {WARMEST}")
