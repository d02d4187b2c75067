"""What a schema may hold where Anthropic decodes by it: tools with ``strict``, and ``output_config.format``.

Anthropic docs, "Structured outputs > JSON Schema limitations", as of 2026-11. Not checked: the size of the grammar that
the vendor compiles of it, whose limit is nowhere stated (github.com/alphaXiv/agents/pull/49).
"""

from __future__ import annotations

from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import object_at, text_at

_LIMITS = "Anthropic docs, Structured outputs > JSON Schema limitations"
SOURCES = {
    "strict_open_object": _LIMITS,
    "strict_keyword": _LIMITS,
    "strict_enum": _LIMITS,
    "strict_format": _LIMITS,
    "strict_reference": _LIMITS,
    "strict_recursion": _LIMITS,
    "strict_too_many_tools": "Anthropic docs, Structured outputs > Schema complexity limits",
    "strict_too_many_optional": "Anthropic docs, Structured outputs > Schema complexity limits",
    "strict_too_many_unions": "Anthropic docs, Structured outputs > Schema complexity limits",
}
_REFUSED = frozenset(
    [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "maxItems",
        "uniqueItems",
        "contains",
        "minProperties",
        "maxProperties",
        "patternProperties",
        "propertyNames",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "prefixItems",
        "unevaluatedProperties",
        "unevaluatedItems",
    ]
)
_FORMATS = frozenset(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"])
_TOOLS, _OPTIONAL, _UNIONS = 20, 24, 16
_DEEPEST = 64


class _Counts:
    optional = 0
    unions = 0


def check_strict(tools: list[Any], found: Findings) -> None:
    """Look at every strict tool, and at what they ask for together."""
    strict = [
        (place, tool) for place, tool in enumerate(tools) if isinstance(tool, dict) and tool.get("strict") is True
    ]
    counts = _Counts()
    for place, tool in strict:
        schema = tool.get("input_schema")
        if isinstance(schema, dict):
            _check(schema, f"tools[{place}].input_schema", schema, counts, found)
    for rule, count, most, words in (
        ("strict_too_many_tools", len(strict), _TOOLS, "strict tools"),
        ("strict_too_many_optional", counts.optional, _OPTIONAL, "optional parameters in strict tools"),
        ("strict_too_many_unions", counts.unions, _UNIONS, "parameters with union types in strict tools"),
    ):
        if count > most:
            found.add(rule, "tools", f"Schemas contain too many {words} ({count}). The limit is {most}.")


def check_output(schema: dict[str, Any], path: str, found: Findings) -> None:
    """Look at the schema of a structured answer."""
    _check(schema, path, schema, _Counts(), found)


def _check(node: Any, path: str, root: dict[str, Any], counts: _Counts, found: Findings, depth: int = 0) -> None:
    if not isinstance(node, dict) or depth > _DEEPEST:
        return
    for keyword in node:
        if keyword in _REFUSED or (keyword == "minItems" and node[keyword] not in (0, 1)):
            found.add("strict_keyword", path, f"For this type, property '{keyword}' is not supported")
    if isinstance(node.get("enum"), list) and any(isinstance(value, dict | list) for value in node["enum"]):
        found.add("strict_enum", path, "Complex types within enums are not supported")
    if "format" in node and text_at(node, "format") not in _FORMATS:
        found.add("strict_format", path, f"String format '{node['format']}' is not supported")
    if isinstance(node.get("type"), list) or "anyOf" in node:
        counts.unions += 1
    _check_reference(node, path, root, found)
    _check_object(node, path, counts, found)
    for name, inner in _inside(node):
        _check(inner, f"{path}.{name}", root, counts, found, depth + 1)


def _check_object(node: dict[str, Any], path: str, counts: _Counts, found: Findings) -> None:
    properties = object_at(node, "properties")
    kind = node.get("type")
    if kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in node:
        if node.get("additionalProperties") is not False:
            found.add(
                "strict_open_object", path, "For 'object' type, 'additionalProperties' must be explicitly set to false"
            )
        required = node.get("required")
        demanded = required if isinstance(required, list) else []
        counts.optional += sum(name not in demanded for name in properties)


def _check_reference(node: dict[str, Any], path: str, root: dict[str, Any], found: Findings) -> None:
    target = node.get("$ref")
    if target is None:
        return
    if not isinstance(target, str) or not target.startswith("#/"):
        found.add("strict_reference", path, "External $ref is not supported")
    elif _reaches(target, target, root, set()):
        found.add("strict_recursion", path, f"Recursive schemas are not supported: '{target}' refers to itself")


def _reaches(start: str, wanted: str, root: dict[str, Any], seen: set[str]) -> bool:
    for target in _references(_resolve(start, root)):
        if target == wanted or (target not in seen and _reaches(target, wanted, root, seen | {target})):
            return True
    return False


def _references(node: Any) -> set[str]:
    targets: set[str] = set()
    waiting = [node]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                targets.add(value["$ref"])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return targets


def _resolve(target: str, root: dict[str, Any]) -> Any:
    value: Any = root
    for step in target.removeprefix("#/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _inside(node: dict[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for holder in ("properties", "$defs", "definitions"):
        if isinstance(node.get(holder), dict):
            found += [(f"{holder}.{name}", inner) for name, inner in node[holder].items()]
    if isinstance(node.get("items"), dict):
        found.append(("items", node["items"]))
    for holder in ("anyOf", "allOf"):
        if isinstance(node.get(holder), list):
            found += [(f"{holder}[{place}]", inner) for place, inner in enumerate(node[holder])]
    return found
