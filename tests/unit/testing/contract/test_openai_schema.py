"""OpenAI's rules for schemas: each has a schema that breaks it, and one beside it that does not."""

from __future__ import annotations

import pytest

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.openai_schema import SOURCES, check_schema

ANY = {"type": "object", "properties": {}}


def of(inner, **more):
    """A strict schema with one property."""
    return {
        "type": "object",
        "properties": {"a": inner},
        "required": ["a"],
        "additionalProperties": False,
        **more,
    }


def deep(levels):
    inner = {"type": "string"}
    for _ in range(levels):
        inner = of(inner)
    return inner


def many(properties):
    names = [f"p{number}" for number in range(properties)]
    return {**of({}), "properties": {name: {"type": "string"} for name in names}, "required": names}


NODE = {"type": ["object", "null"], **{key: value for key, value in of({"$ref": "#"}).items() if key != "type"}}
CHOICES = [f"{number:060}" for number in range(251)]
# rule, whether strict, a schema that breaks it, one that does not
CASES = [
    ("schema_not_object", False, {"type": "string"}, ANY),
    ("schema_not_object", False, {"properties": {}}, ANY),
    ("schema_not_object", False, [], ANY),
    ("schema_root_union", False, {**ANY, "anyOf": [ANY]}, {**ANY, "properties": {"a": {"anyOf": [ANY]}}}),
    ("schema_without_properties", False, {"type": "object"}, ANY),
    ("schema_array_without_items", False, of({"type": "array"}), of({"type": "array", "items": {}})),
    ("schema_type_unknown", False, of({"type": "objekt"}), of({"type": "integer"})),
    ("schema_type_unknown", False, of({"type": [{}]}), of({"type": ["integer", "null"]})),
    ("strict_additional_properties", True, of(ANY), of({**ANY, "additionalProperties": False})),
    ("strict_required", True, {**of({"type": "string"}), "required": []}, of({"type": "string"})),
    ("strict_required", True, of({"type": "string"}, required=["a", "b"]), of({"type": "string"})),
    ("strict_keyword", True, of({"type": "string", "minLength": 1}), of({"type": "string", "pattern": "^a"})),
    ("strict_keyword", True, of({"type": "integer", "default": 3}), of({"type": "integer", "minimum": 3})),
    ("strict_keyword", True, of({"oneOf": [{"type": "string"}]}), of({"anyOf": [{"type": "string"}]})),
    ("strict_format", True, of({"type": "string", "format": "uri"}), of({"type": "string", "format": "email"})),
    ("strict_ref", True, of({"$ref": "#/properties/b"}), of({"$ref": "#/$defs/B"}, **{"$defs": {"B": NODE}})),
    ("strict_ref", True, of({"$ref": "#/$defs/C"}, **{"$defs": {"B": NODE}}), of(NODE)),
    ("strict_ref", True, of({"$ref": "https://example.com/s.json"}), of({"$ref": "#"})),
    (
        "strict_ref_siblings",
        True,
        of({"$ref": "#/$defs/B", "description": "x"}, **{"$defs": {"B": NODE}}),
        of({"$ref": "#/$defs/B"}, description="x", **{"$defs": {"B": NODE}}),
    ),
    ("strict_without_type", True, of({"enum": ["a"]}), of({"type": "string", "enum": ["a"]})),
    ("strict_boolean_schema", True, of(True), of({"type": "boolean"})),
    ("strict_too_large", True, many(5001), many(5000)),
    ("strict_too_large", True, of({"type": "integer", "enum": list(range(1001))}), of({"type": "integer"})),
    ("strict_too_large", True, of({"type": "string", "const": "a"}, **{"$defs": {"x" * 120_000: NODE}}), deep(2)),
    ("strict_too_deep", True, deep(11), deep(10)),
    (
        "strict_enum_too_large",
        True,
        of({"type": "string", "enum": CHOICES}),
        of({"type": "string", "enum": CHOICES[:250]}),
    ),
]


def rules(schema, *, strict):
    found = Findings(SOURCES)
    check_schema(schema, name="pay", strict=strict, path="tools[0].function.parameters", found=found)
    return [violation.rule for violation in found.violations]


@pytest.mark.parametrize(("rule", "strict", "wrong", "right"), CASES, ids=[f"{n}-{c[0]}" for n, c in enumerate(CASES)])
def test_a_rule_is_broken_by_one_schema_and_kept_by_the_next(rule, strict, wrong, right):
    assert rule in rules(wrong, strict=strict)
    assert rules(right, strict=strict) == []


@pytest.mark.parametrize(("rule", "strict", "wrong"), [case[:3] for case in CASES if case[1]])
def test_what_only_strict_forbids_is_free_without_it(rule, strict, wrong):
    assert rule not in rules(wrong, strict=False)


def test_every_rule_has_a_case():
    assert {case[0] for case in CASES} == set(SOURCES)


def test_the_message_says_where_in_the_schema():
    found = Findings(SOURCES)
    check_schema(of({"type": "array"}), name="pay", strict=False, path="tools[0].parameters", found=found)
    (violation,) = found.violations
    assert violation.message == (
        "Invalid schema for function 'pay': In context=('properties', 'a'), array schema missing items."
    )
    assert violation.path == "tools[0].parameters"
