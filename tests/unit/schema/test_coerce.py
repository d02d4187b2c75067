"""Values are brought to their schema's types where nothing is lost, and in no other case."""

from __future__ import annotations

import copy

import pytest

from callslip.schema.change import MOST_TOLD, Change, told
from callslip.schema.coerce import MOST_BRANCHES, MOST_PLACES, Coercer
from callslip.schema.validate import compile_schema

pytestmark = pytest.mark.requirement("ARGS-02")


def coerced(schema, value):
    given = copy.deepcopy(value)
    result = Coercer(schema, compile_schema(schema)).coerce(value)
    assert value == given, "the given value was changed in place"
    assert bool(result.changes) == (result.value != given), "every change is told, and nothing else"
    assert not (result.changes and result.errors)
    return result


def field(schema, value, **root):
    """What becomes of one optional field; the root may hold `$defs`."""
    result = coerced({"type": "object", "properties": {"v": schema}, **root}, {"v": value})
    return result.value.get("v", "dropped") if not result.errors else "refused"


INTEGER, NUMBER, BOOLEAN = {"type": "integer"}, {"type": "number"}, {"type": "boolean"}


@pytest.mark.parametrize(
    ("schema", "value", "made"),
    [
        (INTEGER, "5", 5), (INTEGER, "-17", -17), (INTEGER, "0", 0), (INTEGER, "-0", 0), (INTEGER, "\n5 ", 5),
        (INTEGER, "9" * 1000, int("9" * 1000)),
        (NUMBER, "5", 5), (NUMBER, "0.1", 0.1), (NUMBER, "-2.50", -2.5), (NUMBER, "1e5", 100000.0),
        (BOOLEAN, "true", True), (BOOLEAN, " False", False),
        ({"type": ["integer", "null"]}, "5", 5), ({"type": "array"}, " [1]", [1]), ({"type": "object"}, '{"a":1}', {"a": 1}),
        ({"enum": ["a", "B"]}, "b ", "B"), ({"const": "x"}, " X", "x"), ({"enum": [1, 2]}, "2", 2),
        ({"enum": [True]}, "true", True), ({"enum": ["On", "on"]}, " on", "on"),
        ({"type": "integer", "enum": [1, 2]}, "1", 1),
        ({"type": "array", "items": INTEGER}, ["1", 2], [1, 2]),
        ({"type": "array", "items": INTEGER}, '["1"]', [1]),
        ({"prefixItems": [INTEGER], "items": BOOLEAN}, ["1", "true"], [1, True]),
        ({"additionalProperties": INTEGER}, {"x": "1"}, {"x": 1}),
        ({"allOf": [INTEGER, {"minimum": 1}]}, "5", 5),
        ({"type": "object", "properties": {"x": BOOLEAN}}, {"x": None}, {}),
    ],
)  # fmt: skip
def test_nothing_is_lost(schema, value, made):
    result = field(schema, value)
    assert result == made
    assert type(result) is type(made)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        *((INTEGER, text) for text in ("", "five", "+5", "05", "1_000", "5.0", "1e3", "٥", "0x5", "9" * 1001, "true", "null")),
        (INTEGER, True), (INTEGER, 5.5), (INTEGER, [5]),
        *((NUMBER, text) for text in ("0.1000000000000000055511151231257827", "1e999", "1e-999", "NaN", "Infinity", ".5", "5.")),
        *((BOOLEAN, one) for one in ("yes", "1", "", 1, 0)),
        ({"type": "array", "items": INTEGER}, "1"), ({"type": "array"}, {"a": 1}), ({"type": "array"}, "[1"),
        ({"type": "array"}, "{'a'}"), ({"type": "array"}, '{"a": 1}'), ({"type": "object"}, '{"a":1,"a":2}'),
        ({"type": "object"}, '"{\\"a\\": 1}"'), ({"type": "array"}, '[1],"x":[2]'), ({"type": "array"}, '["\\ud800"]'),
        ({"type": "string"}, 5), ({"type": "string"}, ["x"]),
        ({"enum": ["On", "on"]}, "ON"), ({"enum": ["a"]}, "b"), ({"enum": ["strasse"]}, "straße"), ({"enum": [1]}, "true"),
        ({"enum": [1, "1 "]}, " 1x"), ({"enum": [True]}, 1), ({"type": "integer", "maximum": 4}, "5"),
        # A container inside an unfolded one is one level too deep.
        ({"type": "array", "items": {"type": "array"}}, '["[1]"]'),
    ],
)  # fmt: skip
def test_a_guess_or_a_loss_is_refused(schema, value):
    assert field(schema, value) == "refused"


class TestNull:
    def test_of_a_required_field_stays(self):
        for root in ({"required": ["v"]}, {"allOf": [{"required": ["v"]}]}):
            (error,) = coerced({"properties": {"v": INTEGER}, **root}, {"v": None}).errors
            assert (error.path, error.rule, error.got) == ("v", "type", "null")

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": ["string", "null"]},
            {"anyOf": [INTEGER, {"type": "null"}]},
            {},
            {"enum": [1, None]},
            {"$ref": "#/$defs/n"},
        ],
    )
    def test_that_is_allowed_stays(self, schema):
        root = {"properties": {"v": schema, "w": INTEGER}, "$defs": {"n": {"type": "null"}}}
        assert coerced(root, {"v": None, "w": "1"}).value == {"v": None, "w": 1}

    @pytest.mark.parametrize("schema", [{"anyOf": [INTEGER, BOOLEAN]}, {"enum": [1]}, {"$ref": "#/$defs/n"}])
    def test_that_is_not_allowed_is_dropped(self, schema):
        assert field(schema, None, **{"$defs": {"n": INTEGER}}) == "dropped"

    def test_of_a_field_that_is_not_declared_stays(self):
        assert coerced({"properties": {}, "additionalProperties": INTEGER}, {"v": None}).errors


class TestUnions:
    def test_what_is_valid_by_one_branch_is_left(self):
        root = {"properties": {"v": {"anyOf": [{"type": "object"}, INTEGER, {"type": "string"}]}, "w": INTEGER}}
        assert coerced(root, {"v": '{"a": 1}', "w": "1"}).value == {"v": '{"a": 1}', "w": 1}

    @pytest.mark.parametrize("key", ["anyOf", "oneOf"])
    def test_one_branch_that_can_be_meant_is_taken(self, key):
        assert field({key: [INTEGER, {"type": "null"}]}, "5") == 5
        assert field({key: [INTEGER, BOOLEAN]}, "true") is True

    def test_of_two_that_can_be_meant_none_is(self):
        on = {"enum": ["on"]}
        assert field({"anyOf": [on, {"enum": ["ON"]}]}, "On") == "refused"
        assert field({"anyOf": [INTEGER, NUMBER]}, "5") == 5  # both read the same

    def test_the_branch_that_a_constant_names(self):
        kinds = [
            {"properties": {"kind": {"const": name}, "n": {"type": kind}}, "required": ["kind", "n"]}
            for name, kind in (("a", "integer"), ("b", "boolean"))
        ]
        assert field({"anyOf": kinds}, {"kind": "a", "n": "5"}) == {"kind": "a", "n": 5}
        assert field({"anyOf": kinds}, {"kind": "b", "n": "5"}) == "refused"

    def test_references_lead_where_they_did(self):
        tree = {
            "type": "object",
            "properties": {"n": INTEGER, "next": {"anyOf": [{"$ref": "#/$defs/tree~1x"}, {"type": "null"}]}},
        }
        root = {
            "$id": "https://example.com/s",
            "properties": {"t": {"$ref": "#/$defs/tree~1x"}},
            "$defs": {"tree/x": tree},
        }
        given = {"t": {"n": "1", "next": {"n": "2", "next": None}}}
        assert coerced(root, given).value == {"t": {"n": 1, "next": {"n": 2, "next": None}}}


class TestWhatStaysInvalid:
    def test_is_given_back_untouched(self):
        root = {"properties": {"a": INTEGER, "b": INTEGER}}
        result = coerced(root, {"a": "1", "b": "x"})
        assert result.value == {"a": "1", "b": "x"}
        assert [error.path for error in result.errors] == ["b"]

    def test_is_not_blamed_for_what_coercion_did(self):
        root = {"properties": {"a": INTEGER, "b": BOOLEAN}, "minProperties": 2}
        result = coerced(root, {"a": 1, "b": None})
        assert [(error.path, error.rule) for error in result.errors] == [("b", "type")]

    def test_no_default_is_put_in(self):
        root = {"properties": {"a": {"type": "integer", "default": 3}}, "required": ["a"]}
        assert coerced(root, {}).errors
        assert coerced(root | {"required": []}, {"a": None}).value == {}

    def test_a_schema_with_an_id_of_its_own_inside_is_not_read(self):
        assert field({"$id": "https://example.com/other", "type": "integer"}, "5") == "refused"


class TestBounds:
    def test_a_large_value_is_left(self):
        root = {"properties": {"v": {"type": "array", "items": INTEGER}}}
        assert not coerced(root, {"v": ["1"] * (MOST_PLACES // 2)}).errors
        assert coerced(root, {"v": ["1"] * MOST_PLACES}).errors

    def test_schemas_that_refer_to_themselves_end(self):
        for loop in ({"$ref": "#"}, {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, {"allOf": [{"$ref": "#/allOf/0"}]}):
            root = {"properties": {"v": INTEGER, "w": {"anyOf": [loop, loop]}}, "minProperties": 1}
            Coercer(root, compile_schema({"properties": {"v": INTEGER}})).coerce(
                {"v": "x", "w": {"v": "1", "w": {"v": None}}}
            )

    def test_a_union_of_many_branches_is_left(self):
        many = [{"type": "integer", "minimum": n} for n in range(MOST_BRANCHES + 1)]
        assert field({"anyOf": many[:5]}, "5") == 5
        assert field({"anyOf": many}, "5") == "refused"


def test_changes_are_told_shortly_and_not_without_end():
    one = Change(path=("a", 0, "b.c"), before="x" * 1000, after={"y": "z" * 1000})
    (line,) = told([one])
    assert line.startswith('a[0]["b.c"]: "xxx')
    assert len(line) < 120
    assert told([Change(path=(), before="{}", after={})]) == ('the arguments object: "{}" → {}',)
    assert told([one] * (MOST_TOLD + 2))[-1] == "and 2 more"
    assert told([one, Change(path=("token", "x"), before="s", after="t")], {"a", "token"}) == (
        'a[0]["b.c"]: changed',
        "token.x: changed",
    )
