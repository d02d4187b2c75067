"""Anthropic's rules of a Messages request as a whole; those of its parts are in the modules beside this one.

As of 2026-11. A field of a beta is legal when the request names any beta. Tools of the vendor's own (web search, code
execution, …) are let through unseen, but their blocks are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callslip.testing.contract import (
    rules_anthropic_messages,
    rules_anthropic_results,
    rules_anthropic_search,
    rules_anthropic_thinking,
    rules_anthropic_tools,
    schema_rules_anthropic,
)
from callslip.testing.contract.anthropic_models import Model, model_of
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import object_at, text_at
from callslip.testing.contract.rules_anthropic_thinking import Thought
from callslip.testing.contract.violation import Violation
from callslip.testing.contract.wire_text import SURROGATE, texts

_CREATE = "Anthropic docs, API > Create a Message"
SOURCES = {
    **rules_anthropic_messages.SOURCES,
    **rules_anthropic_results.SOURCES,
    **rules_anthropic_search.SOURCES,
    **rules_anthropic_thinking.SOURCES,
    **rules_anthropic_tools.SOURCES,
    **schema_rules_anthropic.SOURCES,
    "key_missing": "Anthropic docs, API > Overview: x-api-key",
    "version_missing": "Anthropic docs, API > Versioning",
    "request_too_large": "Anthropic docs, API > Errors: 32 MB",
    "field_required": _CREATE,
    "field_shape": _CREATE,
    "extra_field": _CREATE + ": extra inputs are not permitted",
    "system_shape": _CREATE,
    "sampling": "github.com/sipeed/picoclaw/issues/2939; github.com/RooCodeInc/Roo-Code/issues/12162",
    "sampling_both": "git.drupalcode.org/project/ai/-/work_items/3580249",
    "sampling_with_thinking": "Anthropic docs, Extended thinking > Feature compatibility",
    "sampling_range": _CREATE,
    "effort": "Anthropic docs, Effort",
    "cache_breakpoints": "github.com/agentjido/req_llm/issues/503",
    "cache_shape": "Anthropic docs, Prompt caching",
    "lone_surrogate": "github.com/anthropics/claude-code/issues/60394",
}
_FIELDS = frozenset(
    [
        "model",
        "max_tokens",
        "messages",
        "cache_control",
        "container",
        "diagnostics",
        "inference_geo",
        "metadata",
        "output_config",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
        "user_profile_id",
        "workspace_id",
    ]
)
_BETA_FIELDS = frozenset(["context_management", "mcp_servers", "compaction", "fallbacks", "output_format"])
_SHAPES: tuple[tuple[str, type | tuple[type, ...], str], ...] = (
    ("model", str, "string"),
    ("stream", bool, "boolean"),
    ("stop_sequences", list, "list"),
    ("metadata", dict, "dictionary"),
    ("output_config", dict, "dictionary"),
    ("temperature", (int, float), "number"),
    ("top_p", (int, float), "number"),
    ("top_k", int, "integer"),
)
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_LARGEST = 32 * 1024 * 1024
_BREAKPOINTS = 4


def check(
    body: dict[str, Any], headers: Mapping[str, str], thoughts: Mapping[str, Thought] | None = None
) -> list[Violation]:
    """Every rule that the request breaks. ``thoughts``: what a server gave out, by the id of the call after it."""
    found = Findings(SOURCES)
    model = model_of(body.get("model"))
    _check_headers(headers, found)
    _check_size(body, headers, found)
    _check_fields(body, headers, found)
    _check_sampling(body, model, found)
    _check_output(body, found)
    _check_system(body.get("system"), found)
    _check_cache(body, found)
    rules_anthropic_thinking.check_config(body, headers, model, found)
    rules_anthropic_tools.check_tools(body, model, found)
    rules_anthropic_search.check_search(body, model, found)
    messages = rules_anthropic_messages.check_messages(body, model, found)
    if messages:
        rules_anthropic_results.check_results(messages, found)
        rules_anthropic_thinking.check_blocks(body, messages, model, thoughts or {}, found)
    return found.violations


def _check_headers(headers: Mapping[str, str], found: Findings) -> None:
    if not headers.get("x-api-key") and not headers.get("authorization"):
        found.add("key_missing", "", "x-api-key header is required")
    if not headers.get("anthropic-version"):
        found.add("version_missing", "", "anthropic-version: header is required")


def _check_size(body: dict[str, Any], headers: Mapping[str, str], found: Findings) -> None:
    length = headers.get("content-length", "")
    size = int(length) if length.isdecimal() else 0
    for path, text in texts(body):
        size += 0 if length else len(text)
        if SURROGATE.search(text):
            found.add("lone_surrogate", path, "The request body is not valid JSON: no low surrogate in string")
    if size > _LARGEST:
        found.add("request_too_large", "", "Request exceeds the maximum size")


def _check_fields(body: dict[str, Any], headers: Mapping[str, str], found: Findings) -> None:
    known = _FIELDS | _BETA_FIELDS if headers.get("anthropic-beta") else _FIELDS
    for field in body:
        if field not in known:
            found.add("extra_field", field, "Extra inputs are not permitted")
    for field in ("model", "max_tokens"):
        if field not in body:
            found.add("field_required", field, "Field required")
    for field, kind, words in _SHAPES:
        value = body.get(field)
        if field in body and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            found.add("field_shape", field, f"Input should be a valid {words}")
    most = body.get("max_tokens", 1)
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        found.add("field_shape", "max_tokens", "Input should be a valid integer greater than or equal to 0")
    sequences = body.get("stop_sequences")
    for place, stop in enumerate(sequences if isinstance(sequences, list) else []):
        if not isinstance(stop, str) or not stop.strip():
            found.add("field_shape", f"stop_sequences[{place}]", "each stop sequence must contain non-whitespace")
    metadata = object_at(body, "metadata")
    for field in metadata:
        if field != "user_id":
            found.add("extra_field", f"metadata.{field}", "Extra inputs are not permitted")


def _check_sampling(body: dict[str, Any], model: Model, found: Findings) -> None:
    temperature, top_p, top_k = (body.get(name) for name in ("temperature", "top_p", "top_k"))
    for name, value in (("temperature", temperature), ("top_p", top_p)):
        if isinstance(value, int | float) and not 0 <= value <= 1:
            found.add("sampling_range", name, "Input should be between 0 and 1")
    if not model.takes_sampling:
        for name, value, default in (("temperature", temperature, 1), ("top_p", top_p, None), ("top_k", top_k, None)):
            if value is not None and value != default:
                found.add("sampling", name, f"`{name}` is deprecated for this model.")
        return
    if model.takes_one_sampling_setting and temperature is not None and top_p is not None:
        found.add(
            "sampling_both", "top_p", "`temperature` and `top_p` cannot both be specified for this model. Use only one."
        )
    if text_at(object_at(body, "thinking"), "type") in ("enabled", "adaptive"):
        if temperature not in (None, 1):
            found.add(
                "sampling_with_thinking", "temperature", "`temperature` may only be set to 1 when thinking is enabled."
            )
        if top_k is not None:
            found.add("sampling_with_thinking", "top_k", "`top_k` must be unset when thinking is enabled.")
        if isinstance(top_p, int | float) and top_p < 0.95:
            found.add(
                "sampling_with_thinking",
                "top_p",
                "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
            )


def _check_output(body: dict[str, Any], found: Findings) -> None:
    config = object_at(body, "output_config")
    for field in config:
        if field not in ("effort", "format"):
            found.add("extra_field", f"output_config.{field}", "Extra inputs are not permitted")
    if config.get("effort") is not None and config["effort"] not in _EFFORTS:
        found.add("effort", "output_config.effort", "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
    shape = config.get("format")
    if shape is None:
        return
    schema = shape.get("schema") if isinstance(shape, dict) else None
    if not isinstance(schema, dict) or shape.get("type") != "json_schema":
        found.add("field_shape", "output_config.format", "Input should be a 'json_schema' with a schema")
    else:
        schema_rules_anthropic.check_output(schema, "output_config.format.schema", found)


def _check_system(system: Any, found: Findings) -> None:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        found.add("system_shape", "system", "Input should be a valid string or list")
        return
    for place, block in enumerate(system):
        path = f"system[{place}]"
        if not isinstance(block, dict) or block.get("type") != "text":
            found.add("system_shape", path, "Input should be a text block")
            continue
        rules_anthropic_messages.check_fields(block, path, found)
        rules_anthropic_messages.check_text(block, path, found)


def _check_cache(body: dict[str, Any], found: Findings) -> None:
    """Breakpoints count over tools, system and messages; not inside a schema or a call's input."""
    count = 0
    waiting: list[tuple[str, Any]] = [("", body)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, list):
            waiting += [(f"{path}[{place}]", inner) for place, inner in enumerate(value)]
        elif isinstance(value, dict):
            mark = value.get("cache_control")
            if mark is not None:
                count += 1
                _check_mark(mark, f"{path}.cache_control".lstrip("."), found)
            waiting += [
                (f"{path}.{name}" if path else name, inner)
                for name, inner in value.items()
                if name in ("tools", "system", "messages", "content")
            ]
    if count > _BREAKPOINTS:
        found.add(
            "cache_breakpoints",
            "",
            f"A maximum of {_BREAKPOINTS} blocks with cache_control may be provided. Found {count}.",
        )


def _check_mark(mark: Any, path: str, found: Findings) -> None:
    if not isinstance(mark, dict) or mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
        found.add("cache_shape", path, "Input should be {'type': 'ephemeral'} with a ttl of '5m' or '1h'")
