"""What Responses refuses in tools and the choice among them: its tools are flat, and some names are its own."""

from __future__ import annotations

import re
from typing import Any

from callslip.testing.contract import openai_schema
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import text_at

_REFERENCE = "OpenAI API reference, Create a model response"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
RESERVED = {
    "tool_search": "github.com/NousResearch/hermes-agent/issues/83122",
    "python": "github.com/UKGovernmentBEIS/inspect_ai/issues/1784",
}
SOURCES = {
    "tool_shape": f"{_REFERENCE} > tools",
    "tool_name": f"{_REFERENCE} > tools > function > name",
    "unknown_tool_field": f"{_REFERENCE} > tools > function",
    "reserved_name": " and ".join(RESERVED.values()),
    "duplicate_tool": "github.com/diegosouzapw/OmniRoute/pull/8322",
    "too_many_tools": f"{_REFERENCE} > tools",
    "tool_choice_without_tools": f"{_REFERENCE} > tool_choice",
    "tool_choice_shape": f"{_REFERENCE} > tool_choice",
    "tool_choice_unknown_tool": f"{_REFERENCE} > tool_choice",
}
_MOST_TOOLS = 128
_FIELDS = frozenset(
    {"type", "name", "description", "parameters", "strict", "defer_loading", "allowed_callers", "output_schema"}
)
_HOSTED = frozenset(
    {"web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "computer"}
    | {"computer_use_preview", "local_shell", "shell", "apply_patch", "mcp", "tool_search", "namespace"}
    | {"programmatic_tool_calling"}
)


def check_tools(body: dict[str, Any], found: Findings) -> None:
    tools = body.get("tools")
    if not isinstance(tools, list | None):
        found.add("tool_shape", "tools", "Invalid type for 'tools': expected an array.")
        tools = None
    names: set[str] = set()
    for place, tool in enumerate(tools or []):
        name = check_tool(tool, f"tools[{place}]", found)
        if name and name in names:
            found.add("duplicate_tool", f"tools[{place}].name", f"Tool names must be unique: '{name}'.")
        names.add(name)
    if len(tools or []) > _MOST_TOOLS:
        found.add("too_many_tools", "tools", f"Invalid 'tools': array too long. Maximum length {_MOST_TOOLS}.")
    _check_choice(body.get("tool_choice"), tools or [], names, found)


def check_tool(tool: Any, path: str, found: Findings) -> str:
    """Check one definition; its name, unless it has none."""
    kind = text_at(tool, "type")
    if kind in _HOSTED:
        return ""
    if kind not in ("function", "custom"):
        found.add("tool_shape", f"{path}.type", f"Invalid value: {kind!r} for '{path}.type'.")
        return ""
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        found.add("tool_shape", f"{path}.name", f"Missing required parameter: '{path}.name'.")
        return ""
    if not _NAME.fullmatch(name):
        found.add("tool_name", f"{path}.name", f"Invalid '{path}.name': does not match '^[a-zA-Z0-9_-]{{1,64}}$'.")
    if name in RESERVED:
        found.add("reserved_name", f"{path}.name", f"The function name '{name}' is reserved for use by this model.")
    if kind == "function":
        found.unknown_fields("unknown_tool_field", tool, _FIELDS, path)
        if tool.get("parameters") is not None:
            openai_schema.check_schema(
                tool["parameters"],
                name=name,
                strict=tool.get("strict") is True,
                path=f"{path}.parameters",
                found=found,
            )
        elif "parameters" not in tool:
            found.add("tool_shape", f"{path}.parameters", f"Missing required parameter: '{path}.parameters'.")
    return name


def _check_choice(choice: Any, tools: list[Any], names: set[str], found: Findings) -> None:
    if choice is None or choice in ("none", "auto"):
        return
    if not tools:
        found.add(
            "tool_choice_without_tools",
            "tool_choice",
            f"Tool choice '{choice}' must be specified with 'tools' parameter.",
        )
        return
    if choice == "required":
        return
    kind = text_at(choice, "type")
    if kind in ("function", "custom"):
        chosen = [text_at(choice, "name")]
    elif (
        kind == "allowed_tools" and choice.get("mode") in ("auto", "required") and isinstance(choice.get("tools"), list)
    ):
        chosen = [text_at(tool, "name") for tool in choice["tools"] if text_at(tool, "type") == "function"]
    elif kind in _HOSTED:
        chosen = []
    else:
        found.add("tool_choice_shape", "tool_choice", f"Invalid value for 'tool_choice': {choice!r}.")
        return
    for name in chosen:
        if name not in names:
            found.add(
                "tool_choice_unknown_tool", "tool_choice", f"Tool choice '{name}' not found in 'tools' parameter."
            )
