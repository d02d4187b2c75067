"""Hostile schemas: the work is counted, not timed, so a slow machine says nothing and a costly walk does.

Two passes of the walk come to less than 200,000 calls, some 100 ms of CPU on a slow machine.
"""

import json
import sys

import pytest
from vendor_rules import faults

from callslip.schema.shape import dialect
from callslip.schema.shape.shaped import shape

pytestmark = pytest.mark.requirement("WIRE-03")

MOST_CALLS = 180_000
DIALECTS = [dialect.OPENAI, dialect.ANTHROPIC, dialect.COMPATIBLE, dialect.CONSTRAINED]
"""References kept, the same with keys renamed, inlined with recursion, and without."""


def obj(**properties):
    return {"type": "object", "properties": properties}


def laughs(part):
    """Forty definitions, each of which holds the next one twice: 2**40 when it is written out."""
    names = {f"L{n}": part({"$ref": f"#/$defs/L{n + 1}"}) for n in range(40)}
    return {**obj(a={"$ref": "#/$defs/L0"}), "$defs": names | {"L40": obj(x={"type": "string"})}}


def deep(levels, wrap):
    schema: dict = {"type": "string"}
    for _ in range(levels):
        schema = wrap(schema)
    return schema


def chain(length):
    names = {f"L{n}": {"$ref": f"#/$defs/L{n + 1}"} for n in range(length)} | {f"L{length}": {"type": "string"}}
    return {**obj(**{f"p{n}": {"$ref": f"#/$defs/L{n}"} for n in range(length)}), "$defs": names}


def told(reference, text):
    return reference | {"description": text}


MESH = {f"D{n}": obj(**{f"p{m}": {"$ref": f"#/$defs/D{m}"} for m in range(40)}) for n in range(40)}
HOSTILE = {
    "billion laughs": laughs(lambda one: obj(x=one, y=one)),
    "laughs with siblings": laughs(lambda one: obj(x=told(one, "x"), y=told(one, "y"))),
    "laughs of allOf": laughs(lambda one: {"allOf": [one, one]}),
    "laughs of anyOf": laughs(lambda one: {"anyOf": [told(one, "x"), told(one, "y")]}),
    "laughs of null": laughs(lambda one: {"anyOf": [{"allOf": [one]}] * 6}),
    "laughs at the root": {**laughs(lambda one: {"oneOf": [one, one]}), "$ref": "#/$defs/L0"},
    "everything holds everything": {**obj(a={"$ref": "#/$defs/D0"}), "$defs": MESH},
    "wide": obj(**{f"p{n}": {"type": "string"} for n in range(20_000)}),
    "many constants": obj(a={"anyOf": [{"const": n} for n in range(20_000)]}),
    "many forms": {"oneOf": [obj(**{f"p{n}": {"const": n}}) for n in range(20_000)]},
    "wide forms": {"oneOf": [obj(**{f"p{n}_{m}": {"const": m} for m in range(200)}) for n in range(60)]},
    "forms beside a wide object": obj(
        a=obj(**{f"p{n}": {} for n in range(1000)}) | {"anyOf": [{"properties": {f"q{n}": {}}} for n in range(1000)]}
    ),
    "many parts of one": obj(a={"allOf": [obj(**{f"p{n}": {}}) for n in range(5000)]}),
    "parts of parts": obj(a={"allOf": [{"properties": {"x": {"allOf": [obj(y={})] * 50}}}] * 50}),
    "deep objects": deep(300, lambda inner: obj(a=inner)),
    "deep arrays": obj(a=deep(300, lambda inner: {"type": "array", "items": inner})),
    "deep allOf": deep(300, lambda inner: {"allOf": [inner]}),
    "deep anyOf": obj(a=deep(200, lambda inner: {"anyOf": [inner, {"type": "null"}]})),
    "deeper than Python reads": deep(100_000, lambda inner: obj(a=inner)),
    "a property that is itself": obj(a={"$ref": "#/properties/a"}),
    "two that are each other": obj(a={"$ref": "#/properties/b"}, b={"$ref": "#/properties/a"}),
    "a root that is itself": {"$ref": "#"},
    "chains of references": chain(500),
    "many definitions": {
        **obj(**{f"a{n}": {"$ref": f"#/$defs/D{n}"} for n in range(3000)}),
        "$defs": {f"D{n}": obj(b={"type": "string"}) for n in range(3000)},
    },
    "definitions of one name": {
        **obj(**{f"a{n}": {"$ref": f"#/$defs/g{n}/X"} for n in range(2000)}),
        "$defs": {f"g{n}": {"X": {"type": "string"}} for n in range(2000)},
    },
    "a long enum": obj(a={"enum": [f"value {n}" for n in range(20_000)]}),
    "enums to compare": obj(a={"allOf": [{"enum": [f"value {n}" for n in range(1000)]} for _ in range(200)]}),
    "many required": obj(a={"type": "object", "required": [f"r{n}" for n in range(20_000)]}),
    "odd keys": obj(**{f"k[{n}]": {"type": "string"} for n in range(2000)}),
    "long patterns": obj(**{f"k{n}": {"type": "string", "pattern": "(a+)+$" * 50} for n in range(1000)}),
}


def calls_of(function):
    """The Python calls that a call makes, and what it returns."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        result = function()
    finally:
        sys.setprofile(None)
    return calls, result


@pytest.mark.untraced
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("to", DIALECTS, ids=lambda one: one.name)
def test_no_schema_costs_much_or_grows_large(to, name):
    calls, shaped = calls_of(lambda: shape(HOSTILE[name], to))
    assert calls < MOST_CALLS
    assert len(json.dumps(shaped.schema)) < 150_000
    assert faults(to.name, shaped.schema, shaped.strict) == []


@pytest.mark.parametrize("name", ["wide", "billion laughs", "deep objects", "many forms"])
def test_what_is_cut_is_said_and_forbids_nothing(name):
    shaped = shape(HOSTILE[name], dialect.GEMINI)
    assert any("larger or deeper" in one or "more forms" in one for one in shaped.warnings)
    assert "additionalProperties" not in shaped.schema
