"""What Responses refuses of its tool search: the tool, the tools that wait for it, the call and its output."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import list_at, text_at
from callslip.testing.contract.rules_openai_responses_tools import check_tool

_GUIDE = "OpenAI docs, Tool search"
_REFERENCE = "OpenAI API reference, Create a model response"
SOURCES = {
    "search_shape": f"{_REFERENCE} > tools > Tool search tool",
    "search_twice": f"{_REFERENCE} > tools",
    "search_unsupported": f"{_GUIDE}: only gpt-5.4 and later; its words: github.com/openclaw/openclaw/pull/85819",
    "deferred_without_search": "github.com/Wei-Shaw/sub2api/issues/5942",
    "search_without_deferred": "github.com/justrach/codegraff/issues/746",
    "search_call_shape": f"{_GUIDE} > Client-executed tool search",
    "search_output_shape": f"{_GUIDE} > Client-executed tool search",
}
_FIELDS = frozenset({"type", "execution", "description", "parameters"})
_EXECUTIONS = ("server", "client")
_STATUSES = ("in_progress", "completed", "incomplete")
_MODEL = re.compile(r"(?:.*/)?gpt-(\d+)(?:\.(\d+))?(?!\d)")
_FIRST = (5, 4)


def check_search(body: dict[str, Any], items: Iterable[tuple[str, dict[str, Any]]], found: Findings) -> None:
    tools = list_at(body, "tools")
    searches = [(place, tool) for place, tool in enumerate(tools) if text_at(tool, "type") == "tool_search"]
    for place, tool in searches:
        _check_tool(tool, f"tools[{place}]", found)
    if len(searches) > 1:
        found.add("search_twice", "tools", "Invalid Value: 'tools.tool_search'. Only one is allowed.")
    deferred = [tool for tool in _functions(tools) if tool.get("defer_loading") is True]
    if deferred and not searches:
        found.add(
            "deferred_without_search",
            "tools",
            "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.",
        )
    hosted = [tool for _, tool in searches if tool.get("execution", "server") == "server"]
    waiting = [tool for tool in tools if text_at(tool, "type") == "mcp" and tool.get("defer_loading") is True]
    if hosted and not deferred and not waiting:
        found.add(
            "search_without_deferred",
            "tools",
            "Invalid Value: 'tools.tool_search'. tools.tool_search requires at least one deferred tool.",
        )
    model = text_at(body, "model")
    if searches and not _knows(model):
        found.add("search_unsupported", "tools", f"Tool 'tool_search' is not supported with {model}.")
    for path, item in items:
        if item["type"] == "tool_search_call":
            _check_call(item, path, found)
        elif item["type"] == "tool_search_output":
            _check_output(item, path, found)


def _knows(model: str) -> bool:
    """A model whose name tells no version may: a test may call its model what it likes."""
    said = _MODEL.match(model)
    return said is None or ((int(said[1]), int(said[2] or 0)) >= _FIRST and "-nano" not in model)


def _functions(tools: list[Any]) -> list[dict[str, Any]]:
    inside = [inner for tool in tools if text_at(tool, "type") == "namespace" for inner in list_at(tool, "tools")]
    return [tool for tool in (*tools, *inside) if text_at(tool, "type") in ("function", "custom")]


def _check_tool(tool: dict[str, Any], path: str, found: Findings) -> None:
    found.unknown_fields("search_shape", tool, _FIELDS, path)
    if tool.get("execution", "server") not in _EXECUTIONS:
        found.add("search_shape", f"{path}.execution", f"Invalid value: {tool['execution']!r}.")
    if not isinstance(tool.get("description"), str | None):
        found.add("search_shape", f"{path}.description", f"Invalid type for '{path}.description': expected a string.")
    if not isinstance(tool.get("parameters"), dict | None):
        found.add("search_shape", f"{path}.parameters", f"Invalid type for '{path}.parameters': expected an object.")


def _check_call(item: dict[str, Any], path: str, found: Findings) -> None:
    _check_common(item, "search_call_shape", path, found)
    if not isinstance(item.get("arguments"), dict):
        place = f"{path}.arguments"
        found.add("search_call_shape", place, f"Invalid type for '{place}': expected an object.")


def _check_output(item: dict[str, Any], path: str, found: Findings) -> None:
    _check_common(item, "search_output_shape", path, found)
    tools = item.get("tools")
    if not isinstance(tools, list):
        found.add("search_output_shape", f"{path}.tools", f"Missing required parameter: '{path}.tools'.")
        return
    for place, tool in enumerate(tools):
        check_tool(tool, f"{path}.tools[{place}]", found)


def _check_common(item: dict[str, Any], rule: str, path: str, found: Findings) -> None:
    execution = item.get("execution", "server")
    if execution not in _EXECUTIONS:
        found.add(rule, f"{path}.execution", f"Invalid value: {execution!r}.")
    if item.get("status", "completed") not in (*_STATUSES, None):
        found.add(rule, f"{path}.status", f"Invalid value: {item['status']!r}.")
    if execution == "client" and not text_at(item, "call_id"):
        found.add(rule, f"{path}.call_id", f"Missing required parameter: '{path}.call_id'.")
