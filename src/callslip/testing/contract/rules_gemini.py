"""Gemini's rules of a generateContent request as a whole; those of its parts are in the modules beside this one.

For the Gemini API (generativelanguage.googleapis.com, v1beta), as of 2026-11. Integers above 2^53 in arguments are
legal and lose digits at the vendor, whose Struct holds doubles: the replies of ``says_gemini`` show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from callslip.testing.contract import (
    gemini_models,
    gemini_shape,
    rules_gemini_parts,
    rules_gemini_tools,
    rules_gemini_turns,
    schema_rules_gemini,
)
from callslip.testing.contract.findings import Findings
from callslip.testing.contract.violation import Violation
from callslip.testing.contract.wire_text import SURROGATE, texts

SOURCES = {
    **gemini_shape.SOURCES,
    **rules_gemini_parts.SOURCES,
    **rules_gemini_tools.SOURCES,
    **rules_gemini_turns.SOURCES,
    **schema_rules_gemini.SOURCES,
    "key_missing": "ai.google.dev/gemini-api/docs/api-key: x-goog-api-key",
    "generation_value": "ai.google.dev/api/generate-content#generationconfig",
    "thinking_twice": "ai.google.dev/gemini-api/docs/gemini-3: thinking_level and thinking_budget exclude each other",
    "thinking_level": "ai.google.dev/gemini-api/docs/thinking: levels are of Gemini 3",
    "json_with_functions": "github.com/snailyp/gemini-balance/issues/264",
    "lone_surrogate": "protobuf docs, JSON mapping: strings are valid UTF-8",
}
_LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")


def check(body: dict[str, Any], headers: Mapping[str, str], path: str) -> list[Violation]:
    """Every rule that the request breaks."""
    found = Findings(SOURCES)
    model, _ = gemini_models.of_path(path)
    if not headers.get("x-goog-api-key") and not parse_qs(path.partition("?")[2]).get("key"):
        found.add("key_missing", "", "Method doesn't allow unregistered callers. Please use API Key to call this API.")
    for place, text in texts(body):
        if SURROGATE.search(text):
            found.add("lone_surrogate", place, "Invalid JSON payload received. Unexpected token: not valid UTF-8.")
    read = gemini_shape.read_request(body, found)
    _check_generation(read, model, found)
    rules_gemini_tools.check_tools(read, found)
    rules_gemini_parts.check_contents(read, model, found)
    rules_gemini_turns.check_turns(read, model, found)
    return found.violations


def _check_generation(body: dict[str, Any], model: str, found: Findings) -> None:
    config = body.get("generationConfig", {})
    path = "generationConfig"
    for name, least, most in (("temperature", 0, 2), ("topP", 0, 1), ("topK", 0, None), ("maxOutputTokens", 1, None)):
        value = config.get(name)
        if value is not None and (value < least or (most is not None and value > most)):
            found.add(
                "generation_value", f"{path}.{name}", f"Unable to submit request because it has a {name} of {value}"
            )
    if len(config.get("stopSequences", [])) > 5:
        found.add("generation_value", f"{path}.stopSequences", "at most 5 stop sequences are supported")
    if "responseSchema" in config:
        schema_rules_gemini.check_schema(config["responseSchema"], f"{path}.responseSchema", found)
    thinking = config.get("thinkingConfig", {})
    level = thinking.get("thinkingLevel")
    if level is not None and "thinkingBudget" in thinking:
        found.add(
            "thinking_twice",
            f"{path}.thinkingConfig",
            "You can only set only one of thinking budget and thinking level.",
        )
    if level is not None and (level.upper() not in _LEVELS or not gemini_models.demands_signatures(model)):
        found.add(
            "thinking_level", f"{path}.thinkingConfig.thinkingLevel", "Thinking level is not supported for this model."
        )
    functions = any(tool.get("functionDeclarations") for tool in body.get("tools", []))
    if (
        functions
        and config.get("responseMimeType") == "application/json"
        and not gemini_models.demands_signatures(model)
    ):
        found.add(
            "json_with_functions",
            f"{path}.responseMimeType",
            "Function calling with a response mime type: 'application/json' is unsupported",
        )
