"""What OpenAI's Chat Completions refuses in a request, as far as its pages and public issues say, as of 2026-11.

Functions of the body alone. The messages have a file of their own, ``rules_openai_chat_messages``.
"""

from __future__ import annotations

import re
from typing import Any

from callslip.testing.contract import openai_schema, rules_openai_chat_messages, wire_text
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import object_at, text_at
from callslip.testing.contract.violation import Violation

_REFERENCE = "OpenAI API reference, Create chat completion"
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MOST_TOOLS = 128
SOURCES = {
    **wire_text.SOURCES,
    **openai_schema.SOURCES,
    **rules_openai_chat_messages.SOURCES,
    "unknown_field": "github.com/transitive-bullshit/agentic/issues/531",
    "missing_field": _REFERENCE,
    "wrong_type": _REFERENCE,
    "out_of_range": _REFERENCE,
    "two_token_limits": f"{_REFERENCE} > max_tokens",
    "stream_options_without_stream": f"{_REFERENCE} > stream_options",
    "tools_empty": f"{_REFERENCE} > tools",
    "too_many_tools": f"{_REFERENCE} > functions: a max of 128 functions are supported",
    "tool_shape": f"{_REFERENCE} > tools",
    "tool_name": f"{_REFERENCE} > tools > function > name",
    "duplicate_tool": "github.com/diegosouzapw/OmniRoute/pull/8322",
    "tool_choice_without_tools": f"{_REFERENCE} > tool_choice: none is the default when no tools are present",
    "tool_choice_shape": "github.com/openai/openai-node/issues/521",
    "tool_choice_unknown_tool": f"{_REFERENCE} > tool_choice",
    "parallel_without_tools": "github.com/camel-ai/camel/pull/3706",
    "response_format_shape": f"{_REFERENCE} > response_format",
}
_FIELDS = frozenset(
    {"model", "messages", "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs"}
    | {"max_completion_tokens", "max_tokens", "metadata", "modalities", "n", "parallel_tool_calls", "prediction"}
    | {"presence_penalty", "prompt_cache_key", "prompt_cache_retention", "reasoning_effort", "response_format"}
    | {"safety_identifier", "seed", "service_tier", "stop", "store", "stream", "stream_options", "temperature"}
    | {"tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options"}
)
_FUNCTION_FIELDS = frozenset({"name", "description", "parameters", "strict"})
_KINDS = {
    "stream": (bool, "a boolean"),
    "store": (bool, "a boolean"),
    "logprobs": (bool, "a boolean"),
    "parallel_tool_calls": (bool, "a boolean"),
    "metadata": (dict, "an object"),
    "stream_options": (dict, "an object"),
}
_STREAM_OPTIONS = frozenset({"include_usage", "include_obfuscation"})
_RANGES = {"temperature": (0, 2), "top_p": (0, 1), "frequency_penalty": (-2, 2), "presence_penalty": (-2, 2)}


def check(body: dict[str, Any], *, sources: dict[str, str] = SOURCES) -> list[Violation]:
    """All the rules. ``sources``: also those of a format that adds rules of its own."""
    found = Findings(sources)
    wire_text.check_text(body, found)
    _check_fields(body, found)
    rules_openai_chat_messages.check_messages(body.get("messages"), found)
    names = _check_tools(body.get("tools"), found)
    _check_choice(body, names, found)
    _check_response_format(body.get("response_format"), found)
    return found.violations


def _check_fields(body: dict[str, Any], found: Findings) -> None:
    found.unknown_fields("unknown_field", body, _FIELDS, "")
    if not isinstance(body.get("model"), str) or not body["model"]:
        found.add("missing_field", "model", "you must provide a model parameter")
    for name, (kind, said) in _KINDS.items():
        if body.get(name) is not None and not isinstance(body[name], kind):
            found.add("wrong_type", name, f"Invalid type for '{name}': expected {said}.")
    found.unknown_fields("unknown_field", object_at(body, "stream_options"), _STREAM_OPTIONS, "stream_options")
    for name, (least, most) in _RANGES.items():
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            found.add("wrong_type", name, f"Invalid type for '{name}': expected a decimal.")
        elif not least <= value <= most:
            found.add("out_of_range", name, f"Invalid '{name}': {value} is not between {least} and {most}.")
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        found.add(
            "two_token_limits",
            "max_tokens",
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        )
    if body.get("stream_options") is not None and body.get("stream") is not True:
        found.add(
            "stream_options_without_stream",
            "stream_options",
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )


def _check_tools(tools: Any, found: Findings) -> set[str] | None:
    """The names of the tools that are offered; ``None`` when none are."""
    if tools is None:
        return None
    if not isinstance(tools, list) or not tools:
        found.add("tools_empty", "tools", "Invalid 'tools': expected an array with minimum length 1.")
        return None
    if len(tools) > MOST_TOOLS:
        found.add(
            "too_many_tools",
            "tools",
            f"Invalid 'tools': array too long. Expected an array with maximum length {MOST_TOOLS}, "
            f"but got an array with length {len(tools)} instead.",
        )
    names: set[str] = set()
    for place, tool in enumerate(tools):
        name = _check_tool(tool, f"tools[{place}]", found)
        if name in names:
            found.add("duplicate_tool", f"tools[{place}].function.name", f"Tool names must be unique: '{name}'.")
        names.add(name)
    return names


def _check_tool(tool: Any, path: str, found: Findings) -> str:
    if not isinstance(tool, dict) or tool.get("type") not in ("function", "custom"):
        found.add("tool_shape", f"{path}.type", f"Missing required parameter or invalid value: '{path}.type'.")
        return ""
    kind = tool["type"]
    function = tool.get(kind)
    if not isinstance(function, dict):
        found.add("tool_shape", f"{path}.{kind}", f"Missing required parameter: '{path}.{kind}'.")
        return ""
    name = function.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        found.add(
            "tool_name",
            f"{path}.{kind}.name",
            f"Invalid '{path}.{kind}.name': expected at most 64 characters that match '^[a-zA-Z0-9_-]+$'.",
        )
        name = str(name)
    if kind == "custom":
        return name
    found.unknown_fields("unknown_field", function, _FUNCTION_FIELDS, f"{path}.function")
    if not isinstance(function.get("description", ""), str):
        found.add("wrong_type", f"{path}.function.description", "Invalid type for description: expected a string.")
    strict = function.get("strict")
    if not isinstance(strict, bool | None):
        found.add("wrong_type", f"{path}.function.strict", "Invalid type for strict: expected a boolean.")
    if "parameters" in function:
        openai_schema.check_schema(
            function["parameters"],
            name=name,
            strict=strict is True,
            path=f"{path}.function.parameters",
            found=found,
        )
    return name


def _check_choice(body: dict[str, Any], names: set[str] | None, found: Findings) -> None:
    if names is None and "parallel_tool_calls" in body:
        found.add(
            "parallel_without_tools",
            "parallel_tool_calls",
            "Invalid value for 'parallel_tool_calls': it is only allowed when 'tools' are specified.",
        )
    choice = body.get("tool_choice")
    if choice is None:
        return
    if names is None:
        found.add(
            "tool_choice_without_tools",
            "tool_choice",
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        )
    elif isinstance(choice, dict):
        _check_named_choice(choice, names, found)
    elif choice not in ("none", "auto", "required"):
        found.add("tool_choice_shape", "tool_choice", f"Invalid value: {choice!r}. Supported: none, auto, required.")


def _check_named_choice(choice: dict[str, Any], names: set[str], found: Findings) -> None:
    kind = text_at(choice, "type")
    inner = object_at(choice, kind) if kind in {"function", "custom", "allowed_tools"} else {}
    if not inner:
        found.add("tool_choice_shape", "tool_choice", "'$.tool_choice' is invalid. Please check the API reference.")
        return
    if kind != "allowed_tools":
        chosen = [text_at(inner, "name")]
    elif inner.get("mode") in ("auto", "required") and isinstance(inner.get("tools"), list):
        chosen = [text_at(object_at(tool, "function"), "name") for tool in inner["tools"]]
    else:
        found.add("tool_choice_shape", "tool_choice.allowed_tools", "'$.tool_choice.allowed_tools' is invalid.")
        return
    for name in chosen:
        if name not in names:
            found.add(
                "tool_choice_unknown_tool", "tool_choice", f"Tool choice '{name}' not found in 'tools' parameter."
            )


def _check_response_format(value: Any, found: Findings) -> None:
    if value is None:
        return
    kind = text_at(value, "type")
    if kind in ("text", "json_object"):
        return
    inner = object_at(value, "json_schema") if kind == "json_schema" else {}
    if not NAME.fullmatch(text_at(inner, "name")):
        found.add("response_format_shape", "response_format", "Missing required parameter in 'response_format'.")
    elif "schema" in inner:
        openai_schema.check_schema(
            inner["schema"],
            name=inner["name"],
            strict=inner.get("strict") is True,
            path="response_format.json_schema.schema",
            found=found,
        )
