"""Generated schemas and arguments: no vendor's rule is broken, and no valid call is forbidden or changed on the way."""

import json

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from vendor_rules import faults, filled

from callslip.schema.shape import dialect
from callslip.schema.shape.shaped import shape
from callslip.schema.validate import SchemaError, compile_schema

pytestmark = pytest.mark.requirement("WIRE-03")

DIALECTS = [
    dialect.OPENAI, dialect.ANTHROPIC, dialect.GEMINI, dialect.MISTRAL, dialect.COMPATIBLE, dialect.CONSTRAINED,
]  # fmt: skip
QUIET = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
KEYS = ["a", "b", "id", "type", "filter[id]", "filter_id_", "$top", "a b", "", "ключ", "k" * 70, "1st", "x-y"]
PLAIN = st.sampled_from(["x", "y", "", 0, 1, -1, 2.5, True, False, None, 2**53 + 1, 10**30, [], {}, [1], {"a": 1}])
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]


def part(draw, depth):
    """A schema, odd but valid."""
    pick = draw(st.integers(0, 17 if depth else 8))
    if pick == 0:
        return draw(st.sampled_from([True, {}, {"description": "Anything."}, {"type": ["string", "null"]}, False]))
    if pick == 1:
        return {"enum": draw(st.lists(PLAIN, min_size=1, max_size=4, unique_by=json.dumps))}
    if pick == 2:
        return {"const": draw(PLAIN)}
    if pick == 3:
        return {"type": "string", **draw(st.sampled_from([
            {}, {"pattern": "^[xy]*$"}, {"format": "date"}, {"minLength": 1, "default": "x"}, {"nullable": True},
            {"enum": ["x", "y"]}, {"enum": ["x", None, 3]}, {"title": "A title", "maxLength": 10**20},
        ]))}  # fmt: skip
    if pick == 4:
        return {"type": draw(st.sampled_from(["integer", "number"])), **draw(st.sampled_from([
            {}, {"minimum": 0}, {"exclusiveMaximum": 10**20}, {"multipleOf": 1, "default": 1}, {"enum": [1, 2, 2**60]},
        ]))}  # fmt: skip
    if pick == 5:
        return {"type": draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4, unique=True))}
    if pick in (6, 7):
        return {"$ref": draw(st.sampled_from(["#/$defs/D0", "#/$defs/D1", "#/$defs/D2", "#"]))} | draw(
            st.sampled_from([{}, {}, {"description": "where"}, {"type": "object"}, {"nullable": True}])
        )
    if pick == 8:
        return {"type": draw(st.sampled_from(TYPES))}
    if pick in (9, 10, 11):
        return an_object(draw, depth - 1)
    if pick == 12:
        items = draw(st.sampled_from(["items", "prefixItems", "both"]))
        listed = {"prefixItems": [part(draw, depth - 1) for _ in range(2)]} if items != "items" else {}
        every = {"items": part(draw, depth - 1)} if items != "prefixItems" else {}
        return {"type": "array"} | listed | every | draw(st.sampled_from([{}, {"maxItems": 2}, {"uniqueItems": True}]))
    if pick in (13, 14):
        word = draw(st.sampled_from(["anyOf", "oneOf", "allOf"]))
        beside = draw(st.sampled_from([{}, {"description": "one of"}, {"type": "object"}, {"nullable": True}]))
        return {word: [part(draw, depth - 1) for _ in range(draw(st.integers(1, 3)))]} | beside
    if pick == 15:
        return an_object(draw, depth - 1) | {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    if pick == 16:
        return an_object(draw, depth - 1) | {draw(st.sampled_from(["anyOf", "allOf"])): [an_object(draw, depth - 1)]}
    inner = part(draw, depth - 1)
    return {"not": {"type": "null"}} | (inner if isinstance(inner, dict) else {})


def an_object(draw, depth):
    names = draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
    schema = {"type": "object", "properties": {name: part(draw, depth) for name in names}}
    required = [name for name in names if draw(st.booleans())]
    if required:
        schema["required"] = required
    extra = draw(st.sampled_from([None, None, False, True, "schema", "pattern", "then", "dependent", "undeclared"]))
    if extra in (True, False):
        schema["additionalProperties"] = extra
    if extra == "schema":
        schema["additionalProperties"] = part(draw, depth)
    if extra == "pattern":
        schema |= {"patternProperties": {"^p": {"type": "string"}}, "additionalProperties": False}
    if extra == "then":
        schema |= {"if": {"required": ["a"]}, "then": {"properties": {"c": {"type": "string"}}, "required": ["c"]}}
    if extra == "dependent":
        schema["dependentRequired"] = {"a": ["b"]}
    if extra == "undeclared":
        schema["required"] = [*required, "elsewhere"]
    return schema


@st.composite
def documents(draw):
    root = draw(st.sampled_from(["object", "object", "object", "union", "part"]))
    if root == "union":
        document = {draw(st.sampled_from(["anyOf", "oneOf", "allOf"])): [an_object(draw, 2), an_object(draw, 2)]}
        document |= draw(st.sampled_from([{}, {"type": "object"}, {"properties": {"b": {"type": "string"}}}]))
    elif root == "part":
        document = part(draw, 3)
        document = document if isinstance(document, dict) else {}
    else:
        document = an_object(draw, 3)
    return {**document, "$defs": {f"D{n}": part(draw, 2) for n in range(3)}}


def instance(draw, document, schema, depth=0):
    """A value that is meant to be valid; canonical validation has the last word.

    It holds no property that isn't declared, but where the schema says that there may be others.
    """
    if not isinstance(schema, dict) or depth > 6:
        return draw(PLAIN) if depth <= 6 else None
    if "$ref" in schema:
        target = document if schema["$ref"] == "#" else document["$defs"][schema["$ref"].rpartition("/")[2]]
        return instance(draw, document, target, depth + 1)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            form = draw(st.sampled_from(schema[word]))
            rest = {key: value for key, value in schema.items() if key != word}
            both = [instance(draw, document, one, depth + 1) for one in (form, rest)]
            return {**both[1], **both[0]} if all(isinstance(one, dict) for one in both) else both[0]
    if "allOf" in schema:
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        every = [instance(draw, document, one, depth + 1) for one in [*schema["allOf"], rest]]
        whole = [one for one in every if isinstance(one, dict)]
        return {key: value for one in whole for key, value in one.items()} if whole else every[0]
    if "const" in schema or "enum" in schema:
        return draw(st.sampled_from([schema["const"]] if "const" in schema else schema["enum"]))
    kind = schema.get("type", "object" if "properties" in schema else draw(st.sampled_from(TYPES)))
    kind = draw(st.sampled_from(kind)) if isinstance(kind, list) else kind
    if kind == "object":
        return an_instance(draw, document, schema, depth)
    if kind == "array":
        places = [*schema.get("prefixItems", ()), *([schema["items"]] if "items" in schema else [])]
        return [instance(draw, document, place, depth + 1) for place in places[: draw(st.integers(0, 3))]]
    return draw({
        "string": st.sampled_from(["x", "y", "", "2026-02-28"]),
        "integer": st.sampled_from([0, 1, 2, -5, 2**60, 3.0]),
        "number": st.sampled_from([0, 1.5, 1, 2]),
        "boolean": st.booleans(),
        "null": st.none(),
    }[kind])  # fmt: skip


def an_instance(draw, document, schema, depth):
    made = {}
    for name, inner in schema.get("properties", {}).items():
        if name in schema.get("required", ()) or draw(st.booleans()):
            made[name] = instance(draw, document, inner, depth + 1)
    rest = schema.get("additionalProperties")
    if rest not in (None, False) and draw(st.booleans()):
        made["extra"] = instance(draw, document, rest, depth + 1)
    if "elsewhere" in schema.get("required", ()):
        made["elsewhere"] = 1
    return made


def valid(schema, value):
    return compile_schema(schema).errors(value) == ()


def bound(document):
    """Whether registration takes it; a generated `{"$ref": "#"}` beside a union may not compile."""
    try:
        compile_schema(document)
    except SchemaError:
        return False
    return True


@QUIET
@given(documents(), st.data())
@pytest.mark.parametrize("strict", [None, False])
@pytest.mark.parametrize("chosen", DIALECTS, ids=lambda one: one.name)
def test_no_rule_is_broken_and_no_valid_call_is_forbidden(chosen, strict, document, data):
    before = json.dumps(document)
    shaped = shape(document, chosen, strict=strict)
    assert json.dumps(document) == before
    assert faults(chosen.name, shaped.schema, shaped.strict) == []
    assert bound(shaped.schema)
    if not bound(document):
        return
    arguments = instance(data.draw, document, document)
    # Valid, and by properties that some form declares: others are not offered, as the docstring of `node` says.
    if isinstance(arguments, dict) and valid(document | {"unevaluatedProperties": False}, arguments):
        sent = shaped.redo(arguments)
        assert json.dumps(shaped.undo(sent)) == json.dumps(arguments)
        given_ = filled(shaped.schema, sent, valid) if shaped.strict else sent
        assert valid(shaped.schema, given_), (shaped.schema, given_)
        assert valid(document, shaped.undo(given_)), (shaped.schema, given_, shaped.undo(given_))
    offered = instance(data.draw, shaped.schema, shaped.schema)
    if isinstance(offered, dict):
        assert all(error.message for error in compile_schema(document).errors(shaped.undo(offered)))
        json.dumps(shaped.redo(offered))
