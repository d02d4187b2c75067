"""What Mistral refuses in a conversation: fields, ids of exactly nine letters and digits, and the order of roles."""

from __future__ import annotations

import re
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import list_at, text_at
from callslip.testing.contract.rules_openai_chat_messages import is_object_text

_COMMON = "github.com/mistralai/mistral-common, protocol/instruct/validator.py"
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[a-zA-Z0-9]{9}")
SOURCES = {
    "messages_empty": _COMMON,
    "message_extra": "github.com/charmbracelet/crush/issues/1590",
    "message_shape": "Mistral docs, API > Chat completion > messages",
    "content_part": "Mistral docs, API > Chat completion > messages",
    "call_id_null": f"{_COMMON} (validator v3)",
    "call_id": "github.com/nearai/ironclaw/issues/1241",
    "call_id_repeated": f"{_COMMON} (validator v13)",
    "call_name": _COMMON,
    "arguments_not_object": "Mistral docs, API > Chat completion > messages > tool_calls",
    "missing_call_id": f"{_COMMON} (validator v3)",
    "unexpected_result": f"{_COMMON} (validator v13)",
    "result_twice": f"{_COMMON} (validator v13)",
    "unanswered_call": "github.com/567-labs/instructor/issues/724",
    "role_order": "github.com/datapizza-labs/datapizza-ai/issues/98",
    "last_role": "github.com/0xPlaygrounds/rig/pull/1130",
    "assistant_says_nothing": "github.com/OpenHands/OpenHands/issues/8685",
    "prefix_not_last": _COMMON,
}
SCHEMA_RULES = frozenset({"message_extra", "message_shape", "content_part"})
_FIELDS = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", "prefix"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
_AFTER = {
    "": frozenset({"system", "user", "assistant"}),
    "system": frozenset({"system", "user", "assistant"}),
    "user": frozenset({"system", "user", "assistant"}),
    "assistant": frozenset({"user", "assistant", "tool"}),
    "tool": frozenset({"assistant", "tool"}),
}
_PARTS = frozenset({"text", "image_url", "document_url", "reference", "file", "thinking", "input_audio"})
_CALL_FIELDS = frozenset({"id", "type", "function", "index"})


def check_messages(messages: Any, found: Findings) -> None:
    if not isinstance(messages, list) or not messages:
        found.add("messages_empty", "messages", "Conversation must have at least one message")
        return
    sound: list[tuple[str, dict[str, Any]]] = []
    for place, message in enumerate(messages):
        path = f"messages[{place}]"
        role = text_at(message, "role")
        if role not in _FIELDS:
            found.add("message_shape", path, f"Input tag '{role}' does not match 'assistant', 'system', 'tool', 'user'")
            continue
        for field in message:
            if field not in _FIELDS[role]:
                found.add("message_extra", f"{path}.{role}.{field}", "Extra inputs are not permitted")
        _check_content(message, path, found)
        if role == "assistant":
            _check_assistant(message, path, last=place == len(messages) - 1, found=found)
        sound.append((path, message))
    _check_roles(sound, found)
    _check_pairs(sound, found)


def _check_content(message: dict[str, Any], path: str, found: Findings) -> None:
    content, role = message.get("content"), message["role"]
    if isinstance(content, list):
        for place, part in enumerate(content):
            kind = text_at(part, "type")
            if kind not in _PARTS or (kind == "text" and not isinstance(part.get("text"), str)):
                found.add("content_part", f"{path}.content[{place}]", f"Input tag '{kind}' does not match a chunk")
    elif not isinstance(content, str | None) or (role in ("system", "tool", "user") and "content" not in message):
        found.add("message_shape", f"{path}.content", "Field required: content as text or chunks")
    elif role == "system" and content is None:
        found.add("message_shape", f"{path}.content", "System prompt must have content")


def _check_assistant(message: dict[str, Any], path: str, *, last: bool, found: Findings) -> None:
    calls = message.get("tool_calls")
    if not message.get("content") and not calls:
        found.add(
            "assistant_says_nothing", path, "Assistant message must have either content or tool_calls, but not none."
        )
    if message.get("prefix") and not last:
        found.add("prefix_not_last", f"{path}.prefix", "Assistant message with prefix True must be last message")
    if not isinstance(calls, list | None):
        found.add("message_shape", f"{path}.tool_calls", "Input should be a valid list")
        return
    seen: set[Any] = set()
    for place, call in enumerate(calls or []):
        here = f"{path}.tool_calls[{place}]"
        if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
            found.add("message_shape", here, "Field required: function")
            continue
        for field in call:
            if field not in _CALL_FIELDS:
                found.add("message_extra", f"{here}.{field}", "Extra inputs are not permitted")
        call_id = call.get("id", "null")
        _check_id(call_id, f"{here}.id", found)
        if isinstance(call_id, str) and call_id in seen:
            found.add("call_id_repeated", f"{here}.id", f"Duplicate tool call id {call_id} in assistant message")
        seen.add(str(call_id))
        _check_function(call["function"], f"{here}.function", found)


def _check_id(value: Any, path: str, found: Findings) -> None:
    if value in (None, "null"):
        found.add("call_id_null", path, "Tool call id has to be defined in serving mode.")
    elif not isinstance(value, str) or not _ID.fullmatch(value):
        found.add("call_id", path, f"Tool call id was {value} but must be a-z, A-Z, 0-9, with a length of 9.")


def _check_function(function: dict[str, Any], path: str, found: Findings) -> None:
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        found.add(
            "call_name",
            f"{path}.name",
            f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum "
            "length of 64.",
        )
    if not isinstance(arguments, dict) and not (isinstance(arguments, str) and is_object_text(arguments)):
        found.add("arguments_not_object", f"{path}.arguments", "Tool call arguments must be a JSON object")


def _check_roles(messages: list[tuple[str, dict[str, Any]]], found: Findings) -> None:
    before = ""
    for path, message in messages:
        role = message["role"]
        if role not in _AFTER[before]:
            after = f" after role '{before}'" if before else ""
            found.add("role_order", path, f"Unexpected role '{role}'{after}")
        before = role
    if messages and before not in ("user", "tool") and not messages[-1][1].get("prefix"):
        found.add(
            "last_role",
            messages[-1][0],
            f"Expected last role User or Tool (or Assistant with prefix True) for serving but got {before}",
        )


def _check_pairs(messages: list[tuple[str, dict[str, Any]]], found: Findings) -> None:
    """The results of an assistant's calls stand right after it, one for each call."""
    answered: dict[str, bool] = {}
    asked_at = ""
    for path, message in messages:
        if message["role"] == "tool":
            _take_result(message.get("tool_call_id"), f"{path}.tool_call_id", answered, found)
            continue
        _note_unanswered(answered, asked_at, found)
        calls = list_at(message, "tool_calls") if message["role"] == "assistant" else []
        answered = dict.fromkeys((text_at(call, "id") for call in calls), False)
        asked_at = path
    _note_unanswered(answered, asked_at, found)


def _take_result(call_id: Any, path: str, answered: dict[str, bool], found: Findings) -> None:
    if not isinstance(call_id, str):
        found.add("missing_call_id", path, "Tool call id has to be defined.")
        return
    _check_id(call_id, path, found)
    if call_id not in answered:
        found.add("unexpected_result", path, f"Unexpected tool call id {call_id} in tool results")
    elif answered[call_id]:
        found.add("result_twice", path, f"Duplicate tool call id {call_id} in tool results")
    else:
        answered[call_id] = True


def _note_unanswered(answered: dict[str, bool], path: str, found: Findings) -> None:
    if not all(answered.values()):
        found.add("unanswered_call", path, "Not the same number of function calls and responses")
