"""How a Messages request asks for thinking, and when it must not.

Two forms: a budget of tokens up to Claude 4.5, and since 4.6 ``adaptive`` with an effort (Anthropic docs, "Thinking"
and "Effort"). A request is sent without thinking rather than refused: a forced tool excludes it, and so does a tool
loop that began without any, which is what a change of model or a denied budget leaves behind
(github.com/pydantic/pydantic-ai/issues/2075).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from callslip.providers.claude_models import Claude
from callslip.providers.options import Options

THINKING = ("thinking", "redacted_thinking")
BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""Anthropic docs, "Preserved thinking > Fix a thinking block bound to a different conversation"."""
_DISABLED: dict[str, Any] = {"thinking": {"type": "disabled"}}
_LEAST_BUDGET = 1024
_SHARES = {"low": 1 / 8, "medium": 3 / 8, "high": 3 / 4}
"""Of ``max_tokens``, which counts the thinking too: the rest is for the answer."""


def thinking_fields(model: Claude, options: Options, *, max_tokens: int, forced: bool, begun: bool) -> dict[str, Any]:
    """``thinking`` and ``output_config`` as they belong into the body, or neither.

    ``forced``: the request makes the model call a tool. ``begun``: the open tool loop, if there is one, began with
    thinking.
    """
    effort = options.effort
    off = effort == "off"
    if model.always_thinks or (model.binds_thinking and not off):
        # Least is as near as such a model comes to off.
        return {**_adaptive(model), **_effort("low" if off else effort)}
    if off:
        return _DISABLED if model.thinks_unasked else {}
    if forced and model.line and model.thinks_unasked:
        # Left out, it would be on, and refused beside the forced tool (github.com/router-for-me/CLIProxyAPI/pull/4070).
        return {**_DISABLED, **_effort(effort)}
    if not effort or model.thinking == "none":
        return {}
    if model.thinking == "adaptive":
        # An adaptive turn need not begin with thinking, so nothing is asked of the loop here.
        return _effort(effort) if forced else {**_adaptive(model), **_effort(effort)}
    budget = max(_LEAST_BUDGET, int(max_tokens * _SHARES[effort]))
    if forced or not begun or budget >= max_tokens:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _adaptive(model: Claude) -> dict[str, Any]:
    thinking: dict[str, Any] = {"type": "adaptive"}
    if model.binds_thinking:
        # Where something before a block has changed (tools that came or went, a summary), the API then drops the block
        # and goes on; otherwise it refuses this request and all later ones.
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    return {"thinking": thinking}


def _effort(effort: str) -> dict[str, Any]:
    return {"output_config": {"effort": effort}} if effort else {}


def is_on(fields: dict[str, Any]) -> bool:
    """Whether the fields ask for thinking."""
    return fields.get("thinking", {}).get("type") in ("enabled", "adaptive")


def loop_began_with_thinking(messages: Sequence[dict[str, Any]]) -> bool:
    """Whether the assistant's turn that the last message goes on with begins with thinking; true where none is open.

    A loop begins after the last words of the user. Whether words beside results are such is nowhere said, so both
    readings have to hold.
    """
    place = len(messages) - 1
    if place < 1 or not _has(messages[place], results=True):
        return True
    begins: set[int] = set()
    while place > 0 and _has(messages[place], results=True):
        begin = place - 1
        place -= 2
        if place >= 0 and _has(messages[place], results=False):
            begins.add(begin)
    begins.add(begin)
    return all(messages[begin]["content"][0]["type"] in THINKING for begin in begins)


def _has(message: dict[str, Any], *, results: bool) -> bool:
    """Whether a message holds a result, or anything else than results."""
    return any((block["type"] == "tool_result") is results for block in message["content"])
