"""A server that copies Chat Completions, with a model's chat template behind it.

OpenAI's rules, and those that templates and stricter copies add: they render a conversation as text and raise where it
does not fit. A body that is legal here is legal nearly everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callslip.testing.contract import rules_compatible
from callslip.testing.contract.openai_chat import OpenAIChat
from callslip.testing.contract.violation import Violation


class Compatible(OpenAIChat):
    """``alternating``: also demand user and assistant in turns, as the templates of Gemma and the first Mistrals do."""

    name = "compatible"

    def __init__(self, *, alternating: bool = False) -> None:
        self._alternating = alternating

    def check(self, body: dict[str, Any], headers: Mapping[str, str], path: str) -> list[Violation]:
        return rules_compatible.check(body, alternating=self._alternating)
