"""Full JSON Schema, bounded errors, nothing fetched, nothing slow."""

import http.server
import json
import re
import threading
import time

import msgspec
import pytest
from hypothesis import example, given, settings, strategies as st

from callslip.schema.engine import GUARDED_LENGTH
from callslip.schema.validate import FieldError, SchemaError, compile_schema

EMAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
BIG = 2**70


def closed(**properties):
    return {"type": "object", "properties": properties, "additionalProperties": False}


def only(schema, value):
    errors = compile_schema(schema).errors(value)
    assert len(errors) == 1, errors
    return errors[0]


@pytest.mark.requirement("ARGS-03")
@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (closed(a={"type": "integer"}), {"a": "x"}, ("a", "type", '"x"', ("integer",), "must be of type integer")),
        ({"type": ["string", "null"]}, 1, ("", "type", "1", ("null", "string"), "must be null or of type string")),
        ({"enum": ["a", 1, None]}, 2, ("", "enum", "2", ('"a"', "1", "null"), 'must be one of "a", 1, null')),
        ({"const": 5}, 4, ("", "const", "4", ("5",), "must be 5")),
        (closed(n={"minimum": 1}), {"n": 0}, ("n", "minimum", "0", ("1",), "must be at least 1")),
        (
            closed(n={"exclusiveMaximum": 1}),
            {"n": 1},
            ("n", "exclusiveMaximum", "1", ("1",), "must be less than 1"),
        ),
        ({"maxLength": 2}, "abc", ("", "maxLength", '"abc"', ("2",), "must have at most 2 characters")),
        ({"pattern": "^a$"}, "b", ("", "pattern", '"b"', ("^a$",), "must match the pattern ^a$")),
        ({"items": {"type": "string"}}, ["a", 1], ("[1]", "type", "1", ("string",), "must be of type string")),
        (
            {"format": "date"},
            "2026-02-30",
            ("", "format", '"2026-02-30"', ("date",), "must be an ISO 8601 date such as 2026-02-28"),
        ),
        ({"uniqueItems": True}, [1, 1], ("", "uniqueItems", "[1, 1]", (), "must not hold the same item twice")),
        (
            closed(a={"type": "string"}),
            {"b": 1},
            ("b", "additionalProperties", "1", ("a",), "is not a known property"),
        ),
        (
            {"properties": {"o": {"required": ["x.y"], "properties": {"x.y": {"type": "string"}}}}},
            {"o": {}},
            ('o["x.y"]', "required", "", ("string",), "is required but missing"),
        ),
    ],
)
def test_an_error_names_field_rule_value_and_what_is_allowed(schema, value, expected):
    assert msgspec.structs.astuple(only(schema, value)) == expected


def test_known_properties_are_found_behind_references():
    schema = {
        "$defs": {"A": closed(city={"type": "string"})},
        "properties": {"l": {"items": {"$ref": "#/$defs/A"}}},
    }
    error = only(schema, {"l": [{}, {"town": 1}]})
    assert (error.path, error.allowed) == ("l[1].town", ("city",))


def test_the_nearest_of_very_many_known_properties_is_listed():
    schema = closed(**{f"p{number}": {} for number in range(200)}, zebra_name={})
    assert "zebra_name" in only(schema, {"zebra_nam": 1}).allowed


def test_every_unknown_property_is_an_error_of_its_own():
    assert [error.path for error in compile_schema(closed()).errors({"b": 1, "a": 2})] == ["a", "b"]


def test_a_mistyped_value_gets_one_error_not_two():
    assert only(closed(u={"type": "string", "enum": ["a"]}), {"u": None}).rule == "type"


def test_a_fault_that_two_parts_of_a_schema_find_is_told_once():
    twice = {"allOf": [{"type": "string"}, {"type": "string"}], "type": "string"}
    assert only(closed(u=twice), {"u": 1}).rule == "type"


@pytest.mark.requirement("ARGS-03")
def test_where_no_form_was_meant_each_is_told_by_what_it_lacks():
    either = {"anyOf": [{"required": ["mail"]}, {"required": ["phone"]}]}
    assert only(either, {}).message.endswith(": mail is required but missing; or phone is required but missing")
    tags = {"oneOf": [{"properties": {"kind": {"const": kind}}, "required": ["kind"]} for kind in "abcdefg"]}
    found = only(closed(v=tags), {"v": {"kind": "z"}})
    assert 'v.kind must be "d"; or …' in found.message
    assert found.allowed == (), "a and b are no forms of v itself"
    assert only(closed(v={"anyOf": [{"type": "integer"}, {"type": "null"}]}), {"v": "x"}).message.endswith("forms")


def test_an_optional_value_is_judged_by_the_form_that_was_meant():
    schema = closed(n={"anyOf": [{"type": "integer", "maximum": 14}, {"type": "null"}]})
    assert (only(schema, {"n": 50}).rule, only(schema, {"n": 50}).path) == ("maximum", "n")
    assert (only(schema, {"n": "x"}).rule, only(schema, {"n": "x"}).allowed) == ("anyOf", ("integer", "null"))


def test_a_tag_picks_the_form():
    forms = [
        {"properties": {"kind": {"const": "a"}, "v": {"type": "integer"}}, "required": ["kind", "v"]},
        {"properties": {"kind": {"const": "b"}}, "required": ["kind"]},
    ]
    assert only({"oneOf": forms}, {"kind": "a"}).path == "v"


@pytest.mark.requirement("ARGS-03")
@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"type": "integer"}, 3.0, True),
        ({"type": "integer"}, 3.5, False),
        ({"type": "integer"}, True, False),
        ({"enum": [1]}, True, False),
        ({"type": "integer"}, 10**999, True),
        ({"maximum": 10}, 10**999, False),
        ({"minimum": BIG}, BIG - 1, False),
        ({"minimum": BIG}, BIG, True),
        ({"enum": [BIG]}, BIG + 1, False),
        ({"enum": [BIG]}, BIG, True),
        ({"multipleOf": 3}, 3 * BIG, True),
        ({"uniqueItems": True}, [BIG, BIG + 1], True),
        ({"format": "date-time"}, "2026-02-28T09:30:00Z", True),
        ({"format": "date-time"}, "2026-02-28 at nine", False),
        ({"format": "no-such-format"}, "x", True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}, [1], False),
        ({"prefixItems": [{"type": "string"}]}, [1], False),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, False),
        (True, {"a": 1}, True),
        (False, {"a": 1}, False),
    ],
)
def test_verdicts(schema, value, valid):
    assert (compile_schema(schema).errors(value) == ()) is valid


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), ""),
        ({"a": [1, float("inf")]}, "a[1]"),
        ({"a": 10**5000}, "a"),
        ("\ud800", ""),
        (b"x", ""),
        ({1: 2}, ""),
    ],
)
def test_what_json_cannot_hold_is_never_valid(value, path):
    error = only(True, value)
    assert (error.rule, error.path) == ("json", path)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
@settings(max_examples=50)
@example(7.064615146613541e16)
@example(0.1)
def test_bounds_hold_exactly_at_the_bound(number):
    assert compile_schema({"minimum": number, "maximum": number, "enum": [number]}).errors(number) == ()


def test_a_value_inside_itself_is_refused():
    loop = []
    loop.append(loop)
    assert only(True, loop).rule == "json"


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "text"}, ['"text"', "type", "string"]),
        ({"properties": {"a": {"minimum": "x"}}}, ["properties.a.minimum", "number"]),
        ({"properties": {"a": {"pattern": "("}}}, ["properties.a.pattern", '"("']),
        ({"$ref": "http://example.test/a.json"}, ["http://example.test/a.json", "$defs"]),
        ({"$ref": "file:///etc/hostname"}, ["file:///etc/hostname", "ever fetched"]),
        ({"$defs": {"a": {"$ref": "https://example.test/b"}}}, ["https://example.test/b"]),
        ({"$ref": "other.json"}, ["other.json"]),
        ({"$ref": "#/$defs/none"}, ["/$defs/none"]),
        ({"$schema": "http://example.test/own"}, ["http://example.test/own", "$schema"]),
        ({"patternProperties": {"(?=a)": {}}}, ["(?=a)"]),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "pattern": "(?=a)"}, ["draft 7"]),
        ({"enum": [float("nan")]}, ["not JSON"]),
        ({"enum": ["\ud800"]}, ["not JSON"]),
        ({"enum": {1, 2}}, ["not JSON"]),
        ([], ["list"]),
    ],
)
def test_an_unusable_schema_says_where_and_why(schema, told):
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    for part in told:
        assert part in str(caught.value)


def test_a_file_that_could_be_read_is_not(tmp_path):
    target = tmp_path / "target.json"
    target.write_text("{}")
    with pytest.raises(SchemaError, match="nothing is ever fetched"):
        compile_schema({"$ref": target.as_uri()})


def test_a_server_that_would_answer_is_not_asked():
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *parts): ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            with pytest.raises(SchemaError, match="nothing is ever fetched"):
                compile_schema({"$ref": f"http://127.0.0.1:{server.server_port}/x"})
        finally:
            server.shutdown()
    assert asked == []


def test_a_schema_nested_without_end_is_refused():
    schema = {}
    for _ in range(5000):
        schema = {"items": schema}
    with pytest.raises(SchemaError, match="nested"):
        compile_schema(schema)


def test_look_ahead_patterns_work_on_short_text_and_are_bounded_on_long():
    schema = closed(mail={"type": "string", "pattern": EMAIL}, plain={"pattern": "^a+$"})
    validator = compile_schema(schema)
    assert validator.errors({"mail": "a.b@example.test", "plain": "a" * 5000}) == ()
    assert only(schema, {"mail": "a..b@example.test"}).rule == "pattern"
    assert only(schema, {"mail": "a" * (GUARDED_LENGTH + 1)}).rule == "maxLength"
    assert schema["properties"]["mail"] == {"type": "string", "pattern": EMAIL}


@pytest.mark.parametrize(
    "pattern",
    [r"^(a+)+$", r"(a|a)*b", r"(?=.*x)y", r"^(a*)*\1(a*)*\2b$", r"a.{0,1000}c", r".*.*.*.*=.*"],
)
def test_hostile_patterns_cost_little(pattern):
    validator = compile_schema({"pattern": pattern})
    start = time.process_time()
    for size in (GUARDED_LENGTH, 200_000):
        assert validator.errors("a" * size + "!")
    assert time.process_time() - start < 0.5


def test_errors_are_bounded_in_number_size_and_time():
    validator = compile_schema({"items": {"type": "string"}, "additionalProperties": False})
    start = time.process_time()
    assert 1 <= len(validator.errors([{"k" * 1000: "v" * 1000}] * 4000)) <= 100
    assert 1 <= len(validator.errors(list(range(200_000)))) <= 100
    assert 1 <= len(validator.errors({f"key {number}" * 100: "x" * 1000 for number in range(3000)})) <= 100
    assert time.process_time() - start < 2
    longest = validator.errors({"k" * 10_000: {"v": "x" * 10_000}})[0]
    assert all(len(text) <= 200 for text in (longest.path, longest.got, longest.message, *longest.allowed))


def test_the_valid_path_is_fast():
    validator = compile_schema(closed(city={"type": "string"}, unit={"enum": ["c", "f"]}, days={"type": "integer"}))
    value = {"city": "Oslo", "unit": "c", "days": 3}
    durations = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(1000):
            validator.errors(value)
        durations.append((time.process_time() - start) / 1000)
    assert min(durations) < 20e-6


def test_equal_schemas_are_compiled_once_and_later_changes_do_no_harm():
    schema = {"type": "object", "required": ["a"]}
    validator = compile_schema(schema)
    assert compile_schema({"required": ["a"], "type": "object"}) is validator
    schema["required"].append("b")
    assert validator.errors({"a": 1}) == ()
    assert compile_schema(schema) is not validator


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=40)
@given(JSON, JSON)
@example(7.064615146613541e16, 0.1)
@example(1, 1.5)
def test_any_two_values_are_told_apart_by_const(one, other):
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert compile_schema({"const": one}).errors(one) == ()
    for error in () if same else compile_schema({"const": one}).errors(other):
        assert isinstance(error, FieldError)
        assert not re.search(r"[\n\r]", error.message)


def test_of_a_value_that_could_fail_in_very_many_ways_only_the_first_is_told():
    branches = [{"properties": {"kind": {"const": number}}, "required": ["kind"]} for number in range(100)]
    wide = compile_schema({"type": "array", "items": {"anyOf": branches}})
    assert len(wide.errors([{}] * 49)) == 49
    assert len(wide.errors([{}] * 60)) == 1
    constants = compile_schema({"type": "array", "items": {"enum": list(range(10_000))}})
    assert len(constants.errors(["x"] * 29)) == 29
    assert len(constants.errors(["x"] * 31)) == 1


def test_whether_anything_is_wrong_can_be_asked_alone():
    counted = compile_schema({"properties": {"a": {"type": "integer"}}})
    assert counted.accepts({"a": 1})
    assert not any(counted.accepts({"a": bad}) for bad in ("1", float("nan"), 10**2000, "\ud800", {1, 2}))
