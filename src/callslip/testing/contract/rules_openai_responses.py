"""What OpenAI's Responses API refuses in a request, as far as its pages and public issues say, as of 2026-11.

Functions of the body and of what the server has issued. The items have files of their own.
"""

from __future__ import annotations

from typing import Any

from callslip.testing.contract import (
    openai_schema,
    rules_openai_responses_items,
    rules_openai_responses_order,
    rules_openai_responses_search,
    rules_openai_responses_tools,
    wire_text,
)
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.issued import Issued
from callslip.testing.contract.loose import list_at, text_at
from callslip.testing.contract.violation import Violation

_REFERENCE = "OpenAI API reference, Create a model response"
SOURCES = {
    **wire_text.SOURCES,
    **openai_schema.SOURCES,
    **rules_openai_responses_items.SOURCES,
    **rules_openai_responses_order.SOURCES,
    **rules_openai_responses_search.SOURCES,
    **rules_openai_responses_tools.SOURCES,
    "unknown_field": "github.com/microsoft/agent-framework/issues/2203",
    "missing_field": _REFERENCE,
    "wrong_type": _REFERENCE,
    "out_of_range": _REFERENCE,
    "stream_options_without_stream": f"{_REFERENCE} > stream_options",
    "include_unknown": f"{_REFERENCE} > include",
    "previous_response_unknown": f"{_REFERENCE} > previous_response_id",
    "text_format_shape": f"{_REFERENCE} > text",
}
_FIELDS = frozenset(
    {"background", "context_management", "conversation", "include", "input", "instructions", "max_output_tokens"}
    | {"max_tool_calls", "metadata", "model", "parallel_tool_calls", "previous_response_id", "prompt"}
    | {"prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store"}
    | {"stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p"}
    | {"truncation", "user"}
)
_MOVED = {"messages": "input", "response_format": "text.format", "max_tokens": "max_output_tokens"}
_INCLUDES = frozenset(
    {"web_search_call.action.sources", "web_search_call.results", "code_interpreter_call.outputs"}
    | {"computer_call_output.output.image_url", "file_search_call.results", "message.input_image.image_url"}
    | {"message.output_text.logprobs", "reasoning.encrypted_content"}
)
_KINDS = {
    "stream": (bool, "a boolean"),
    "store": (bool, "a boolean"),
    "background": (bool, "a boolean"),
    "parallel_tool_calls": (bool, "a boolean"),
    "include": (list, "an array"),
    "metadata": (dict, "an object"),
    "reasoning": (dict, "an object"),
    "stream_options": (dict, "an object"),
    "text": (dict, "an object"),
    "instructions": (str, "a string"),
    "previous_response_id": (str, "a string"),
}
_RANGES = {"temperature": (0, 2), "top_p": (0, 1), "max_output_tokens": (16, 10**9)}
_NOTHING_ISSUED = Issued()


def check(body: dict[str, Any], issued: Issued = _NOTHING_ISSUED) -> list[Violation]:
    found = Findings(SOURCES)
    wire_text.check_text(body, found)
    _check_fields(body, found)
    before = _check_previous(body, issued, found)
    given = body.get("input")
    items: list[tuple[str, dict[str, Any]]] = []
    if isinstance(given, list):
        items = rules_openai_responses_items.check_items(given, found)
        rules_openai_responses_order.check_order(items, body, before, issued, found)
    elif not isinstance(given, str | None):
        found.add("wrong_type", "input", "Invalid type for 'input': expected a string or an array of items.")
    elif not given and not any(body.get(field) for field in ("prompt", "conversation", "previous_response_id")):
        found.add("missing_field", "input", "Missing required parameter: 'input'.")
    rules_openai_responses_tools.check_tools(body, found)
    rules_openai_responses_search.check_search(body, items, found)
    _check_text_format(body.get("text"), found)
    return found.violations


def _check_fields(body: dict[str, Any], found: Findings) -> None:
    for name in body:
        if name in _MOVED:
            found.add(
                "unknown_field",
                name,
                f"Unsupported parameter: '{name}'. In the Responses API, this parameter has moved to '{_MOVED[name]}'.",
            )
    found.unknown_fields("unknown_field", {k: v for k, v in body.items() if k not in _MOVED}, _FIELDS, "")
    if not isinstance(body.get("model"), str) or not body["model"]:
        found.add("missing_field", "model", "Missing required parameter: 'model'.")
    for name, (kind, said) in _KINDS.items():
        if body.get(name) is not None and not isinstance(body[name], kind):
            found.add("wrong_type", name, f"Invalid type for '{name}': expected {said}.")
    for name, (least, most) in _RANGES.items():
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            found.add("wrong_type", name, f"Invalid type for '{name}': expected a number.")
        elif not least <= value <= most:
            found.add("out_of_range", name, f"Invalid '{name}': {value} is not between {least} and {most}.")
    _check_stream_options(body, found)
    for place, value in enumerate(list_at(body, "include")):
        if not isinstance(value, str) or value not in _INCLUDES:
            found.add("include_unknown", f"include[{place}]", f"Invalid value: {value!r}.")


def _check_stream_options(body: dict[str, Any], found: Findings) -> None:
    options = body.get("stream_options")
    if options is None:
        return
    if body.get("stream") is not True:
        found.add(
            "stream_options_without_stream",
            "stream_options",
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
    if isinstance(options, dict):
        found.unknown_fields("unknown_field", options, frozenset({"include_obfuscation"}), "stream_options")


def _check_previous(body: dict[str, Any], issued: Issued, found: Findings) -> list[dict[str, Any]]:
    """The items that ``previous_response_id`` stands for."""
    previous = body.get("previous_response_id")
    if previous is None:
        return []
    if not isinstance(previous, str) or previous not in issued.responses:
        found.add(
            "previous_response_unknown",
            "previous_response_id",
            f"Previous response with id '{previous}' not found.",
        )
        return []
    return list(issued.responses[previous])


def _check_text_format(text: Any, found: Findings) -> None:
    shape = text.get("format") if isinstance(text, dict) else None
    if shape is None:
        return
    kind = text_at(shape, "type")
    if kind in ("text", "json_object"):
        return
    if kind != "json_schema" or not isinstance(shape.get("name"), str) or "schema" not in shape:
        found.add("text_format_shape", "text.format", "Missing required parameter: 'text.format.name'.")
        return
    openai_schema.check_schema(
        shape["schema"],
        name=shape["name"],
        strict=shape.get("strict") is True,
        path="text.format.schema",
        found=found,
    )
