"""What Chat Completions refuses in a conversation: shapes of messages, and calls without their results.

The order: an assistant message with calls, then at once one tool message for each of them, in any order, and nothing
in between.
"""

from __future__ import annotations

import json
import re
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import list_at, object_at, text_at

_REFERENCE = "OpenAI API reference, Create chat completion > messages"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGE = re.compile(r"https?://\S+|data:image/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
LONGEST_ID = 40
SOURCES = {
    "messages_empty": _REFERENCE,
    "message_shape": _REFERENCE,
    "unknown_role": _REFERENCE,
    "unknown_message_field": "github.com/transitive-bullshit/agentic/issues/531",
    "content_null": "github.com/vercel/ai/pull/13744",
    "content_shape": _REFERENCE,
    "content_empty_array": _REFERENCE,
    "content_part": _REFERENCE,
    "image_outside_user": "github.com/OpenHands/OpenHands/issues/7700",
    "image_url": "OpenAI docs, Images and vision > Image input requirements",
    "calls_empty": "github.com/openai/openai-node/pull/1341",
    "call_shape": _REFERENCE,
    "call_id": "github.com/vercel/ai/issues/5171",
    "call_id_repeated": "github.com/openclaw/openclaw/pull/47136",
    "call_name": _REFERENCE,
    "arguments_not_text": _REFERENCE,
    "arguments_not_object": "github.com/vllm-project/vllm/pull/48922",
    "missing_call_id": _REFERENCE,
    "orphan_result": "github.com/FoundationAgents/OpenManus/issues/744",
    "unanswered_call": "github.com/agno-agi/agno/issues/3105",
    "result_twice": "github.com/agno-agi/agno/issues/5116",
}
_FIELDS = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset(
        {"role", "content", "name", "refusal", "audio", "annotations", "tool_calls", "function_call"}
    ),
    "tool": frozenset({"role", "content", "name", "tool_call_id"}),
    "function": frozenset({"role", "content", "name"}),
}
_PARTS = {
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
}
_TEXT_ONLY = frozenset({"text"})
_PART_FIELDS = {"text": "text", "refusal": "refusal", "input_audio": "input_audio", "file": "file"}


def check_messages(messages: Any, found: Findings) -> None:
    """Check every message alone, then the order of calls and results."""
    if not isinstance(messages, list) or not messages:
        found.add("messages_empty", "messages", "Invalid 'messages': expected an array with minimum length 1.")
        return
    sound: list[tuple[str, dict[str, Any]]] = []
    for place, message in enumerate(messages):
        path = f"messages[{place}]"
        if not isinstance(message, dict):
            found.add("message_shape", path, f"Invalid type for '{path}': expected an object.")
        elif text_at(message, "role") not in _FIELDS:
            found.add("unknown_role", f"{path}.role", f"Invalid value: {message.get('role')!r} for '{path}.role'.")
        else:
            _check_message(message, path, found)
            sound.append((path, message))
    _check_pairs(sound, found)


def _check_message(message: dict[str, Any], path: str, found: Findings) -> None:
    role = message["role"]
    found.unknown_fields("unknown_message_field", message, _FIELDS[role], path)
    if role == "assistant" and "tool_calls" in message:
        _check_calls(message["tool_calls"], f"{path}.tool_calls", found)
    _check_content(message, path, found)


def _check_content(message: dict[str, Any], path: str, found: Findings) -> None:
    role, content = message["role"], message.get("content")
    path = f"{path}.content"
    if content is None:
        said_otherwise = any(message.get(field) for field in ("tool_calls", "function_call", "refusal", "audio"))
        if role not in ("assistant", "function") or (role == "assistant" and not said_otherwise):
            found.add("content_null", path, "Invalid value for 'content': expected a string, got null.")
    elif isinstance(content, list):
        if not content:
            found.add("content_empty_array", path, f"Invalid '{path}': empty array. Expected minimum length 1.")
        for place, part in enumerate(content):
            _check_part(part, role, f"{path}[{place}]", found)
    elif not isinstance(content, str):
        found.add("content_shape", path, f"Invalid type for '{path}': expected a string or an array of objects.")


def _check_part(part: Any, role: str, path: str, found: Findings) -> None:
    kind = text_at(part, "type")
    if kind == "image_url" and role != "user":
        found.add(
            "image_outside_user",
            path,
            f"Invalid '{path}'. Image URLs are only allowed for messages with role 'user', but this message with "
            f"role '{role}' contains an image URL.",
        )
    elif kind not in _PARTS.get(role, _TEXT_ONLY):
        found.add("content_part", f"{path}.type", f"Invalid value: {kind!r} in a message of role '{role}'.")
    elif kind == "image_url":
        if not _IMAGE.fullmatch(text_at(object_at(part, "image_url"), "url")):
            found.add("image_url", f"{path}.image_url", "Invalid image_url: expected a URL or a base64 data URL.")
    elif not isinstance(part.get(_PART_FIELDS[kind]), dict if kind in ("input_audio", "file") else str):
        found.add("content_part", path, f"Missing required parameter: '{path}.{_PART_FIELDS[kind]}'.")


def _check_calls(calls: Any, path: str, found: Findings) -> None:
    if not isinstance(calls, list) or not calls:
        found.add("calls_empty", path, f"Invalid '{path}': empty array. Expected an array with minimum length 1.")
        return
    seen: set[str] = set()
    for place, call in enumerate(calls):
        here = f"{path}[{place}]"
        call_id = text_at(call, "id")
        if not isinstance(call, dict) or call.get("type") not in ("function", "custom"):
            found.add("call_shape", f"{here}.type", f"Missing required parameter: '{here}.type'.")
            continue
        _check_id(call.get("id"), f"{here}.id", found)
        if call_id and call_id in seen:
            found.add("call_id_repeated", f"{here}.id", f"Duplicate value for 'id': '{call_id}'.")
        seen.add(call_id)
        if call["type"] == "function":
            _check_function(call.get("function"), f"{here}.function", found)


def _check_id(value: Any, path: str, found: Findings) -> None:
    if not isinstance(value, str) or not value:
        found.add("call_id", path, f"Missing required parameter: '{path}'.")
    elif len(value) > LONGEST_ID:
        found.add(
            "call_id",
            path,
            f"Invalid '{path}': string too long. Expected a string with maximum length {LONGEST_ID}, "
            f"but got a string with length {len(value)} instead.",
        )


def _check_function(function: Any, path: str, found: Findings) -> None:
    if not isinstance(function, dict):
        found.add("call_shape", path, f"Missing required parameter: '{path}'.")
        return
    found.unknown_fields("unknown_message_field", function, frozenset({"name", "arguments"}), path)
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        found.add("call_name", f"{path}.name", f"Invalid '{path}.name': does not match '^[a-zA-Z0-9_-]{{1,64}}$'.")
    if not isinstance(arguments, str):
        found.add("arguments_not_text", f"{path}.arguments", f"Invalid type for '{path}.arguments': expected a string.")
    elif not is_object_text(arguments):
        found.add("arguments_not_object", f"{path}.arguments", f"'{path}.arguments' is not the JSON of an object.")


def is_object_text(text: str) -> bool:
    """Whether the text is JSON, to the letter of RFC 8259, and an object."""
    try:
        return isinstance(json.loads(text, parse_constant=_no_constant), dict)
    except (ValueError, RecursionError):
        return False


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check_pairs(messages: list[tuple[str, dict[str, Any]]], found: Findings) -> None:
    """Each call has its result in the tool messages right after it, and each result its call right before."""
    open_calls: dict[str, bool] = {}
    asked_at = ""
    for path, message in messages:
        if message["role"] == "tool":
            _take_result(message.get("tool_call_id"), f"{path}.tool_call_id", open_calls, found)
            continue
        _note_unanswered(open_calls, asked_at, found)
        calls = list_at(message, "tool_calls") if message["role"] == "assistant" else []
        open_calls = dict.fromkeys((text_at(call, "id") for call in calls), False)
        asked_at = path
    _note_unanswered(open_calls, asked_at, found)


def _take_result(call_id: Any, path: str, open_calls: dict[str, bool], found: Findings) -> None:
    if not isinstance(call_id, str) or not call_id:
        found.add("missing_call_id", path, f"Missing required parameter: '{path}'.")
    elif call_id not in open_calls:
        found.add(
            "orphan_result",
            path,
            "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
        )
    elif open_calls[call_id]:
        found.add("result_twice", path, f"Duplicate value for 'tool_call_id' of '{call_id}'.")
    else:
        open_calls[call_id] = True


def _note_unanswered(open_calls: dict[str, bool], path: str, found: Findings) -> None:
    waiting = [call_id for call_id, answered in open_calls.items() if not answered]
    if waiting:
        found.add(
            "unanswered_call",
            path,
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
        )
