"""Anthropic's rules of thinking: how it is asked for, and that what was thought comes back as it was given.

Two rules are stricter than what was once measured (github.com/NousResearch/hermes-agent/pull/24107 saw a removed block
and an altered text pass): the documents forbid both, and a client that keeps to them is safe with every model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callslip.testing.contract.anthropic_models import Model
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import object_at, text_at
from callslip.testing.contract.prefix_anthropic import Block, seal_of, thinking_blocks
from callslip.testing.contract.rules_anthropic_messages import THINKING, blocks_of
from callslip.testing.contract.signatures import digest, verify

BINDING_BETA = "thinking-binding-controls-2026-08-01"
_EXTENDED = "Anthropic docs, Extended thinking"
_PRESERVING = "Anthropic docs, Extended thinking > Preserving thinking blocks"
SOURCES = {
    "thinking_shape": "Anthropic docs, API > Create a Message (thinking)",
    "thinking_budget": _EXTENDED + ": budget_tokens of at least 1,024 and less than max_tokens",
    "thinking_mode": "Anthropic docs, Thinking > Troubleshooting thinking",
    "thinking_binding_beta": "Anthropic docs, Preserved thinking > Fix a thinking block bound to another conversation",
    "thinking_block_shape": "github.com/langchain-ai/langchain/pull/29971",
    "thinking_signature": "github.com/anthropics/claude-code/issues/63284; " + _PRESERVING,
    "thinking_altered": "github.com/anthropics/claude-code/issues/63284",
    "thinking_missing": "github.com/anomalyco/opencode/issues/3077; github.com/n8n-io/n8n/issues/22550",
    "thinking_dropped": _PRESERVING + "; github.com/langgenius/dify/issues/41092",
    "thinking_moved": "Anthropic docs, Preserved thinking > Prefix checks",
    "thinking_prefix": "Anthropic docs, Preserved thinking > Prefix checks",
    "thinking_disabled": "github.com/tailcallhq/forgecode/issues/1853",
}
_FIELDS = {
    "enabled": frozenset({"type", "budget_tokens", "display"}),
    "adaptive": frozenset({"type", "display"}),
    "between_tools": frozenset({"type"}),
    "disabled": frozenset({"type"}),
}


class Thought(msgspec.Struct, frozen=True, kw_only=True):
    """What was thought before a call."""

    model: str
    seals: tuple[str, ...]


def content_digest(block: dict[str, Any]) -> str:
    """What a signature vouches for: the text that is shown, or that nothing is."""
    return digest(["thinking", block.get("thinking")] if block.get("type") == "thinking" else ["redacted"])


def check_config(body: dict[str, Any], headers: Mapping[str, str], model: Model, found: Findings) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = text_at(thinking, "type")
    if kind not in _FIELDS:
        found.add(
            "thinking_shape",
            "thinking.type",
            "Input tag should be 'enabled', 'disabled', 'between_tools' or 'adaptive'",
        )
        return
    binds = BINDING_BETA in headers.get("anthropic-beta", "")
    for field in thinking:
        if field == "block_binding" and kind == "adaptive":
            if not binds:
                found.add("thinking_binding_beta", "thinking.block_binding", f"needs the beta header {BINDING_BETA}")
        elif field not in _FIELDS[kind]:
            found.add("thinking_shape", f"thinking.{field}", "Extra inputs are not permitted")
    if thinking.get("display") not in (None, "summarized", "omitted"):
        found.add("thinking_shape", "thinking.display", "Input should be 'summarized' or 'omitted'")
    refused = model.refuses_thinking(kind, text_at(object_at(body, "output_config"), "effort"))
    if refused:
        found.add("thinking_mode", "thinking.type", refused)
    if kind == "enabled":
        _check_budget(thinking.get("budget_tokens"), body.get("max_tokens"), found)


def _check_budget(budget: Any, most: Any, found: Findings) -> None:
    path = "thinking.budget_tokens"
    if not isinstance(budget, int) or isinstance(budget, bool):
        found.add("thinking_shape", path, "Field required" if budget is None else "Input should be a valid integer")
    elif budget < 1024:
        found.add("thinking_budget", path, "Input should be greater than or equal to 1024")
    elif isinstance(most, int) and budget >= most:
        found.add("thinking_budget", "max_tokens", "`max_tokens` must be greater than `thinking.budget_tokens`")


def is_thinking(body: dict[str, Any], model: Model) -> bool:
    """Whether the model may think: asked to, or of those that do unasked."""
    kind = text_at(object_at(body, "thinking"), "type")
    return kind in ("enabled", "adaptive", "between_tools") or (not kind and model.thinks_unasked)


def check_blocks(
    body: dict[str, Any],
    messages: list[dict[str, Any]],
    model: Model,
    thoughts: Mapping[str, Thought],
    found: Findings,
) -> None:
    """Look at the thinking that came back. ``thoughts``: what this server gave out, by the id of the call after it."""
    latest = max((place for place, each in enumerate(messages) if each.get("role") == "assistant"), default=-1)
    previous = ""
    for block in thinking_blocks(body):
        if _check_block(block, body, model, found, latest=block.message == latest, previous=previous):
            previous = digest(seal_of(block.content))
    thinks = is_thinking(body, model)
    if thinks:
        _check_loop(body, messages, thoughts, found)
    elif latest == len(messages) - 1 and any(block.get("type") in THINKING for block in blocks_of(messages[latest])):
        found.add(
            "thinking_disabled",
            f"messages[{latest}].content[0]",
            "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use "
            "thinking blocks, enable `thinking` in your request.",
        )


def _check_block(
    block: Block, body: dict[str, Any], model: Model, found: Findings, *, latest: bool, previous: str
) -> bool:
    """Whether it is the vendor's own."""
    content, kind = block.content, block.content["type"]
    for field in ("thinking", "signature") if kind == "thinking" else ("data",):
        if not isinstance(content.get(field), str):
            found.add("thinking_block_shape", f"{block.path}.{field}", "Field required")
            return False
    signed = verify(seal_of(content))
    if signed is None:
        found.add("thinking_signature", block.path, f"Invalid `signature` in `{kind}` block")
        return False
    if signed.content != content_digest(content):
        words = "in the latest assistant message cannot be modified. These blocks must remain as they were in the "
        found.add(
            "thinking_altered",
            block.path,
            f"`thinking` or `redacted_thinking` blocks {words}original response."
            if latest
            else f"Invalid `signature` in `{kind}` block",
        )
    binding = object_at(object_at(body, "thinking"), "block_binding")
    if model.binds_thinking and signed.model == body.get("model") and not binding:
        bound = f"Invalid `signature` in `{kind}` block. The block is bound to a different conversation."
        if signed.prefix != block.before.prefix:
            found.add("thinking_prefix", block.path, bound)
        elif previous not in ("", signed.previous):
            found.add("thinking_moved", block.path, bound)
    return True


def _check_loop(
    body: dict[str, Any], messages: list[dict[str, Any]], thoughts: Mapping[str, Thought], found: Findings
) -> None:
    """The assistant's turns since the user last said something of their own."""
    start = max((place for place, message in enumerate(messages) if _is_users_own(message)), default=-1) + 1
    turns = [place for place in range(start, len(messages)) if messages[place].get("role") == "assistant"]
    asked = object_at(body, "thinking").get("type") == "enabled"
    for place in turns:
        blocks = blocks_of(messages[place])
        kept = {seal_of(block) for block in blocks if block.get("type") in THINKING}
        for block in blocks:
            identity = block.get("id")
            thought = thoughts.get(identity) if block.get("type") == "tool_use" and isinstance(identity, str) else None
            if thought and thought.model == body.get("model") and not kept.issuperset(thought.seals):
                found.add(
                    "thinking_dropped",
                    f"messages[{place}]",
                    f"the thinking that came with {identity} is missing: pass the complete, unmodified blocks back",
                )
                break
        first = blocks[0].get("type") if blocks else None
        if asked and place == turns[0] and blocks and first not in THINKING:
            found.add(
                "thinking_missing",
                f"messages[{place}].content[0].type",
                f"Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is enabled, a final "
                "`assistant` message must start with a thinking block.",
            )


def _is_users_own(message: dict[str, Any]) -> bool:
    return message.get("role") == "user" and any(block.get("type") != "tool_result" for block in blocks_of(message))
