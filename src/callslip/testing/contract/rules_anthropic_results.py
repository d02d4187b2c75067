"""Anthropic's rules of calls and their results.

Every ``tool_use`` is answered in the very next message, which is the user's, by one ``tool_result`` each; all of them
stand in that one message and before anything else in it. Checked on the messages as they are sent, before the API
combines neighbours of one role: results that are split over two messages are refused.
"""

from __future__ import annotations

import re
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import text_at
from callslip.testing.contract.media_anthropic import check_count, check_document, check_image
from callslip.testing.contract.rules_anthropic_messages import BLOCK_FIELDS, blocks_of, check_fields, check_text
from callslip.testing.contract.rules_anthropic_tools import NAME

_HANDLE = "Anthropic docs, Tool use > Handle tool calls"
SOURCES = {
    "unanswered_call": "github.com/anthropics/claude-code/issues/8210",
    "orphan_result": "github.com/anthropics/claude-code/issues/13460; github.com/tghamm/Anthropic.SDK/issues/184",
    "duplicate_result": _HANDLE + "; its words: the regression tests of BerriAI/litellm for multiple content items",
    "result_not_first": _HANDLE + ": tool results come first in the content, text after them",
    "duplicate_call_id": "github.com/anomalyco/opencode/issues/1279",
    "call_id": "github.com/anomalyco/opencode/issues/1279: String should match pattern '^[a-zA-Z0-9_-]+$'",
    "call_name": "github.com/anthropics/claude-code/issues/96152",
    "call_input": _HANDLE + ": input is an object",
    "call_caller": "github.com/aakshintala/fiber/issues/132 (probed 2026-09-29)",
    "result_shape": _HANDLE,
    "result_content": _HANDLE + ": text, image, document, search_result",
    "error_empty": "github.com/jlevy/markform/issues/153",
    "error_not_text": "github.com/vellum-ai/vellum-assistant/pull/18387",
}
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_IN_RESULTS = frozenset({"text", "image", "document", "search_result", "tool_reference"})


def check_results(messages: list[dict[str, Any]], found: Findings) -> None:
    seen: set[str] = set()
    media = 0
    for place, message in enumerate(messages):
        path = f"messages[{place}]"
        calls = [
            (f"{path}.content[{number}]", block)
            for number, block in enumerate(blocks_of(message))
            if block.get("type") == "tool_use"
        ]
        for call_path, call in calls:
            _check_call(call, call_path, seen, found)
        following = messages[place + 1] if place + 1 < len(messages) else {}
        _check_answered([call.get("id") for _, call in calls], following, path, found)
        before = messages[place - 1] if place else {}
        _check_answers(message, before, path, found)
        media += sum(block.get("type") in ("image", "document") for block in _all_blocks(message))
    check_count(media, found)


def _check_call(call: dict[str, Any], path: str, seen: set[str], found: Findings) -> None:
    identity = call.get("id")
    if not isinstance(identity, str) or not _ID.fullmatch(identity):
        found.add("call_id", f"{path}.id", "String should match pattern '^[a-zA-Z0-9_-]+$'")
    elif identity in seen:
        found.add("duplicate_call_id", path, "`tool_use` ids must be unique")
    seen.add(str(identity))
    name = call.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        found.add("call_name", f"{path}.name", "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
    if not isinstance(call.get("input"), dict):
        found.add("call_input", f"{path}.input", "Input should be an object")
    caller = call.get("caller", {"type": "direct"})
    if not isinstance(caller, dict) or caller.get("type") != "direct":
        found.add("call_caller", f"{path}.caller", "Input tag does not match any of the expected tags: 'direct'")


def _check_answered(identities: list[Any], following: dict[str, Any], path: str, found: Findings) -> None:
    answered = (
        [block.get("tool_use_id") for block in blocks_of(following) if block.get("type") == "tool_result"]
        if following.get("role") == "user"
        else []
    )
    missing = [str(identity) for identity in identities if identity not in answered]
    if missing:
        found.add(
            "unanswered_call",
            path,
            f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        )


def _check_answers(message: dict[str, Any], before: dict[str, Any], path: str, found: Findings) -> None:
    asked = [block.get("id") for block in blocks_of(before) if block.get("type") == "tool_use"]
    answered: list[Any] = []
    other = False
    for number, block in enumerate(blocks_of(message)):
        place = f"{path}.content[{number}]"
        if block.get("type") != "tool_result":
            other = True
            continue
        identity = block.get("tool_use_id")
        if identity not in asked:
            found.add(
                "orphan_result",
                place,
                f"unexpected `tool_use_id` found in `tool_result` blocks: {identity}. Each `tool_result` block must "
                "have a corresponding `tool_use` block in the previous message.",
            )
        elif identity in answered:
            found.add(
                "duplicate_result",
                place,
                f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {identity}",
            )
        elif other:
            found.add("result_not_first", place, "tool_result blocks must come before any other content")
        answered.append(identity)
        _check_result(block, place, found)


def _check_result(block: dict[str, Any], path: str, found: Findings) -> None:
    if not isinstance(block.get("tool_use_id"), str):
        found.add("result_shape", f"{path}.tool_use_id", "Field required")
    failed = block.get("is_error", False)
    if not isinstance(failed, bool):
        found.add("result_shape", f"{path}.is_error", "Input should be a valid boolean")
    content = block.get("content")
    if content is not None and not isinstance(content, str | list):
        found.add("result_shape", f"{path}.content", "Input should be a valid string or list")
        return
    if failed is True and not content:
        found.add("error_empty", path, "content cannot be empty if `is_error` is true")
    if not isinstance(content, list):
        return
    for number, inner in enumerate(content):
        place = f"{path}.content[{number}]"
        kind = text_at(inner, "type")
        if kind not in _IN_RESULTS:
            found.add("result_content", place, f"Input tag '{kind}' does not match any of the expected tags")
            continue
        if failed is True and kind != "text":
            found.add("error_not_text", place, "all content must be type `text` if `is_error` is true")
        if kind in BLOCK_FIELDS:
            check_fields(inner, place, found)
        if kind == "text":
            check_text(inner, place, found)
        elif kind == "image":
            check_image(inner, place, found)
        elif kind == "document":
            check_document(inner, place, found)


def _all_blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    found = blocks_of(message)
    for block in list(found):
        content = block.get("content")
        if isinstance(content, list):
            found += [inner for inner in content if isinstance(inner, dict)]
    return found
