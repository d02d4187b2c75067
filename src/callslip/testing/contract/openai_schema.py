"""OpenAI's rules for the JSON Schema of a function, strict and not: a checker of its own.

It shares nothing with what Callslip shapes schemas by, so that neither can hide a mistake of the other. As of 2026-11:
OpenAI docs, "Structured Outputs" > Supported schemas, and the texts of refusals in public issues.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import list_at, object_at, text_at

_DOCS = "OpenAI docs, Structured Outputs > Supported schemas"
SOURCES = {
    "schema_not_object": "github.com/chatanywhere/GPT_API_free/issues/403",
    "schema_root_union": "github.com/langchain-ai/langchainjs/issues/9804",
    "schema_without_properties": "github.com/spring-projects/spring-ai/issues/4776",
    "schema_array_without_items": "OpenAI docs, Function calling > Defining functions",
    "schema_type_unknown": "OpenAI docs, Function calling > Defining functions",
    "strict_additional_properties": f"{_DOCS} > additionalProperties: false must always be set in objects",
    "strict_required": "github.com/kevinwatt/mysql-mcp/issues/5",
    "strict_keyword": f"{_DOCS} > Some type-specific keywords are not yet supported",
    "strict_format": f"{_DOCS} > String properties",
    "strict_ref": f"{_DOCS} > Definitions are supported",
    "strict_ref_siblings": "github.com/openai/openai-agents-python/blob/main/src/agents/strict_schema.py",
    "strict_without_type": f"{_DOCS} > Supported types",
    "strict_boolean_schema": f"{_DOCS} > Supported types",
    "strict_too_large": f"{_DOCS} > Limitations on object size and nesting depth",
    "strict_too_deep": f"{_DOCS} > Limitations on object size and nesting depth",
    "strict_enum_too_large": f"{_DOCS} > Limitations on enum size",
}
_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_ALLOWED = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref"}
    | {"$defs", "definitions", "$schema", "title", "description", "pattern", "format"}
    | {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
)
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_ROOT_UNIONS = ("oneOf", "anyOf", "allOf", "enum", "not")
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_MOST_PROPERTIES, _MOST_LEVELS, _MOST_CHARACTERS, _MOST_VALUES = 5_000, 10, 120_000, 1_000
_LONG_ENUM, _LONG_ENUM_CHARACTERS = 250, 15_000
_ROOT_PATH = ("#", "#/")


def check_schema(schema: Any, *, name: str, strict: bool, path: str, found: Findings) -> None:
    """Check one function's ``parameters``. ``name`` is the function's, for the message."""
    said = _Said(name, path, found)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        got = schema.get("type") if isinstance(schema, dict) else schema
        said.no("schema_not_object", (), f"schema must be a JSON Schema of 'type: \"object\"', got 'type: {got!r}'")
        return
    if any(union in schema for union in _ROOT_UNIONS):
        unions = "/".join(f"'{union}'" for union in _ROOT_UNIONS)
        said.no("schema_root_union", (), f"schema must have type 'object' and not have {unions} at the top level")
    if not isinstance(schema.get("properties"), dict):
        said.no("schema_without_properties", (), "object schema missing properties")
    for trail, node in _nodes(schema):
        _check_types(node, trail, said)
        if strict:
            _check_strict(node, trail, schema, said)
    if strict:
        _check_sizes(schema, said)


class _Said:
    def __init__(self, name: str, path: str, found: Findings) -> None:
        self._name, self._path, self._found = name, path, found

    def no(self, rule: str, trail: tuple[str, ...], message: str) -> None:
        self._found.add(rule, self._path, f"Invalid schema for function '{self._name}': In context={trail}, {message}.")


def _nodes(root: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every schema inside the schema, with the way to it."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), root)]
    while waiting:
        trail, node = waiting.pop()
        yield trail, node
        if not isinstance(node, dict):
            continue
        for keyword in _NAMED:
            inner = node.get(keyword)
            if isinstance(inner, dict):
                waiting.extend(((*trail, keyword, name), schema) for name, schema in inner.items())
        waiting.extend(((*trail, keyword), node[keyword]) for keyword in _SINGLE if isinstance(node.get(keyword), dict))
        for keyword in _LISTED:
            inner = node.get(keyword)
            if isinstance(inner, list):
                waiting.extend(((*trail, keyword, str(place)), schema) for place, schema in enumerate(inner))


def _types(node: dict[str, Any]) -> list[Any]:
    kind = node.get("type")
    return kind if isinstance(kind, list) else [] if kind is None else [kind]


def _check_types(node: Any, trail: tuple[str, ...], said: _Said) -> None:
    if not isinstance(node, dict):
        return
    for kind in _types(node):
        if not isinstance(kind, str) or kind not in _TYPES:
            said.no("schema_type_unknown", trail, f"{kind!r} is not valid under any of the given schemas")
    if "array" in _types(node) and "items" not in node and "prefixItems" not in node:
        said.no("schema_array_without_items", trail, "array schema missing items")


def _check_strict(node: Any, trail: tuple[str, ...], root: dict[str, Any], said: _Said) -> None:
    if not isinstance(node, dict):
        said.no("strict_boolean_schema", trail, f"{node!r} is not of type 'object'")
        return
    for keyword in node:
        if keyword not in _ALLOWED:
            said.no("strict_keyword", trail, f"'{keyword}' is not permitted")
    if "$ref" in node:
        _check_ref(node, trail, root, said)
        return
    if "type" not in node and "anyOf" not in node:
        said.no("strict_without_type", trail, "schema must have a 'type' key")
    shape = text_at(node, "format")
    if "format" in node and shape not in _FORMATS:
        said.no("strict_format", trail, f"'{shape}' is not a valid format")
    if "object" in _types(node):
        _check_object(node, trail, said)


def _check_object(node: dict[str, Any], trail: tuple[str, ...], said: _Said) -> None:
    if node.get("additionalProperties") is not False:
        said.no(
            "strict_additional_properties", trail, "'additionalProperties' is required to be supplied and to be false"
        )
    named, listed = list(object_at(node, "properties")), list_at(node, "required")
    missing = [name for name in named if name not in listed]
    extra = [name for name in listed if name not in named]
    if missing:
        said.no(
            "strict_required",
            trail,
            "'required' is required to be supplied and to be an array including every key in properties. "
            f"Missing '{missing[0]}'",
        )
    if extra:
        said.no("strict_required", trail, f"Extra required key '{extra[0]}' supplied")


def _check_ref(node: dict[str, Any], trail: tuple[str, ...], root: dict[str, Any], said: _Said) -> None:
    others = sorted(set(node) - {"$ref"})
    if others:
        said.no("strict_ref_siblings", trail, f"$ref cannot have keywords {others}")
    target = node["$ref"]
    if target in _ROOT_PATH:
        return
    for keyword in ("$defs", "definitions"):
        start = f"#/{keyword}/"
        if isinstance(target, str) and target.startswith(start):
            name = target.removeprefix(start).replace("~1", "/").replace("~0", "~")
            if name in object_at(root, keyword):
                return
    said.no("strict_ref", trail, f"reference to component '{target}' which was not found in the schema")


def _check_sizes(root: dict[str, Any], said: _Said) -> None:
    properties = characters = values = 0
    for trail, node in _nodes(root):
        if not isinstance(node, dict):
            continue
        named = [name for keyword in _NAMED for name in object_at(node, keyword)]
        choices = list_at(node, "enum")
        properties += len(object_at(node, "properties"))
        values += len(choices)
        in_choices = sum(len(choice) for choice in choices if isinstance(choice, str))
        characters += sum(map(len, named)) + in_choices
        if len(choices) > _LONG_ENUM and in_choices > _LONG_ENUM_CHARACTERS:
            said.no("strict_enum_too_large", trail, f"enum of {in_choices} characters exceeds {_LONG_ENUM_CHARACTERS}")
        levels = 1 + sum(1 for step in trail if step == "properties")
        if "object" in _types(node) and levels > _MOST_LEVELS:
            said.no("strict_too_deep", trail, f"{levels} levels of nesting exceeds limit of {_MOST_LEVELS}")
    for count, most, what in (
        (properties, _MOST_PROPERTIES, "properties"),
        (characters, _MOST_CHARACTERS, "characters of names and enum values"),
        (values, _MOST_VALUES, "enum values"),
    ):
        if count > most:
            said.no("strict_too_large", (), f"{count} {what} exceeds limit of {most}")
