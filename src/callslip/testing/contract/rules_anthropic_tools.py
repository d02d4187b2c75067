"""Anthropic's rules of tools: their names, schemas and how the model is made to choose among them."""

from __future__ import annotations

import re
from typing import Any

import jsonschema_rs

from callslip.testing.contract.anthropic_models import Model
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import object_at, text_at
from callslip.testing.contract.schema_rules_anthropic import check_strict

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_FIELDS = frozenset(
    [
        "type",
        "name",
        "description",
        "input_schema",
        "cache_control",
        "strict",
        "defer_loading",
        "allowed_callers",
        "eager_input_streaming",
        "input_examples",
    ]
)
_CHOICE_FIELDS = {
    "auto": frozenset({"type", "disable_parallel_tool_use"}),
    "any": frozenset({"type", "disable_parallel_tool_use"}),
    "tool": frozenset({"type", "name", "disable_parallel_tool_use"}),
    "none": frozenset({"type"}),
}
_DEFINE = "Anthropic docs, Tool use > Define tools"
SOURCES = {
    "tools_shape": _DEFINE,
    "tool_extra": "Anthropic docs, API > Create a Message (tools)",
    "tool_name": "github.com/anthropics/claude-code/issues/96152; github.com/home-assistant/core/issues/147760",
    "duplicate_tool": "github.com/anthropics/claude-code/issues/10687",
    "schema_shape": _DEFINE,
    "schema_root_union": "github.com/anthropics/claude-code/issues/40075",
    "schema_property_key": "github.com/diegosouzapw/OmniRoute/issues/13552",
    "schema_invalid": "Anthropic docs, Tool use > Define tools: JSON Schema draft 2020-12",
    "tool_choice_shape": "Anthropic docs, API > Create a Message (tool_choice)",
    "tool_choice_without_tools": "github.com/aakshintala/fiber/issues/132 (probed 2026-09-29)",
    "tool_choice_unknown_tool": "Anthropic docs, Tool use > Define tools > Controlling Claude's output",
    "tool_choice_with_thinking": "github.com/mastra-ai/mastra/issues/7507",
    "tool_choice_forced": "Anthropic docs, Models > What's new in Claude Opus 5.5: forced tool use is not supported",
    "tools_needed": "github.com/UKGovernmentBEIS/inspect_ai/pull/176",
}


def check_tools(body: dict[str, Any], model: Model, found: Findings) -> None:
    tools = body.get("tools")
    if tools is not None and not isinstance(tools, list):
        found.add("tools_shape", "tools", "Input should be a valid array")
        return
    names: set[str] = set()
    for place, tool in enumerate(tools or []):
        _check_tool(tool, f"tools[{place}]", names, found)
    check_strict(tools or [], found)
    _check_choice(body, names, model, found)
    if not tools and _has_tool_blocks(body):
        found.add(
            "tools_needed", "tools", "Requests which include `tool_use` or `tool_result` blocks must define tools."
        )


def _check_tool(tool: Any, path: str, names: set[str], found: Findings) -> None:
    if not isinstance(tool, dict):
        found.add("tools_shape", path, "Input should be an object")
        return
    name = tool.get("name")
    if isinstance(name, str):
        if name in names:
            found.add("duplicate_tool", "tools", "Tool names must be unique.")
        names.add(name)
    if tool.get("type") not in (None, "custom"):
        return  # a tool of the vendor's own: nothing here defines one
    for field in tool:
        if field not in _FIELDS:
            found.add("tool_extra", f"{path}.{field}", "Extra inputs are not permitted")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        found.add("tool_name", f"{path}.name", "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
    for field, kind, words in (("description", str, "string"), ("strict", bool, "boolean")):
        if field in tool and not isinstance(tool[field], kind):
            found.add("tools_shape", f"{path}.{field}", f"Input should be a valid {words}")
    _check_schema(tool.get("input_schema"), f"{path}.input_schema", found)


def _check_schema(schema: Any, path: str, found: Findings) -> None:
    if not isinstance(schema, dict):
        found.add("schema_shape", path, "Field required" if schema is None else "Input should be an object")
        return
    if schema.get("type") != "object":
        found.add("schema_shape", f"{path}.type", "Input should be 'object'")
    if any(union in schema for union in ("oneOf", "anyOf", "allOf")):
        found.add("schema_root_union", path, "input_schema does not support oneOf, allOf, or anyOf at the top level")
    for key in _property_keys(schema):
        if not _KEY.fullmatch(key):
            found.add(
                "schema_property_key",
                f"{path}.properties",
                "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
            )
            break
    if not _is_schema(schema):
        found.add("schema_invalid", path, "JSON schema is invalid. It must match JSON Schema draft 2020-12")


def _property_keys(schema: dict[str, Any]) -> list[str]:
    keys: list[str] = []
    waiting: list[Any] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            properties = value.get("properties")
            if isinstance(properties, dict):
                keys += properties
            waiting += [inner for name, inner in value.items() if name not in ("enum", "const", "default", "examples")]
        elif isinstance(value, list):
            waiting += value
    return keys


def _is_schema(schema: dict[str, Any]) -> bool:
    try:
        return jsonschema_rs.meta.is_valid({key: value for key, value in schema.items() if key != "$schema"})
    except ValueError:  # deeper than the validator reads, or a number that it doesn't know
        return False


def _check_choice(body: dict[str, Any], names: set[str], model: Model, found: Findings) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    kind = text_at(choice, "type")
    if kind not in _CHOICE_FIELDS:
        found.add("tool_choice_shape", "tool_choice.type", "Input should be 'auto', 'any', 'tool' or 'none'")
        return
    for field in choice:
        if field not in _CHOICE_FIELDS[kind]:
            found.add("tool_choice_shape", f"tool_choice.{field}", "Extra inputs are not permitted")
    if not isinstance(choice.get("disable_parallel_tool_use", False), bool):
        found.add("tool_choice_shape", "tool_choice.disable_parallel_tool_use", "Input should be a valid boolean")
    if kind == "any" and not names:
        found.add(
            "tool_choice_without_tools", "tool_choice", "tool_choice.any may only be specified while providing tools"
        )
    if kind == "tool" and text_at(choice, "name") not in names:
        found.add("tool_choice_unknown_tool", "tool_choice", f"Tool '{choice.get('name')}' not found in provided tools")
    if kind in ("any", "tool"):
        if not model.takes_forced_choice:
            found.add("tool_choice_forced", "tool_choice.type", f'type "{kind}" is not supported for this model.')
        elif text_at(object_at(body, "thinking"), "type") in ("enabled", "adaptive", "between_tools"):
            found.add(
                "tool_choice_with_thinking",
                "tool_choice",
                "Thinking may not be enabled when tool_choice forces tool use.",
            )


def _has_tool_blocks(body: dict[str, Any]) -> bool:
    messages = body.get("messages")
    return any(
        isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result")
        for message in (messages if isinstance(messages, list) else [])
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for block in message["content"]
    )
