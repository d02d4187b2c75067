"""The formats that there are. To add one, write it and name it here."""

from __future__ import annotations

from collections.abc import Callable

from callslip.testing.contract.anthropic import Anthropic
from callslip.testing.contract.compatible import Compatible
from callslip.testing.contract.format import Format
from callslip.testing.contract.gemini import Gemini
from callslip.testing.contract.mistral import Mistral
from callslip.testing.contract.openai_chat import OpenAIChat
from callslip.testing.contract.openai_responses import OpenAIResponses

ALL: tuple[Callable[[], Format], ...] = (OpenAIChat, OpenAIResponses, Anthropic, Gemini, Mistral, Compatible)
BASE = {
    "openai_chat": "/v1",
    "openai_responses": "/v1",
    "anthropic": "/v1",
    "gemini": "/v1beta",
    "mistral": "/v1",
    "compatible": "/v1",
}
"""What the base URL of each ends in, as the vendors' own do."""
