"""Shaping: what is moved where, what comes back, and what is never touched."""

import json

import pytest
from vendor_rules import faults

from callslip.schema.engine import SchemaError
from callslip.schema.shape.dialect import ANTHROPIC, COMPATIBLE, CONSTRAINED, GEMINI, MISTRAL, OPENAI
from callslip.schema.shape.shaped import Shaped, shape
from callslip.schema.shape.together import shape_together

pytestmark = pytest.mark.requirement("WIRE-03")


def closed(**properties):
    return {"type": "object", "properties": properties, "additionalProperties": False}


def of(schema, to=OPENAI, **how):
    """The shaped form of one property that is required."""
    shaped = shape({"type": "object", "properties": {"a": schema}, "required": ["a"]}, to, **how)
    assert faults(to.name, shaped.schema, shaped.strict) == []
    return shaped.schema["properties"]["a"]


class TestTheWayBack:
    SCHEMA = closed(a={"type": "string"}, b={"type": ["string", "null"]}, c=closed(d={"type": "integer"}))

    def test_null_is_left_out_only_where_it_is_no_value(self):
        shaped = shape(self.SCHEMA, OPENAI)
        assert shaped.undo({"a": None, "b": None, "c": {"d": None}}) == {"b": None, "c": {}}

    def test_null_for_what_is_required_is_left_for_validation(self):
        shaped = shape(self.SCHEMA | {"required": ["a"]}, OPENAI)
        assert shaped.undo({"a": None, "b": None, "c": None}) == {"a": None, "b": None}

    def test_in_lists_and_behind_references(self):
        node = closed(next={"$ref": "#/$defs/N"}, v={"type": "integer"})
        shaped = shape({**closed(all={"type": "array", "items": {"$ref": "#/$defs/N"}}), "$defs": {"N": node}}, OPENAI)
        assert shaped.strict
        deep = {"v": 1, "next": {"v": None, "next": {"v": 2, "next": None}}}
        assert shaped.undo({"all": [deep, deep]}) == {"all": [{"v": 1, "next": {"next": {"v": 2}}}] * 2}

    def test_nothing_that_was_given_is_changed(self):
        arguments = {"a": None, "c": {"d": None}}
        shape(self.SCHEMA, OPENAI).undo(arguments)
        assert arguments == {"a": None, "c": {"d": None}}

    @pytest.mark.parametrize("to", [ANTHROPIC, GEMINI, COMPATIBLE])
    def test_without_strict_nulls_a_null_is_a_null(self, to):
        assert shape(self.SCHEMA, to).undo({"a": None}) == {"a": None}
        assert shape(self.SCHEMA, to).start is None

    def test_a_null_of_openapi_stands_for_left_out(self):
        shaped = shape(closed(a={"type": "string", "nullable": True}), GEMINI)
        assert shaped.schema["properties"]["a"] == {"type": ["string", "null"]}
        assert shaped.undo({"a": None}) == {}

    @pytest.mark.parametrize("arguments", [{}, {"a": [1, {"b": None}]}, {"x": {"y": {}}}, {"a": 1, "c": [None]}])
    def test_any_arguments_at_all_survive(self, arguments):
        for to in (OPENAI, ANTHROPIC, GEMINI):
            shaped = shape(self.SCHEMA, to)
            assert shaped.undo(shaped.redo(arguments)) == arguments

    def test_depth_is_no_danger(self):
        node = {"$ref": "#/$defs/N"}
        shaped = shape({**closed(n=node), "$defs": {"N": closed(n=node)}}, OPENAI)
        arguments: dict = {}
        for _ in range(5000):
            arguments = {"n": arguments}
        for way in (shaped.undo, shaped.redo):
            depth, value = 0, way(arguments)
            while value:
                depth, value = depth + 1, value["n"]
            assert depth == 5000

    def test_made_by_hand_it_changes_nothing(self):
        bare = Shaped(schema={}, strict=False, warnings=())
        assert bare.undo({"a": None}) == bare.redo({"a": None}) == {"a": None}


class TestKeys:
    SCHEMA = closed(**{"filter[id]": {"type": "string"}, "ok": {"type": "array", "items": closed(**{"$top": {}})}})

    def test_a_key_that_is_refused_gets_a_legible_alias(self):
        shaped = shape(self.SCHEMA, ANTHROPIC)
        wire, ok = shaped.schema["properties"]
        assert (wire[:11], len(wire), ok) == ("filter_id__", 23, "ok")
        assert shaped.undo({wire: "x"}) == {"filter[id]": "x"}
        assert shaped.redo({"filter[id]": "x"}) == {wire: "x"}

    def test_it_is_the_same_in_every_process(self):
        assert list(shape(self.SCHEMA, ANTHROPIC).schema["properties"]) == ["filter_id__mzoqahludpwe", "ok"]

    def test_inside_too(self):
        shaped = shape(self.SCHEMA, ANTHROPIC)
        arguments = {"ok": [{"$top": 1}, {}]}
        (item, _) = shaped.redo(arguments)["ok"]
        assert list(item) != ["$top"]
        assert shaped.undo(shaped.redo(arguments)) == arguments

    def test_required_goes_along(self):
        shaped = shape(self.SCHEMA | {"required": ["filter[id]"]}, ANTHROPIC)
        assert shaped.schema["required"] == [next(iter(shaped.schema["properties"]))]

    def test_two_keys_never_meet(self):
        alias = next(iter(shape(self.SCHEMA, ANTHROPIC).schema["properties"]))
        both = closed(**{"filter[id]": {}, alias: {}})
        shaped = shape(both, ANTHROPIC)
        assert len(shaped.schema["properties"]) == 2
        assert shaped.undo(shaped.redo({"filter[id]": 1, alias: 2})) == {"filter[id]": 1, alias: 2}

    def test_an_undeclared_key_that_looks_like_an_alias_is_its_own(self):
        shaped = shape({"properties": {"filter[id]": {}}}, ANTHROPIC)
        alias = next(iter(shaped.schema["properties"]))
        for arguments in ({"filter[id]": 1, alias: 2}, {alias: 2, "filter[id]": 1}):
            assert shaped.undo(shaped.redo(arguments)) == arguments

    @pytest.mark.parametrize("key", ["", "ключ", "k" * 65, "a b", "\ud800"])
    @pytest.mark.parametrize("to", [ANTHROPIC, GEMINI])
    def test_any_key_at_all(self, key, to):
        shaped = shape(json.loads(json.dumps(closed(**{key: {"type": "string"}}))), to)
        assert faults(to.name, shaped.schema, shaped.strict) == []
        assert shaped.undo(shaped.redo({key: "x"})) == {key: "x"}

    def test_where_any_key_goes_nothing_is_renamed(self):
        assert list(shape(self.SCHEMA, OPENAI).schema["properties"]) == ["filter[id]", "ok"]


class TestWhatIsSaidInWords:
    @pytest.mark.parametrize(
        ("schema", "words"),
        [
            ({"type": "integer", "minimum": 1, "default": 3}, "[minimum: 1; default: 3]"),
            ({"type": "string", "pattern": "^a+$", "description": "A word."}, 'A word. [pattern: "^a+$"]'),
            ({"type": "string", "format": "date", "title": "Day of arrival"}, 'Day of arrival [format: "date"]'),
            ({"type": "string", "not": {"const": "x"}}, '[not: {"const": "x"}]'),
            ({"type": "integer", "enum": [1, 2**53 + 1]}, "[one of: 1, 9007199254740993]"),
            ({"type": "integer", "maximum": 2**64}, "[maximum: 18446744073709551616]"),
            ({"type": "string", "x-internal": 1, "deprecated": True}, "[deprecated: true]"),
            ({"type": "string", "title": "A", "default": None}, None),
        ],
    )
    def test_strict(self, schema, words):
        shaped = of(schema)
        assert shaped.get("description") == words
        assert shaped.keys() <= {"type", "description"}

    def test_a_form_that_keeps_a_word_does_not_repeat_it(self):
        schema = {"type": "integer", "minimum": 1, "default": 3, "multipleOf": 2}
        assert of(schema, strict=False) == schema
        assert of(schema, GEMINI) == {"type": "integer", "minimum": 1, "description": "[default: 3; multipleOf: 2]"}
        assert of(schema, COMPATIBLE)["description"] == "[minimum: 1; default: 3; multipleOf: 2]"

    def test_a_bound_that_a_float_rounds_is_never_sent_as_a_number(self):
        shaped = of({"type": "integer", "maximum": 2**53 + 1}, strict=False)
        assert shaped == {"type": "integer", "description": "[maximum: 9007199254740993]"}

    def test_it_is_bounded(self):
        long = {"type": "string", "description": "d" * 10**5, "pattern": "p" * 10**5}
        assert len(of(long)["description"]) <= 3000
        many = closed(**{f"k{n}": long for n in range(100)})
        assert len(json.dumps(shape(many, OPENAI).schema)) < 150_000

    def test_conditions_between_properties(self):
        schema = closed(a={"type": "string"}, b={"type": "string"}) | {
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]
        }
        for to in (OPENAI, ANTHROPIC, GEMINI, MISTRAL, COMPATIBLE):
            assert shape(schema, to).schema["description"] == '[anyOf: [{"required": ["a"]}, {"required": ["b"]}]]'


class TestParts:
    def test_a_type_list_becomes_forms_of_one_type(self):
        schema = {"type": ["string", "array", "null"], "items": {"type": "integer"}, "maxItems": 2}
        assert of(schema, strict=False) == {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "maxItems": 2, "items": {"type": "integer"}},
                {"type": "null"},
            ]
        }

    def test_an_enum_of_mixed_types(self):
        assert of({"enum": ["a", 1, True, None]}) == {
            "anyOf": [
                {"type": "string", "enum": ["a"]},
                {"type": "integer", "enum": [1]},
                {"type": "boolean", "enum": [True]},
                {"type": "null"},
            ]
        }

    def test_gemini_has_enums_of_strings_only(self):
        assert of({"enum": ["a", "b", None]}, GEMINI) == {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]}  # fmt: skip
        assert of({"enum": [1, 2]}, GEMINI) == {"type": "integer", "description": "[one of: 1, 2]"}

    def test_const_is_an_enum_of_one(self):
        assert of({"const": "x"}) == {"type": "string", "enum": ["x"]}

    def test_all_of_is_merged(self):
        schema = {"allOf": [closed(a={"type": ["string", "null"]}), {"properties": {"a": {"type": "string"}}, "required": ["a"]}]}  # fmt: skip
        assert of(schema) == closed(a={"type": "string"}) | {"required": ["a"]}

    def test_what_stands_beside_a_union_goes_into_its_forms(self):
        schema = {"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"], "additionalProperties": False}
        first, second = of(schema | {"oneOf": [{"properties": {"x": {"type": "string"}}}, {"properties": {}}]})["anyOf"]
        assert list(first["properties"]) == ["x", "k"]
        assert list(second["properties"]) == ["k"]

    def test_a_property_that_nothing_is_valid_for_is_not_offered(self):
        assert list(shape(closed(a=False, b={"type": "string"}), OPENAI).schema["properties"]) == ["b"]

    @pytest.mark.parametrize(
        ("schema", "why"),
        [
            ({"type": "object"}, "a takes properties that aren't named"),
            ({"type": "object", "additionalProperties": {"type": "string"}}, "a takes properties that aren't named"),
            (
                {"type": "object", "properties": {}, "additionalProperties": True},
                "a takes properties beyond those named",
            ),
            (closed() | {"patternProperties": {"^x": {}}}, "a takes properties beyond those named"),
            ({"type": "object", "properties": {}, "required": ["b"]}, "a requires a property that it doesn't describe"),
            ({"type": "object", "properties": {}, "if": {}, "then": {}}, "a has properties that depend on others"),
            ({"type": "array"}, "a.[] takes values of any type"),
            ({}, "a takes values of any type"),
            ({"$ref": "#/nowhere"}, "a refers to #/nowhere, which can't be sent"),
            ({"$dynamicRef": "#x"}, "a refers to another schema at run time, which can't be sent"),
        ],
    )
    def test_what_makes_strict_impossible(self, schema, why):
        for to in (OPENAI, ANTHROPIC, MISTRAL, CONSTRAINED):
            shaped = shape(closed(a=schema), to)
            assert not shaped.strict
            assert any(why.replace("a.[]", 'a["[]"]') in one for one in shaped.warnings), shaped.warnings
            assert faults(to.name, shaped.schema, False) == []

    def test_in_old_drafts_a_reference_stands_alone(self):
        document = {
            "$schema": "http://json-schema.org/draft-07/schema#",
            **closed(a={"$ref": "#/definitions/P", "type": "integer", "description": "where"}),
            "definitions": {"P": {"type": "string"}},
        }
        assert shape(document, GEMINI).schema["properties"]["a"] == {"type": "string", "description": "where"}

    def test_anchors_and_the_root_s_own_address(self):
        document = closed(a={"$ref": "#p"}, b={"$ref": "https://x.example/s#/$defs/P"}) | {
            "$id": "https://x.example/s", "$defs": {"P": {"$anchor": "p", "type": "string"}},
        }  # fmt: skip
        assert shape(document, GEMINI).schema["properties"] == {"a": {"type": "string"}, "b": {"type": "string"}}

    def test_parts_of_one_name_are_told_apart(self):
        document = closed(a={"$ref": "#/$defs/x/P"}, b={"$ref": "#/$defs/y/P"}) | {
            "$defs": {"x": {"P": {"type": "string"}}, "y": {"P": {"type": "integer"}}}
        }
        assert shape(document, OPENAI).schema["$defs"] == {"P": {"type": "string"}, "P_2": {"type": "integer"}}


class TestStrict:
    SCHEMA = closed(a={"type": "string"})

    def test_it_is_on_unless_somebody_turns_it_off(self):
        for to in (OPENAI, ANTHROPIC, MISTRAL, CONSTRAINED):
            assert shape(self.SCHEMA, to).strict
            assert shape(self.SCHEMA, to, strict=True).strict
            off = shape(self.SCHEMA, to, strict=False)
            assert (off.strict, off.warnings) == (False, ())

    def test_where_there_is_none_only_wanting_it_warns(self):
        for to in (GEMINI, COMPATIBLE):
            assert shape(self.SCHEMA, to).warnings == ()
            assert shape(self.SCHEMA, to, strict=True).warnings == (f"strict is off: {to.name} has no such mode",)

    @pytest.mark.parametrize(
        ("schema", "why"),
        [
            (closed(**{f"k{n}": {"type": "string", "enum": [f"{n}.{m}" for m in range(101)]} for n in range(10)}), "1,020 enum values"),
            (closed(a={"type": "string", "enum": ["x" * 100 + str(n) for n in range(251)]}), "characters in one long enum"),
            (closed(**{"n" * 60_001: {"type": "string"}, "m" * 60_001: {"type": "string"}}), "characters in names"),
        ],
    )  # fmt: skip
    def test_openai_s_limits(self, schema, why):
        (warning,) = shape(schema, OPENAI).warnings
        assert why in warning

    def test_openai_s_depth(self):
        def nested(levels):
            schema = {"type": "string"}
            for _ in range(levels):
                schema = closed(a=schema)
            return schema

        assert shape(nested(10), OPENAI).strict
        assert shape(nested(11), OPENAI).warnings == (
            "strict is off: the schema has 11 levels of nesting, and the limit is 10",
        )

    def test_anthropic_s_limits(self):
        assert shape(closed(**{f"k{n}": {"type": "string"} for n in range(24)}), ANTHROPIC).strict
        assert not shape(closed(**{f"k{n}": {"type": "string"} for n in range(25)}), ANTHROPIC).strict
        union = closed(**{f"k{n}": {"type": ["string", "null"]} for n in range(17)}) | {"required": [f"k{n}" for n in range(17)]}  # fmt: skip
        assert "17 properties with several types" in shape(union, ANTHROPIC).warnings[0]


class TestTogether:
    def test_strict_tools_share_what_a_request_may_hold(self):
        half = closed(**{f"k{n}": {"type": "string"} for n in range(12)})
        three = shape_together([half] * 3, ANTHROPIC)
        assert [one.strict for one in three] == [True, True, False]
        assert "36 optional properties" in three[2].warnings[0]
        assert [one.strict for one in shape_together([half] * 3, OPENAI)] == [True] * 3

    def test_one_too_large_leaves_room_for_those_after_it(self):
        large, small = (closed(**{f"k{n}": {"type": "string"} for n in range(count)}) for count in (20, 4))
        assert [one.strict for one in shape_together([large, large, small], ANTHROPIC)] == [True, False, True]

    def test_twenty_tools(self):
        assert sum(one.strict for one in shape_together([closed()] * 25, ANTHROPIC)) == 20


class TestTheSameBytes:
    SCHEMA = closed(b={"type": "string"}, a={"$ref": "#/$defs/P"}) | {"$defs": {"P": {"enum": ["y", "x"]}}}

    def test_the_order_is_the_author_s(self):
        assert list(shape(self.SCHEMA, OPENAI).schema["properties"]) == ["b", "a"]

    def test_nothing_is_shared(self):
        first = shape(self.SCHEMA, OPENAI)
        before = json.dumps(first.schema)
        first.schema["properties"].clear()
        assert json.dumps(shape(self.SCHEMA, OPENAI).schema) == before
        assert self.SCHEMA["properties"]["a"] == {"$ref": "#/$defs/P"}

    def test_a_changed_schema_is_another_schema(self):
        schema = closed(a={"type": "string"})
        shape(schema, OPENAI)
        schema["properties"]["a"]["type"] = "integer"
        assert shape(schema, OPENAI).schema["properties"]["a"] == {"type": ["integer", "null"]}


class TestNoSchemaAtAll:
    @pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"$ref": "#"}, {"allOf": [{}]}, {"anyOf": [{}, {}]}])
    def test_an_object_of_anything(self, schema):
        for to in (OPENAI, ANTHROPIC, GEMINI, MISTRAL, COMPATIBLE, CONSTRAINED):
            shaped = shape(schema, to)
            assert shaped.schema["properties"] == {}
            assert faults(to.name, shaped.schema, shaped.strict) == []

    @pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "objekt"}, {"enum": [1]}, {"allOf": [False]}])
    def test_what_no_object_is_valid_by(self, schema):
        assert "accepts no object" in shape(schema, COMPATIBLE).warnings[0]

    @pytest.mark.parametrize("odd", [{"properties": 1}, {"required": "a"}, {"anyOf": 3}, {"enum": {}}, {"type": 5},
                                     {"properties": {"a": 7}}, {"items": "x"}, {"$ref": 3}, {"allOf": {"a": 1}},
                                     {"description": 4, "title": []}, {"patternProperties": []}])  # fmt: skip
    def test_nonsense_never_crashes(self, odd):
        for to in (OPENAI, ANTHROPIC, GEMINI, COMPATIBLE):
            for schema in (odd, closed(a=odd)):
                shaped = shape(schema, to)
                assert faults(to.name, shaped.schema, shaped.strict) == []

    def test_what_is_not_json_is_refused(self):
        for schema in ({"default": {1, 2}}, {"minimum": float("nan")}):
            with pytest.raises(SchemaError, match="not JSON"):
                shape(schema, OPENAI)
