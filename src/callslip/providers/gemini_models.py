"""What one Gemini model takes that another refuses, read from its name, as of 2026-11.

A name without a version, such as ``gemini-flash-latest``, stands for a new one.
"""

from __future__ import annotations

import re
from typing import Any

from callslip.providers.options import Effort

_VERSION = re.compile(r"gemini-(\d{1,3})(?:\.(\d{1,3}))?(?!\d)")
_NEWEST = (99, 0)
_LEVELS = {"off": "LOW", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
_BUDGETS = {"off": 0, "low": 1024, "medium": 8192, "high": 24_576}
"""Tokens, as Gemini's own OpenAI-compatible endpoint translates the words (Gemini API docs, "OpenAI compatibility" >
"Thinking"); all inside the range of every 2.5 model but for 0."""
_LEAST_OF_PRO = 128
_NO_MINIMAL = (3, 7)
"""Flash models from here on have no MINIMAL any more, while Flash-Lite still has it."""


def version(model: str) -> tuple[int, int]:
    found = _VERSION.search(model.lower())
    return (int(found[1]), int(found[2] or 0)) if found else _NEWEST


def since_three(model: str) -> bool:
    """Whether it refuses a call in the history that bears no thought signature; also, whether it takes images inside a
    function response (Gemini API docs, "Thought signatures" and "Function calling" > "Multimodal function responses":
    since Gemini 3; older ones: "`function_response.parts` is not supported for this model", github.com/google-gemini/
    gemini-cli/issues/19436).
    """
    return version(model) >= (3, 0)


def thinking(model: str, effort: Effort) -> dict[str, Any]:
    """The ``thinkingConfig`` for an effort; empty where nothing is to be said, or the model knows no word for it.

    A level since Gemini 3, a budget of tokens in 2.5, and both together are refused (Gemini API docs, "Thinking"). What
    can't be switched off is turned down as far as it goes: MINIMAL is of Flash models up to 3.6 and of all Flash-Lite
    ("Not supported (error)" for 3.7 in the table there; each model was asked for github.com/tetsuo-ai/agenc-core/
    pull/2393), and 2.5 Pro stops at 128 tokens. Gemini 3 Pro has no MEDIUM ("Thinking level MEDIUM is not supported for
    this model", discuss.ai.google.dev/t/112648) and gets HIGH, which is what it does unasked.
    """
    name = model.lower()
    number = version(model)
    if not effort or number < (2, 5):
        return {}
    if number < (3, 0):
        budget = _BUDGETS[effort]
        return {"thinkingBudget": max(budget, _LEAST_OF_PRO) if "pro" in name else budget}
    level = _LEVELS[effort]
    if effort == "off" and ("flash-lite" in name or ("flash" in name and number < _NO_MINIMAL)):
        level = "MINIMAL"
    if level == "MEDIUM" and number == (3, 0) and "pro" in name:
        level = "HIGH"
    return {"thinkingLevel": level}
