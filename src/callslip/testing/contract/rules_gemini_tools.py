"""Gemini's rules of functions: their names, their schemas, and the mode of calling."""

from __future__ import annotations

import re
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.schema_rules_gemini import check_json_schema, check_parameters, check_schema

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
"""64 characters. google-genai 3.6.1 documents 128, but every refusal on record names 64, the last of 2026-03."""
SOURCES = {
    "function_name": "github.com/kaitranntt/ccs/issues/25; github.com/voipbin/monorepo/pull/644",
    "duplicate_function": "github.com/googleapis/dotnet-genai/issues/189",
    "parameters_twice": "google-genai 3.6.1, FunctionDeclaration.parameters_json_schema: excludes parameters",
    "calling_mode": "ai.google.dev/api/caching#FunctionCallingConfig",
    "calling_without_functions": "github.com/AstrBotDevs/AstrBot/pull/7407",
    "allowed_names_mode": "google-genai 3.6.1, FunctionCallingConfig.allowed_function_names",
    "allowed_names_unknown": "google-genai 3.6.1, FunctionCallingConfig.allowed_function_names",
}
_MODES = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")


def check_tools(body: dict[str, Any], found: Findings) -> None:
    """``body`` as the parser read it."""
    names: set[str] = set()
    for place, tool in enumerate(body.get("tools", [])):
        for number, function in enumerate(tool.get("functionDeclarations", [])):
            _check_function(function, f"tools[{place}].functionDeclarations[{number}]", names, found)
    config = body.get("toolConfig", {}).get("functionCallingConfig")
    if config is None:
        return
    path = "toolConfig.functionCallingConfig"
    mode = config.get("mode", "MODE_UNSPECIFIED").upper()
    allowed = config.get("allowedFunctionNames", [])
    if mode not in _MODES:
        found.add("calling_mode", f"{path}.mode", f"Invalid value at '{path}.mode' (Mode), \"{mode}\"")
    if not names:
        found.add("calling_without_functions", path, "Function calling config is set without function_declarations.")
    if allowed and mode not in ("ANY", "VALIDATED"):
        found.add(
            "allowed_names_mode",
            f"{path}.allowedFunctionNames",
            "Allowed function names should only be set when the function calling mode is ANY or VALIDATED.",
        )
    for name in allowed:
        if name not in names:
            found.add("allowed_names_unknown", f"{path}.allowedFunctionNames", f"No function is declared as '{name}'.")


def _check_function(function: dict[str, Any], path: str, names: set[str], found: Findings) -> None:
    name = function.get("name", "")
    if not NAME.fullmatch(name):
        found.add(
            "function_name",
            f"{path}.name",
            "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), "
            "underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.",
        )
    if name in names:
        found.add("duplicate_function", f"{path}.name", f"Duplicate function declaration found: {name}")
    names.add(name)
    if "parameters" in function and "parametersJsonSchema" in function:
        found.add("parameters_twice", path, "parameters and parametersJsonSchema are mutually exclusive")
    if "parameters" in function:
        check_parameters(function["parameters"], f"{path}.parameters", found)
    if "parametersJsonSchema" in function:
        check_json_schema(function["parametersJsonSchema"], f"{path}.parametersJsonSchema", found)
    if "response" in function:
        check_schema(function["response"], f"{path}.response", found)
