"""Anthropic's rules of single messages and blocks: roles, fields, text that must say something, images.

Consecutive messages of one role are legal: the API combines them (docs, "API > Create a Message"). How calls and
results must stand to each other is in ``rules_anthropic_results``.
"""

from __future__ import annotations

from typing import Any

from callslip.testing.contract.anthropic_models import Model
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import text_at
from callslip.testing.contract.media_anthropic import SOURCES as MEDIA_SOURCES, check_document, check_image

_CREATE = "Anthropic docs, API > Create a Message"
_SYSTEM = "Anthropic docs, Mid-conversation system messages"
SOURCES = {
    **MEDIA_SOURCES,
    "messages_shape": _CREATE,
    "too_many_messages": "Anthropic docs, API > Create a Message: 100,000 messages",
    "message_role": "github.com/simonw/llm-anthropic/issues/73",
    "message_extra": _CREATE,
    "first_role": "Anthropic docs, Messages: the first message must use the user role",
    "system_first": _SYSTEM,
    "system_place": _SYSTEM,
    "system_unsupported": "Anthropic docs, Models > What's new in Claude Opus 4.8",
    "empty_content": "github.com/writingmate/chatlabs/pull/35",
    "empty_text": "github.com/anthropics/claude-code/issues/59812",
    "blank_text": "github.com/LibreChat-AI/agents/pull/124; github.com/home-assistant/core/issues/175637",
    "trailing_whitespace": "github.com/tailcallhq/forgecode/issues/1872",
    "prefill": "github.com/agenticloops-ai/agentic-ai-engineering/issues/43; Anthropic docs, API > Errors",
    "block_type": _CREATE,
    "block_shape": _CREATE,
    "block_extra": _CREATE,
    "block_role": _CREATE,
    "final_thinking": "github.com/tailcallhq/forgecode/issues/2107",
}
BLOCK_FIELDS = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "image": frozenset({"type", "source", "cache_control", "transformations"}),
    "document": frozenset({"type", "source", "cache_control", "citations", "context", "title"}),
    "search_result": frozenset({"type", "source", "title", "content", "cache_control", "citations"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller", "toolset_name"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
}
_BY_USER = frozenset({"text", "image", "document", "search_result", "tool_result"})
_BY_ASSISTANT = frozenset({"text", "tool_use", "thinking", "redacted_thinking"})
_ROLES = {"user": _BY_USER, "assistant": _BY_ASSISTANT, "system": frozenset({"text"})}
THINKING = ("thinking", "redacted_thinking")
_MOST_MESSAGES = 100_000


def blocks_of(message: Any) -> list[dict[str, Any]]:
    """The blocks of a message; a text stands for one block of text."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def check_messages(body: dict[str, Any], model: Model, found: Findings) -> list[dict[str, Any]]:
    """Look at each message by itself; gives those that are messages at all, for the rules of their order."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        found.add("messages_shape", "messages", "Field required" if messages is None else "Input should be a list")
        return []
    if not messages:
        found.add("messages_shape", "messages", "at least one message is required")
        return []
    if len(messages) > _MOST_MESSAGES:
        found.add("too_many_messages", "messages", f"There is a limit of {_MOST_MESSAGES} messages in a request")
    if not all(isinstance(message, dict) for message in messages):
        found.add("messages_shape", "messages", "Input should be an object")
        return []
    for place, message in enumerate(messages):
        _check_message(message, f"messages[{place}]", found, final=place == len(messages) - 1)
    _check_roles(messages, model, found)
    _check_end(messages, model, found)
    return messages


def _check_message(message: dict[str, Any], path: str, found: Findings, *, final: bool) -> None:
    role = text_at(message, "role")
    if role not in _ROLES:
        found.add("message_role", f"{path}.role", "Input should be 'user' or 'assistant'")
        return
    for field in message:
        if field not in ("role", "content"):
            found.add("message_extra", f"{path}.{field}", "Extra inputs are not permitted")
    content = message.get("content")
    if not isinstance(content, str | list):
        found.add("messages_shape", f"{path}.content", "Input should be a valid string or list")
        return
    if not content:
        if not (final and role == "assistant"):
            found.add(
                "empty_content",
                path,
                "all messages must have non-empty content except for the optional final assistant message",
            )
        return
    if isinstance(content, list):
        for number, block in enumerate(content):
            _check_block(block, f"{path}.content[{number}]", role, found)
    blocks = blocks_of(message)
    _check_blank([block.get("text") for block in blocks if block.get("type") == "text"], path, found)
    if role == "assistant" and blocks and blocks[-1].get("type") in THINKING:
        kind = blocks[-1]["type"]
        found.add("final_thinking", path, f"The final block in an assistant message cannot be `{kind}`.")


def _check_block(block: Any, path: str, role: str, found: Findings) -> None:
    if not isinstance(block, dict):
        found.add("block_shape", path, "Input should be an object")
        return
    kind = text_at(block, "type")
    if kind not in BLOCK_FIELDS:
        found.add("block_type", f"{path}.type", f"Input tag '{kind}' does not match any of the expected tags")
        return
    if kind not in _ROLES[role]:
        where = " or ".join(f"`{name}`" for name, kinds in _ROLES.items() if kind in kinds)
        found.add("block_role", path, f"`{kind}` blocks can only be in {where} messages")
    check_fields(block, path, found)
    if kind == "text":
        check_text(block, path, found)
    elif kind == "image":
        check_image(block, path, found)
    elif kind == "document":
        check_document(block, path, found)


def check_fields(block: dict[str, Any], path: str, found: Findings) -> None:
    for field in block:
        if field not in BLOCK_FIELDS[block["type"]]:
            found.add("block_extra", f"{path}.{field}", "Extra inputs are not permitted")


def check_text(block: dict[str, Any], path: str, found: Findings) -> None:
    text = block.get("text")
    if not isinstance(text, str):
        found.add("block_shape", f"{path}.text", "Input should be a valid string")
    elif not text:
        found.add("empty_text", path, "text content blocks must be non-empty")


def _check_blank(texts: list[Any], path: str, found: Findings) -> None:
    """Blank text is legal only beside text that isn't."""
    said = [text for text in texts if isinstance(text, str) and text]
    if said and not any(text.strip() for text in said):
        found.add("blank_text", path, "text content blocks must contain non-whitespace text")


def _check_roles(messages: list[dict[str, Any]], model: Model, found: Findings) -> None:
    first = messages[0].get("role")
    if first == "system":
        found.add("system_first", "messages[0]", "use the top-level 'system' parameter for the initial system prompt")
    elif first == "assistant":
        found.add("first_role", "messages[0].role", 'first message must use the "user" role')
    for place, message in enumerate(messages):
        if message.get("role") != "system" or place == 0:
            continue
        path = f"messages[{place}]"
        if not model.takes_system_role:
            found.add("system_unsupported", f"{path}.role", "role 'system' is not supported on this model")
        after = messages[place + 1].get("role") if place + 1 < len(messages) else "assistant"
        if messages[place - 1].get("role") != "user" or after != "assistant":
            found.add(
                "system_place",
                path,
                "a system message must follow a user message and be last or before an assistant message",
            )


def _check_end(messages: list[dict[str, Any]], model: Model, found: Findings) -> None:
    path = f"messages[{len(messages) - 1}]"
    last = messages[-1]
    if last.get("role") != "assistant":
        return
    if not model.takes_prefill:
        found.add(
            "prefill",
            path,
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )
    blocks = blocks_of(last)
    text = blocks[-1].get("text") if blocks else None
    if isinstance(text, str) and text != text.rstrip():
        found.add("trailing_whitespace", path, "final assistant content cannot end with trailing whitespace")
