"""Gemini's rules of ``parameters``, a subset of OpenAPI 3.0, and of ``parametersJsonSchema``, which takes its place.

What a schema may not even name is found by the parser (``gemini_shape``).
"""

from __future__ import annotations

from typing import Any

from callslip.testing.contract.findings import Findings

SOURCES = {
    "schema_root": "github.com/diegosouzapw/OmniRoute/pull/3360",
    "schema_type": "github.com/zereight/gitlab-mcp/issues/166",
    "schema_type_missing": "github.com/makenotion/notion-mcp-server/issues/42",
    "schema_empty_object": "github.com/agno-agi/agno/issues/2112; github.com/browser-use/browser-use/issues/7",
    "schema_only_object": "github.com/anomalyco/opencode/pull/11888",
    "schema_only_array": "github.com/anomalyco/opencode/pull/43495",
    "schema_items_missing": "ai.google.dev/api/caching#Schema: items of an ARRAY",
    "schema_enum": "github.com/directus/directus/issues/27100; github.com/makenotion/notion-mcp-server/issues/42",
    "schema_required": "ai.google.dev/api/caching#Schema: required properties",
    "schema_format": "github.com/pizza-bot-app/pizza-bot/issues/62; ai.google.dev/api/caching#Schema: format",
    "json_schema_root": "google-genai 3.6.1, FunctionDeclaration.parameters_json_schema: must describe an object",
    "json_schema_reference": "json-schema.org, $ref: what it names has to be there",
}
_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_FORMATS = {
    "STRING": frozenset({"enum", "date-time"}),
    "NUMBER": frozenset({"float", "double"}),
    "INTEGER": frozenset({"int32", "int64"}),
}


def check_parameters(schema: dict[str, Any], path: str, found: Findings) -> None:
    """``schema`` as the parser read it."""
    if str(schema.get("type", "")).upper() != "OBJECT":
        found.add("schema_root", path, "functionDeclaration parameters schema should be of type OBJECT")
    check_schema(schema, path, found)


def check_schema(schema: dict[str, Any], path: str, found: Findings) -> None:
    kind = str(schema.get("type", "")).upper()
    if kind and kind not in _TYPES:
        found.add("schema_type", f"{path}.type", f"Invalid value at '{path}.type' (Type), \"{schema['type']}\"")
        return
    if not kind and "anyOf" not in schema and {"properties", "items", "enum"} & set(schema):
        found.add("schema_type_missing", path, f"{path}: type should be given")
    _check_object(schema, kind, path, found)
    if kind == "ARRAY" and "items" not in schema:
        found.add("schema_items_missing", f"{path}.items", f"* {path}.items: missing field.")
    if "items" in schema and kind not in ("ARRAY", ""):
        found.add("schema_only_array", f"{path}.items", f"* {path}.items: only allowed for ARRAY type")
    if "enum" in schema and kind != "STRING":
        found.add("schema_enum", f"{path}.enum", f"* {path}.enum: only allowed for STRING type")
    if "enum" in schema and not all(schema["enum"]):
        found.add("schema_enum", f"{path}.enum", f"* {path}.enum: cannot be empty")
    if "format" in schema and schema["format"] not in _FORMATS.get(kind, frozenset()):
        known = ", ".join(f"'{name}'" for name in sorted(_FORMATS.get(kind, ())))
        found.add(
            "schema_format", f"{path}.format", f"* {path}.format: only {known or 'none'} supported for {kind} type"
        )
    for name, inner in schema.get("properties", {}).items():
        check_schema(inner, f"{path}.properties.{name}", found)
    if "items" in schema:
        check_schema(schema["items"], f"{path}.items", found)
    for place, inner in enumerate(schema.get("anyOf", [])):
        check_schema(inner, f"{path}.anyOf[{place}]", found)


def _check_object(schema: dict[str, Any], kind: str, path: str, found: Findings) -> None:
    properties = schema.get("properties", {})
    if kind == "OBJECT" and not properties:
        found.add(
            "schema_empty_object", f"{path}.properties", f"* {path}.properties: should be non-empty for OBJECT type"
        )
    if kind not in ("OBJECT", ""):
        for field in ("properties", "required"):
            if field in schema:
                found.add("schema_only_object", f"{path}.{field}", f"* {path}.{field}: only allowed for OBJECT type")
    elif kind:
        for place, name in enumerate(schema.get("required", [])):
            if name not in properties:
                found.add("schema_required", f"{path}.required[{place}]", f"* {path}.required: property is not defined")


def check_json_schema(schema: Any, path: str, found: Findings) -> None:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        found.add("json_schema_root", path, "parametersJsonSchema should describe an object")
        return
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            target = node.get("$ref")
            if isinstance(target, str) and not _leads(target, schema):
                found.add("json_schema_reference", path, f"reference '{target}' leads nowhere")
            waiting += node.values()


def _leads(target: str, root: dict[str, Any]) -> bool:
    if target == "#":
        return True
    value: Any = root if target.startswith("#/") else None
    for step in target.removeprefix("#/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        value = value.get(name) if isinstance(value, dict) else None
    return value is not None
