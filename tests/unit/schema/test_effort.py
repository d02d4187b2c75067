"""How much work a schema would make is told before it is made; what is ordinary is judged as ever."""

from __future__ import annotations

import json

import pytest

from callslip.schema.effort import MANY, MOST_FAULTS, Effort
from callslip.schema.engine import SchemaError
from callslip.schema.validate import compile_schema

pytestmark = pytest.mark.requirement("ARGS-03")

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def doubling(to, **root):
    """Thirty schemas, each twice the next: a billion looks at one value."""
    steps = {f"s{n}": {"anyOf": [to(n + 1), to(n + 1)], "$anchor": f"s{n}"} for n in range(30)}
    return {"$defs": steps | {"s30": {"$anchor": "s30", "type": "integer"}}, **root, "allOf": [to(0)]}


@pytest.mark.parametrize(
    "schema",
    [
        doubling(lambda n: {"$ref": f"#/$defs/s{n}"}),
        doubling(lambda n: {"$ref": f"#s{n}"}),
        doubling(lambda n: {"$ref": f"#/%24defs/s{n}"}),
        doubling(lambda n: {"$ref": f"urn:a:b#/$defs/s{n}"}, **{"$id": "urn:a:b"}),
        doubling(lambda n: {"$ref": f"urn:a:b#s{n}"}, **{"$id": "urn:a:b"}),
        doubling(lambda n: {"$ref": f"b#/$defs/s{n}"}, **{"$id": "https://here.example/a/b"}),
        doubling(lambda n: {"$dynamicRef": f"#s{n}"}),
        doubling(lambda n: {"not": {"$ref": f"#/$defs/s{n}"}}),
        doubling(lambda n: {"if": {"$ref": f"#/$defs/s{n}"}, "then": {"$ref": f"#/$defs/s{n}"}}),
        doubling(lambda n: {"properties": {"x": {"$ref": f"#/$defs/s{n}"}}}),
        doubling(lambda n: {"patternProperties": {"x": {"$ref": f"#/$defs/s{n}"}}}),
        doubling(lambda n: {"additionalProperties": {"$ref": f"#/$defs/s{n}"}}),
        doubling(lambda n: {"unevaluatedProperties": {"$ref": f"#/$defs/s{n}"}}),
        doubling(lambda n: {"items": {"$ref": f"#/$defs/s{n}"}}),
        doubling(lambda n: {"prefixItems": [{"$ref": f"#/$defs/s{n}"}]}),
        doubling(lambda n: {"contains": {"$ref": f"#/$defs/s{n}"}}),
        doubling(lambda n: {"dependentSchemas": {"x": {"$ref": f"#/$defs/s{n}"}}}),
        doubling(lambda n: {"dependencies": {"x": {"$ref": f"#/$defs/s{n}"}}}, **{"$schema": DRAFT_7}),
    ],
    ids=range(18),
)
def test_a_schema_that_doubles_thirty_times_is_refused_at_once(schema):
    with pytest.raises(SchemaError, match="branches into more forms"):
        compile_schema(schema)


TWICE = {"type": "object", "properties": {"x": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}


def deep(levels, last="x"):
    return json.loads('{"x":' * levels + json.dumps(last) + "}" * levels)


def test_a_schema_that_doubles_at_each_level_judges_and_does_not_tell_where():
    validator = compile_schema(TWICE)
    assert validator.errors(deep(4))[0].rule == "anyOf"
    (error,) = validator.errors(deep(12))
    assert (error.path, error.rule) == ("", "schema")
    assert validator.accepts(deep(60, {}))
    assert not validator.accepts(deep(60))


def test_each_way_to_look_at_a_part_is_counted():
    one = Effort({"type": "integer"})
    assert (one.branching, one.of(5, 0)) == (1, (1, 0))
    assert Effort({"anyOf": [{}, {}, {}]}).of(5, 0) == (4, 3)
    assert Effort({"items": {"anyOf": [{}, {}]}}).of([1, 2, {}], 3)[0] == 1 + 3 * 3
    assert Effort({"prefixItems": [{}, {}], "items": {"allOf": [{}, {}]}}).of([1, 2, 3], 3)[0] == 1 + 2 + 3
    assert Effort({"required": ["a", "b", "c"]}).of({}, 0)[0] == 3
    assert Effort({"dependentRequired": {"a": ["b"], "c": ["d", "e"]}}).of({}, 0)[0] == 3
    assert (
        Effort({"properties": {"a": {}}, "additionalProperties": {"allOf": [{}]}}).of({"a": 1, "b": 2}, 2)[0]
        == 1 + 1 + 2
    )
    assert Effort({"patternProperties": {"a": {}, "b": {}}}).of({"a": 1}, 1)[0] == 3
    assert Effort({"propertyNames": {"maxLength": 1}}).of({"ab": 1, "cd": 2}, 2)[0] == 3
    assert Effort({"enum": list(range(600))}).of(5, 0)[0] == 11
    assert Effort(TWICE).of(deep(60), 60)[0] == MANY


def test_a_fault_of_a_large_value_costs_more():
    names = Effort({"propertyNames": {"maxLength": 1}})
    few, many = ({f"name{n}": n for n in range(count)} for count in (60, 2000))
    assert names.of(few, 60)[0] < MOST_FAULTS < names.of(many, 2000)[0]
    assert len(compile_schema({"propertyNames": {"maxLength": 1}}).errors(few)) == 1


def test_what_is_too_large_for_so_wide_a_schema_is_not_judged():
    steps = {f"s{n}": {"anyOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(14)} | {"s14": {"type": "integer"}}
    validator = compile_schema({"items": {"$ref": "#/$defs/s0"}, "$defs": steps})
    assert validator.accepts([1] * 50)
    (error,) = validator.errors([1] * 200)
    assert (error.path, error.rule) == ("", "size")
    assert not validator.accepts([1] * 200)


def test_a_wide_schema_judges_what_meets_little_of_it():
    kinds = [{"properties": {"kind": {"const": n}, f"in{n}": {"$ref": "#/$defs/a"}}} for n in range(60)]
    deeper = [{"properties": {"kind": {"const": n}, f"in{n}": {"$ref": "#/$defs/b"}}} for n in range(60)]
    last = [{"properties": {"kind": {"const": n}, "text": {"type": "string"}}} for n in range(60)]
    schema = {"anyOf": kinds, "$defs": {"a": {"anyOf": deeper}, "b": {"anyOf": last}}}
    value = {"kind": 3, "in3": {"kind": 4, "in4": {"kind": 5, "text": "x"}, "more": list(range(100))}}
    validator = compile_schema(schema)
    assert validator.most_parts < 50
    assert validator.accepts(value)
    assert not validator.accepts(value | {"in3": {"kind": 61}})


def test_an_ordinary_schema_that_holds_itself_is_judged_field_by_field():
    either = [
        {"properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/f"}}}, "required": ["and"]},
        {"properties": {"not": {"$ref": "#/$defs/f"}}, "required": ["not"]},
        {"properties": {"field": {"type": "string"}, "is": {"type": "integer"}}, "required": ["field", "is"]},
    ]
    validator = compile_schema({"properties": {"f": {"$ref": "#/$defs/f"}}, "$defs": {"f": {"anyOf": either}}})
    leaf = {"field": "a", "is": 1}
    tree = leaf
    for _ in range(12):
        tree = {"and": [{"not": tree}, leaf]}
    assert validator.errors({"f": tree}) == ()
    (error,) = validator.errors({"f": {"and": [leaf, {"field": "a", "is": "x"}]}})
    assert (error.path, error.rule) == ("f", "anyOf")


def test_what_leads_nowhere_and_what_leads_in_a_circle_is_counted_too():
    assert Effort({"$ref": "https://json-schema.org/draft/2020-12/schema"}).branching == 2
    assert Effort({"$ref": "#"}).of(1, 0)[0] == 1
    assert Effort({"$ref": "#/properties/none/0"}).branching == 2
    chain = {f"s{n}": {"$ref": f"#/$defs/s{n + 1}"} for n in range(3000)}
    endless = Effort({"$defs": chain, "$ref": "#/$defs/s0"})
    assert (endless.branching, endless.of(1, 0)) == (MANY, (MANY, MANY))
    assert Effort(True).branching == 1
