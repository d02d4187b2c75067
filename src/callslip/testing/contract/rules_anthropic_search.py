"""Anthropic's rules of tools that only a search brings, and of the references that bring them."""

from __future__ import annotations

from typing import Any

from callslip.testing.contract.anthropic_models import Model
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import list_at, text_at
from callslip.testing.contract.rules_anthropic_messages import blocks_of

_SEARCH = "Anthropic docs, Tool use > Tool search tool"
SOURCES = {
    "deferred_shape": "Anthropic docs, API > Create a Message (tools)",
    "all_deferred": f"{_SEARCH} > Error handling",
    "deferred_cached": "github.com/router-for-me/CLIProxyAPI/issues/4561",
    "too_many_deferred": f"{_SEARCH} > Limits",
    "deferred_unsupported": f"{_SEARCH} > Model compatibility",
    "reference_shape": f"{_SEARCH} > Custom tool search implementation",
    "reference_unknown": f"{_SEARCH} > Error handling; github.com/anthropics/claude-code/issues/81863",
    # The docs show results of references alone and say nothing of others; clients that mixed them had it refused.
    "reference_mixed": "Strands docs, ToolReferenceBlock: the tool result holds only such references",
}
_MOST_DEFERRED = 10_000
_REFERENCE = frozenset({"type", "tool_name", "cache_control"})


def check_search(body: dict[str, Any], model: Model, found: Findings) -> None:
    tools = [tool for tool in list_at(body, "tools") if isinstance(tool, dict)]
    _check_deferred(tools, model, found)
    names = {text_at(tool, "name") for tool in tools}
    for place, message in enumerate(list_at(body, "messages")):
        for number, block in enumerate(blocks_of(message)):
            if block.get("type") == "tool_result":
                _check_result(block, names, f"messages[{place}].content[{number}]", found)


def _check_deferred(tools: list[dict[str, Any]], model: Model, found: Findings) -> None:
    deferred = [(place, tool) for place, tool in enumerate(tools) if tool.get("defer_loading") is True]
    for place, tool in enumerate(tools):
        if not isinstance(tool.get("defer_loading", False), bool):
            found.add("deferred_shape", f"tools[{place}].defer_loading", "Input should be a valid boolean")
    for place, tool in deferred:
        if tool.get("cache_control") is not None:
            found.add(
                "deferred_cached",
                f"tools[{place}]",
                f"Tool '{tool.get('name')}' cannot have both defer_loading=true and cache_control set. Tools with "
                "defer_loading cannot use prompt caching.",
            )
    if deferred and len(deferred) == len(tools):
        found.add(
            "all_deferred",
            "tools",
            "At least one tool must have defer_loading=false. All tools cannot be deferred.",
        )
    if len(deferred) > _MOST_DEFERRED:
        found.add("too_many_deferred", "tools", f"At most {_MOST_DEFERRED} tools can have defer_loading=true.")
    if deferred and not model.knows_search:
        found.add("deferred_unsupported", "tools", "defer_loading is not supported for this model.")


def _check_result(result: dict[str, Any], names: set[str], path: str, found: Findings) -> None:
    content = [inner for inner in list_at(result, "content") if isinstance(inner, dict)]
    references = [inner for inner in content if inner.get("type") == "tool_reference"]
    if references and len(references) < len(content):
        found.add("reference_mixed", path, "tool_reference blocks cannot be mixed with other content.")
    for reference in references:
        for field in reference:
            if field not in _REFERENCE:
                found.add("reference_shape", f"{path}.{field}", "Extra inputs are not permitted")
        name = reference.get("tool_name")
        if not isinstance(name, str):
            found.add("reference_shape", f"{path}.tool_name", "Input should be a valid string")
        elif name not in names:
            found.add("reference_unknown", path, f"Tool reference '{name}' not found in available tools")
