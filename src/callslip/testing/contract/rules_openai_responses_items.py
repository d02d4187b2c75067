"""What Responses refuses in an input item taken alone: its shape, its ids, its content."""

from __future__ import annotations

import re
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import text_at

_REFERENCE = "OpenAI API reference, Create a model response > input"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGE = re.compile(r"https?://\S+|data:image/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
LONGEST_ID = 64
SOURCES = {
    "item_shape": _REFERENCE,
    "unknown_item_type": _REFERENCE,
    "unknown_item_field": "github.com/microsoft/agent-framework/issues/2203",
    "unknown_role": _REFERENCE,
    "content_shape": _REFERENCE,
    "content_part": f"{_REFERENCE} > Input message, Output message",
    "image_url": "OpenAI docs, Images and vision > Image input requirements",
    "call_id": "github.com/openai/codex/issues/14355",
    "call_name": _REFERENCE,
    "arguments_not_text": _REFERENCE,
    "output_shape": f"{_REFERENCE} > Function tool call output",
    "summary_missing": f"{_REFERENCE} > Reasoning",
    "id_prefix": "github.com/openai/codex/issues/33176",
    "id_too_long": "github.com/openclaw/openclaw/pull/875",
    "duplicate_item": "github.com/vercel/ai/issues/7883",
}
_FIELDS = {
    "message": frozenset({"type", "role", "content", "id", "status", "phase"}),
    "function_call": frozenset({"type", "call_id", "name", "arguments", "id", "status", "caller", "namespace"}),
    "function_call_output": frozenset({"type", "call_id", "output", "id", "status", "caller"}),
    "reasoning": frozenset({"type", "id", "summary", "content", "encrypted_content", "status"}),
    "item_reference": frozenset({"type", "id"}),
    "tool_search_call": frozenset({"type", "id", "call_id", "arguments", "execution", "status"}),
    "tool_search_output": frozenset({"type", "id", "call_id", "tools", "execution", "status"}),
}
_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fc", "reasoning": "rs"}
_PASSED = frozenset(
    {"file_search_call", "computer_call", "computer_call_output", "web_search_call", "image_generation_call"}
    | {"code_interpreter_call", "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output"}
    | {"apply_patch_call", "apply_patch_call_output", "mcp_list_tools", "mcp_approval_request", "mcp_call"}
    | {"mcp_approval_response", "custom_tool_call", "custom_tool_call_output"}
    | {"additional_tools", "compaction", "program", "program_output"}
)
"""Types that exist and are looked at no further: Callslip sends them only as it got them."""
_ROLES = ("user", "assistant", "system", "developer")
_INPUT_PARTS = frozenset({"input_text", "input_image", "input_file", "input_audio"})
_OUTPUT_PARTS = frozenset({"output_text", "refusal"})
_TEXT_FIELD = {"input_text": "text", "output_text": "text", "refusal": "refusal"}


def check_items(given: list[Any], found: Findings) -> list[tuple[str, dict[str, Any]]]:
    """Check each item; those with a known type, with their places."""
    sound: list[tuple[str, dict[str, Any]]] = []
    ids: set[str] = set()
    for place, item in enumerate(given):
        path = f"input[{place}]"
        if not isinstance(item, dict):
            found.add("item_shape", path, f"Invalid type for '{path}': expected an object.")
            continue
        kind = text_at(item, "type") or ("message" if "role" in item and "type" not in item else "")
        if kind in _FIELDS:
            found.unknown_fields("unknown_item_field", item, _FIELDS[kind], path)
            _CHECKS[kind](item, path, found)
        elif kind not in _PASSED:
            found.add("unknown_item_type", f"{path}.type", f"Invalid value: {kind!r} for '{path}.type'.")
            continue
        _check_id(item, kind, path, ids, found)
        sound.append((path, {**item, "type": kind}))
    return sound


def _check_id(item: dict[str, Any], kind: str, path: str, ids: set[str], found: Findings) -> None:
    value = item.get("id")
    if value is None:
        if kind in ("reasoning", "item_reference"):
            found.add("item_shape", f"{path}.id", f"Missing required parameter: '{path}.id'.")
        return
    prefix = _PREFIXES.get(kind, "")
    if not isinstance(value, str) or not value.startswith(prefix):
        found.add(
            "id_prefix", f"{path}.id", f"Invalid '{path}.id': '{value}'. Expected an ID that begins with '{prefix}'."
        )
    elif len(value) > LONGEST_ID:
        found.add("id_too_long", f"{path}.id", f"Invalid '{path}.id': string too long. Maximum length {LONGEST_ID}.")
    elif value in ids:
        found.add(
            "duplicate_item",
            f"{path}.id",
            f"Duplicate item found with id {value}. Remove duplicate items from your input and try again.",
        )
    else:
        ids.add(value)


def _check_message(item: dict[str, Any], path: str, found: Findings) -> None:
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        found.add("unknown_role", f"{path}.role", f"Invalid value: {role!r}. Supported values are: {_ROLES}.")
    elif isinstance(content, list):
        allowed = _OUTPUT_PARTS if role == "assistant" else _INPUT_PARTS
        _check_parts(content, allowed, f"{path}.content", found)
    elif not isinstance(content, str):
        found.add("content_shape", f"{path}.content", f"Missing required parameter: '{path}.content'.")


def _check_parts(parts: list[Any], allowed: frozenset[str], path: str, found: Findings) -> None:
    for place, part in enumerate(parts):
        here = f"{path}[{place}]"
        kind = text_at(part, "type")
        if kind not in allowed:
            values = " and ".join(f"'{value}'" for value in sorted(allowed))
            found.add("content_part", f"{here}.type", f"Invalid value: '{kind}'. Supported values are: {values}.")
        elif kind in _TEXT_FIELD and not isinstance(part.get(_TEXT_FIELD[kind]), str):
            found.add("content_part", here, f"Missing required parameter: '{here}.{_TEXT_FIELD[kind]}'.")
        elif kind == "input_image" and "file_id" not in part:
            url = part.get("image_url")
            if not isinstance(url, str) or not _IMAGE.fullmatch(url):
                found.add("image_url", f"{here}.image_url", f"Invalid '{here}.image_url': expected a URL as a string.")


def _check_call_id(item: dict[str, Any], path: str, found: Findings) -> None:
    value = item.get("call_id")
    if not isinstance(value, str) or not value:
        found.add("call_id", f"{path}.call_id", f"Missing required parameter: '{path}.call_id'.")
    elif len(value) > LONGEST_ID:
        found.add(
            "call_id",
            f"{path}.call_id",
            f"Invalid '{path}.call_id': string too long. Expected a string with maximum length {LONGEST_ID}, "
            f"but got a string with length {len(value)} instead.",
        )


def _check_function_call(item: dict[str, Any], path: str, found: Findings) -> None:
    _check_call_id(item, path, found)
    name = item.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        found.add("call_name", f"{path}.name", f"Invalid '{path}.name': does not match '^[a-zA-Z0-9_-]{{1,64}}$'.")
    if not isinstance(item.get("arguments"), str):
        found.add("arguments_not_text", f"{path}.arguments", f"Invalid type for '{path}.arguments': expected a string.")


def _check_output(item: dict[str, Any], path: str, found: Findings) -> None:
    _check_call_id(item, path, found)
    output = item.get("output")
    if isinstance(output, list):
        _check_parts(output, _INPUT_PARTS - {"input_audio"}, f"{path}.output", found)
    elif not isinstance(output, str):
        found.add("output_shape", f"{path}.output", f"Missing required parameter: '{path}.output'.")


def _check_reasoning(item: dict[str, Any], path: str, found: Findings) -> None:
    if not isinstance(item.get("summary"), list):
        found.add("summary_missing", f"{path}.summary", f"Missing required parameter: '{path}.summary'.")


def _check_search(item: dict[str, Any], path: str, found: Findings) -> None:
    """What is in it is checked where all of the search is."""


def _check_reference(item: dict[str, Any], path: str, found: Findings) -> None:
    """Its id is all it has; whether the item is known is a question of what was stored."""


_CHECKS = {
    "message": _check_message,
    "function_call": _check_function_call,
    "function_call_output": _check_output,
    "reasoning": _check_reasoning,
    "item_reference": _check_reference,
    "tool_search_call": _check_search,
    "tool_search_output": _check_search,
}
