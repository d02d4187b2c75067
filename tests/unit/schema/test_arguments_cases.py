"""What models really send, judged by parsing and validation alone: no repair, no coercion, no normaliser."""

import pytest

from callslip.schema.explain import explain
from callslip.schema.parse import Parsed, ParseFailure, parse_arguments
from callslip.schema.validate import compile_schema


def closed(required, **properties):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


WEATHER = closed(
    ["city"],
    city={"type": "string"},
    unit={"type": "string", "enum": ["celsius", "fahrenheit"]},
    days={"type": "integer", "minimum": 1, "maximum": 14},
    detailed={"type": "boolean"},
)
STAY = closed(["check_in", "nights"], check_in={"type": "string", "format": "date"}, nights={"type": "integer"})
NUMBERED = closed(["id"], id={"type": "integer"})
COUNTED = closed(["a"], a={"type": "integer"})
TAGGED = closed(["tags"], tags={"type": "array", "items": {"type": "string"}})
MEASURED = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
PATH = closed(["path"], path={"type": "string"})
QUERY = closed(["sql"], sql={"type": "string"})
COMMAND = {
    "type": "object",
    "properties": {"cmd": {"anyOf": [{"type": "object"}, {"type": "string"}]}},
    "required": ["cmd"],
}

ACCEPTED = {
    "empty text, no parameters": (closed([]), "", {}, ("empty",)),
    "null, no parameters": (closed([]), "null", {}, ("empty",)),
    "an object, not text": (WEATHER, {"city": "Oslo"}, {"city": "Oslo"}, ()),
    "3.0 is an integer": (WEATHER, '{"city":"Oslo","days":3.0}', {"city": "Oslo", "days": 3}, ()),
    "beyond 64 bits": (NUMBERED, '{"id":12345678901234567890123}', {"id": 12345678901234567890123}, ()),
    "a string that could be an object": (COMMAND, '{"cmd":"{\\"a\\": 1}"}', {"cmd": '{"a": 1}'}, ()),
    "half a character": (WEATHER, '{"city": "Os\\ud800lo"}', {"city": "Os\ufffdlo"}, ("unicode",)),
}

WRONG_FIELDS = {
    "empty text, a required field": (WEATHER, "", ["city"]),
    "a word for a number": (WEATHER, '{"city":"Oslo","days":"five"}', ["days"]),
    "a number in quotes, out of range": (WEATHER, '{"city":"Oslo","days":"50"}', ["days"]),
    "true is not 1": (WEATHER, '{"city":"Oslo","days":true}', ["days"]),
    "yes is not true": (WEATHER, '{"city":"Oslo","detailed":"yes"}', ["detailed"]),
    "no such unit": (WEATHER, '{"city":"Oslo","unit":"kelvin"}', ["unit"]),
    "null for a required field": (WEATHER, '{"city":null}', ["city"]),
    "no such field": (WEATHER, '{"city":"Oslo","detail":true}', ["detail"]),
    "one value for a list": (TAGGED, '{"tags":"x"}', ["tags"]),
    "a date in words": (STAY, '{"check_in":"tomorrow","nights":2}', ["check_in"]),
    "no such day": (STAY, '{"check_in":"2026-02-30","nights":2}', ["check_in"]),
    "Python's digit groups": (NUMBERED, '{"id": "1_000"}', ["id"]),
    "an Arabic digit": (NUMBERED, '{"id": "\\u0665"}', ["id"]),
    "a plus sign": (NUMBERED, '{"id": "+5"}', ["id"]),
    "a leading zero in quotes": (NUMBERED, '{"id": "05"}', ["id"]),
}

REFUSED = {
    "a cut string": ('{"city": "Os', "truncated", ""),
    "a cut number": ('{"a": 12', "truncated", ""),
    "two objects": ('{"a": 1}{"a": 2}', "concatenated", ""),
    "a key twice": ('{"a": 1, "a": 2}', "duplicate_key", ""),
    "not a number": ('{"x": NaN}', "not_finite", "x"),
    "too large for a float": ('{"x": 1e400}', "number_overflow", "x"),
    "a leading zero": ('{"a": 007}', "leading_zero", ""),
    "a Windows path": ('{"path": "C:\\Users\\new"}', "invalid_escape", ""),
    "quotes in quotes": ('{"sql": "select "a" from t"}', "syntax", ""),
    "3,000 levels": ('{"x":' + "[" * 3000 + "]" * 3000 + "}", "too_deep", ""),
    "prose around": ('Sure! Here it is: {"city": "Oslo"} Hope that helps.', "syntax", ""),
    "a code fence": ('```json\n{"city": "Oslo"}\n```', "syntax", ""),
    "5,000 digits": ('{"id":' + "9" * 5000 + "}", "integer_too_long", "id"),
    "keys that become one": ('{"a\\ud800":1,"a\\ud801":2}', "key_collision", "a\ufffd"),
}


@pytest.mark.requirement("ARGS-01")
@pytest.mark.parametrize(("schema", "raw", "value", "changed"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(schema, raw, value, changed):
    parsed = parse_arguments(raw, has_parameters=bool(schema["properties"]))
    assert parsed == Parsed(value=value, changed=changed)
    assert compile_schema(schema).errors(parsed.value) == ()


@pytest.mark.requirement("ARGS-03")
@pytest.mark.parametrize(("schema", "raw", "fields"), WRONG_FIELDS.values(), ids=WRONG_FIELDS)
def test_wrong_fields_are_named(schema, raw, fields):
    parsed = parse_arguments(raw, has_parameters=True)
    assert isinstance(parsed, Parsed)
    errors = compile_schema(schema).errors(parsed.value)
    assert [error.path for error in errors] == fields
    assert fields[0] in explain("some_tool", errors)


@pytest.mark.requirement("ARGS-01")
@pytest.mark.parametrize(("raw", "code", "path"), REFUSED.values(), ids=REFUSED)
def test_refused_without_a_guess(raw, code, path):
    failure = parse_arguments(raw, has_parameters=True)
    assert isinstance(failure, ParseFailure)
    assert (failure.code, failure.path) == (code, path)


@pytest.mark.requirement("ARGS-03")
def test_the_sentence_says_how_to_mend_it():
    def sentence(name, table=WRONG_FIELDS):
        schema, raw, _ = table[name]
        return explain("some_tool", compile_schema(schema).errors(parse_arguments(raw, has_parameters=True).value))

    assert '"celsius", "fahrenheit"' in sentence("no such unit")
    assert "did you mean detailed?" in sentence("no such field")
    assert "ISO 8601 date" in sentence("a date in words")
    assert "of type integer" in sentence("true is not 1")
