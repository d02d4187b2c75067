"""What servers that copy Chat Completions refuse beyond OpenAI's own rules: the strictness of common chat templates."""

from __future__ import annotations

from typing import Any

from callslip.testing.contract import rules_openai_chat
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import list_at, text_at
from callslip.testing.contract.violation import Violation

SOURCES = {
    **rules_openai_chat.SOURCES,
    "system_not_first": "github.com/suitenumerique/conversations/issues/197",
    "role_unknown_to_templates": "github.com/suitenumerique/conversations/issues/197",
    "content_blank": "AWS docs, Bedrock API reference, ContentBlock > text: minimum length 1",
    "call_id_reused": "github.com/can1357/oh-my-pi/issues/2055",
    "roles_do_not_alternate": "github.com/microsoft/autogen/issues/1037",
}


def check(body: dict[str, Any], *, alternating: bool = False) -> list[Violation]:
    """OpenAI's rules, then those of templates."""
    found = Findings(SOURCES)
    messages = body.get("messages")
    sound = [
        (f"messages[{place}]", message)
        for place, message in enumerate(messages if isinstance(messages, list) else [])
        if isinstance(message, dict)
    ]
    _check_roles(sound, found)
    _check_blanks(sound, found)
    _check_ids(sound, found)
    if alternating:
        _check_turns(sound, found)
    return [*rules_openai_chat.check(body), *found.violations]


def _check_roles(messages: list[tuple[str, dict[str, Any]]], found: Findings) -> None:
    for place, (path, message) in enumerate(messages):
        if message.get("role") == "system" and place:
            found.add("system_not_first", path, "System message must be at the beginning.")
        if message.get("role") in ("developer", "function"):
            found.add("role_unknown_to_templates", f"{path}.role", f"Unexpected message role: {message['role']}.")


def _check_blanks(messages: list[tuple[str, dict[str, Any]]], found: Findings) -> None:
    for path, message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for part in parts:
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str) and not text.strip():
                found.add("content_blank", f"{path}.content", "The text field in the ContentBlock object is blank.")


def _check_ids(messages: list[tuple[str, dict[str, Any]]], found: Findings) -> None:
    first: dict[str, str] = {}
    for path, message in messages:
        for place, call in enumerate(list_at(message, "tool_calls")):
            call_id = text_at(call, "id")
            if call_id and first.setdefault(call_id, path) != path:
                found.add(
                    "call_id_reused",
                    f"{path}.tool_calls[{place}].id",
                    f"The id '{call_id}' stands for a call in {first[call_id]} already.",
                )


def _check_turns(messages: list[tuple[str, dict[str, Any]]], found: Findings) -> None:
    """Tool messages, and what calls them, don't count."""
    turn = "user"
    for path, message in messages:
        role = message.get("role")
        if role not in ("user", "assistant") or message.get("tool_calls"):
            continue
        if role != turn:
            found.add(
                "roles_do_not_alternate",
                f"{path}.role",
                "After the optional system message, conversation roles must alternate user/assistant/...",
            )
            return
        turn = "assistant" if role == "user" else "user"
