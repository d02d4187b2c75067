"""What models really send, from raw text to what is executed: every case through the whole of argument reading.

Rebuilt from public bug reports. Each row: schema, raw text, risk; then what is accepted with what is recorded of it, or
the code and fields that are refused.
"""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest

from callslip import tool
from callslip.core import canon
from callslip.core.result import Status
from callslip.gate.arguments import read_arguments
from callslip.gate.catalogue import Catalogue
from callslip.gate.refusal import Refusal
from callslip.schema.normalise import Moment


def closed(required, **properties):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


NOTHING = closed([])
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
OSLO = {"city": "Oslo"}
FENCED = '```json\n{"city": "Oslo"}\n```'
PROSE = 'Sure! Here it is: {"city": "Oslo"} Hope that helps.'
LATE_EVENING_UTC = datetime.datetime(2026, 2, 27, 23, 30, tzinfo=datetime.UTC)
MOMENT = Moment(at=int(LATE_EVENING_UTC.timestamp() * 1000), zone=ZoneInfo("Europe/Oslo"))
"""Half past midnight of 28 February there."""


def read(schema, raw, *, risk="read", normalise=None, exact=False, moment=MOMENT):
    @tool(name="some_tool", risk=risk, input_schema=schema, normalise=normalise)
    def some_tool() -> None: ...

    return read_arguments(raw, Catalogue([some_tool])["some_tool"], moment, exact=exact)


ACCEPTED = {
    "no text, no parameters": (NOTHING, "", {}, ["empty"]),
    "null, no parameters": (NOTHING, "null", {}, ["empty"]),
    "an object, not text": (WEATHER, OSLO, OSLO, []),
    "a number in quotes": (WEATHER, '{"city":"Oslo","days":"5"}', OSLO | {"days": 5}, ['days: "5" → 5']),
    "3.0 is an integer": (WEATHER, '{"city":"Oslo","days":3.0}', OSLO | {"days": 3}, []),
    "true in quotes": (WEATHER, '{"city":"Oslo","detailed":"true"}', OSLO | {"detailed": True}, ['detailed: "true" → true']),
    "white space at a constant": (WEATHER, '{"city":"Oslo","unit":"fahrenheit "}', OSLO | {"unit": "fahrenheit"}, ['unit: "fahrenheit " → "fahrenheit"']),
    "a constant in another case": (WEATHER, '{"city":"Oslo","unit":"Celsius"}', OSLO | {"unit": "celsius"}, ['unit: "Celsius" → "celsius"']),
    "null for what was left out": (WEATHER, '{"city":"Oslo","unit":null}', OSLO, ["unit: removed (was null)"]),
    "19 digits in quotes": (NUMBERED, '{"id":"1234567890123456789"}', {"id": 1234567890123456789}, ['id: "1234567890123456789" → 1234567890123456789']),
    "beyond 64 bits": (NUMBERED, '{"id":12345678901234567890123}', {"id": 12345678901234567890123}, []),
    "white space around a number": (NUMBERED, '{"id":" 5 "}', {"id": 5}, ['id: " 5 " → 5']),
    "an array in a string": (TAGGED, '{"tags":"[\\"x\\",\\"y\\"]"}', {"tags": ["x", "y"]}, ['tags: "[\\"x\\",\\"y\\"]" → ["x", "y"]']),
    "all of it in a string": (WEATHER, '"{\\"city\\":\\"Oslo\\"}"', OSLO, ["double_encoded"]),
    "a string that could be an object": (COMMAND, '{"cmd":"{\\"a\\": 1}"}', {"cmd": '{"a": 1}'}, []),
    "a code fence": (WEATHER, FENCED, OSLO, ["fence"]),
    "a trailing comma": (WEATHER, '{"city": "Oslo",}', OSLO, ["trailing_comma"]),
    "Python's way to write it": (WEATHER, "{'city': 'Oslo', 'detailed': True}", OSLO | {"detailed": True}, ["python_literal"]),
    "half a character": (WEATHER, '{"city": "Os\\ud800lo"}', {"city": "Os\ufffdlo"}, ["unicode"]),
    "prose around": (WEATHER, PROSE, OSLO, ["prose"]),
}  # fmt: skip

WRONG_FIELDS = {
    "no text, a required field": (WEATHER, "", ["city"]),
    "a word for a number": (WEATHER, '{"city":"Oslo","days":"five"}', ["days"]),
    "a number in quotes, out of range": (WEATHER, '{"city":"Oslo","days":"50"}', ["days"]),
    "true is not 1": (WEATHER, '{"city":"Oslo","days":true}', ["days"]),
    "yes is not true": (WEATHER, '{"city":"Oslo","detailed":"yes"}', ["detailed"]),
    "no such constant": (WEATHER, '{"city":"Oslo","unit":"kelvin"}', ["unit"]),
    "null for a required field": (WEATHER, '{"city":null}', ["city"]),
    "no such field": (WEATHER, '{"city":"Oslo","detail":true}', ["detail"]),
    "one value for a list": (TAGGED, '{"tags":"x"}', ["tags"]),
    "a date in words": (STAY, '{"check_in":"tomorrow","nights":2}', ["check_in"]),
    "no such day": (STAY, '{"check_in":"2026-02-30","nights":2}', ["check_in"]),
    "Python's digit groups": (NUMBERED, '{"id": "1_000"}', ["id"]),
    "an Arabic digit": (NUMBERED, '{"id": "\\u0665"}', ["id"]),
    "a plus sign": (NUMBERED, '{"id": "+5"}', ["id"]),
    "a leading zero in quotes": (NUMBERED, '{"id": "05"}', ["id"]),
    "5,000 digits": (NUMBERED, '{"id":' + "9" * 5000 + "}", ["id"]),
    "5,000 digits in quotes": (NUMBERED, '{"id":"' + "9" * 5000 + '"}', ["id"]),
}

UNREADABLE = {
    "a cut string": ('{"city": "Os', "truncated"),
    "a cut number": ('{"a": 12', "truncated"),
    "two objects": ('{"a": 1}{"a": 2}', "concatenated"),
    "a key twice": ('{"a": 1, "a": 2}', "duplicate_key"),
    "not a number": ('{"x": NaN}', "not_finite"),
    "too large for a float": ('{"x": 1e400}', "number_overflow"),
    "a leading zero": ('{"a": 007}', "leading_zero"),
    "a Windows path": ('{"path": "C:\\Users\\new"}', "invalid_escape"),
    "quotes in quotes": ('{"sql": "select "a" from t"}', "syntax"),
    "3,000 levels": ('{"x":' + "[" * 3000 + "]" * 3000 + "}", "too_deep"),
    "keys that become one": ('{"a\\ud800":1,"a\\ud801":2}', "key_collision"),
}
SCHEMAS = {"city": WEATHER, "x": MEASURED, "path": PATH, "sql": QUERY}
FOR_WRITING = {"a code fence": FENCED, "prose around": PROSE, "a trailing comma": '{"city": "Oslo",}',
               "Python's way to write it": "{'city': 'Oslo'}"}  # fmt: skip


@pytest.mark.requirement("ARGS-01")
@pytest.mark.requirement("ARGS-02")
@pytest.mark.parametrize(("schema", "raw", "value", "changed"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted_with_what_was_changed(schema, raw, value, changed):
    arguments = read(schema, raw)
    assert not isinstance(arguments, Refusal), arguments
    assert (arguments.value, list(arguments.changed)) == (value, changed)
    # To the type: 1 is not true, and 3.0 is written as the 3 that it is.
    assert arguments.text == canon.canonical(value)


@pytest.mark.requirement("ARGS-03")
@pytest.mark.parametrize(("schema", "raw", "fields"), WRONG_FIELDS.values(), ids=WRONG_FIELDS)
@pytest.mark.parametrize("risk", ["read", "write"])
def test_wrong_fields_are_named(schema, raw, fields, risk):
    refusal = read(schema, raw, risk=risk)
    assert isinstance(refusal, Refusal)
    assert refusal.status is Status.INVALID_ARGUMENTS
    assert [error.field for error in refusal.field_errors] == fields
    assert fields[0] in refusal.message


@pytest.mark.requirement("ARGS-01")
@pytest.mark.parametrize(("raw", "code"), UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("risk", ["read", "write"])
def test_what_has_no_one_reading_is_refused_with_its_reason(raw, code, risk):
    schema = next((schema for name, schema in SCHEMAS.items() if raw.startswith('{"' + name)), COUNTED)
    refusal = read(schema, raw, risk=risk)
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.code) == (Status.INVALID_ARGUMENTS, code)
    assert refusal.field_errors == (), "there is no object whose fields could be spoken of"
    assert "Nothing was executed" in refusal.message


@pytest.mark.requirement("ARGS-01")
@pytest.mark.parametrize("raw", FOR_WRITING.values(), ids=FOR_WRITING)
@pytest.mark.parametrize("risk", ["write", "dangerous"])
def test_the_spelling_is_not_repaired_for_a_tool_that_writes(raw, risk):
    refusal = read(WEATHER, raw, risk=risk)
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.field_errors) == (Status.INVALID_ARGUMENTS, ())
    assert "line 1, column" in refusal.message


@pytest.mark.requirement("ARGS-01")
@pytest.mark.parametrize(
    "name", ["no text, no parameters", "all of it in a string", "half a character", "a number in quotes"]
)
def test_what_has_one_reading_for_every_tool_is_taken_from_a_writing_one_too(name):
    schema, raw, value, changed = ACCEPTED[name]
    arguments = read(schema, raw, risk="write")
    assert (arguments.value, list(arguments.changed)) == (value, changed)


@pytest.mark.requirement("ARGS-02")
def test_a_declared_date_in_words_is_the_day_where_the_session_is():
    raw = '{"check_in":"tomorrow","nights":"2"}'
    arguments = read(STAY, raw, risk="write", normalise={"check_in": "relative_date"})
    assert arguments.value == {"check_in": "2026-03-01", "nights": 2}
    assert arguments.changed == ('check_in: "tomorrow" → "2026-03-01"', 'nights: "2" → 2')
    in_utc = Moment(at=MOMENT.at, zone=datetime.UTC)
    assert read(STAY, raw, normalise={"check_in": "relative_date"}, moment=in_utc).value["check_in"] == "2026-02-28"


@pytest.mark.requirement("ARGS-02")
def test_what_stood_inside_a_string_is_brought_into_form_too():
    stay = closed(["stay"], stay=closed(["day"], day={"type": "string"}))
    arguments = read(stay, '{"stay":"{\\"day\\":\\"today\\"}"}', normalise={"stay.day": "relative_date"})
    assert arguments.value == {"stay": {"day": "2026-02-28"}}
    assert arguments.changed[1:] == ('stay.day: "today" → "2026-02-28"',)
    short = closed(["stay"], stay=closed(["day"], day={"type": "string", "maxLength": 5}))
    refusal = read(short, '{"stay":"{\\"day\\":\\"today\\"}"}', normalise={"stay.day": "relative_date"})
    assert [(error.field, error.got) for error in refusal.field_errors] == [("stay.day", '"2026-02-28"')]


@pytest.mark.requirement("ARGS-03")
def test_the_sentence_says_how_to_mend_it():
    def sentence(name):
        return read(*WRONG_FIELDS[name][:2]).message

    assert '"celsius", "fahrenheit"' in sentence("no such constant")
    assert "did you mean detailed?" in sentence("no such field")
    assert "ISO 8601 date" in sentence("a date in words")
    assert "of type integer" in sentence("true is not 1")
    # Judged as the number that it was read as.
    assert "must be at most 14, got 50" in sentence("a number in quotes, out of range")


@pytest.mark.requirement("ARGS-02")
class TestWhatAPersonHasPutThere:
    @pytest.mark.parametrize("given", [{"city": "Oslo", "days": "5"}, {"city": "Oslo", "unit": None}])
    def test_is_not_coerced(self, given):
        assert isinstance(read(WEATHER, given, exact=True), Refusal)

    def test_is_not_normalised(self):
        arguments = read(PATH, {"path": "./a//b"}, normalise={"path": "path"}, exact=True)
        assert (arguments.value, arguments.changed) == ({"path": "./a//b"}, ())
        assert read(PATH, {"path": "./a//b"}, normalise={"path": "path"}).value == {"path": "a/b"}


@pytest.mark.requirement("ARGS-02")
def test_no_value_of_a_secret_argument_is_told():
    @tool(name="log_in", risk="read", secret_arguments=["pin"], input_schema=closed(["pin"], pin={"type": "integer"}))
    def log_in() -> None: ...

    arguments = read_arguments('{"pin":"1234"}', Catalogue([log_in])["log_in"], MOMENT)
    assert (arguments.value, arguments.changed) == ({"pin": 1234}, ("pin: changed",))


@pytest.mark.requirement("ARGS-03")
@pytest.mark.parametrize(
    ("schema", "raw", "fields"),
    [
        (closed(["pin"], pin={"type": "integer"}), '{"pin": "hunter2"}', ["pin"]),
        (closed(["pin"], pin=closed(["a.b"], **{"a.b": {"type": "integer"}})), '{"pin": {"a.b": "hunter2"}}', ['pin["a.b"]']),
        (closed(["pin"], pin={"type": "array", "items": {"type": "integer"}}), '{"pin": ["hunter2"]}', ["pin[0]"]),
        ({"type": "object", "maxProperties": 0}, '{"pin": "hunter2"}', [""]),
    ],
)  # fmt: skip
def test_no_value_of_a_secret_argument_is_quoted_in_a_refusal(schema, raw, fields):
    @tool(name="log_in", risk="read", secret_arguments=["pin"], input_schema=schema)
    def log_in() -> None: ...

    entry = Catalogue([log_in])["log_in"]
    refusal = read_arguments(raw, entry, MOMENT)
    assert [error.field for error in refusal.field_errors] == fields
    assert "hunter2" not in repr(refusal)


@pytest.mark.requirement("ARGS-03")
def test_other_values_beside_a_secret_are_quoted():
    schema = closed([], pin={"type": "integer"}, pinned={"type": "boolean"})

    @tool(name="log_in", risk="read", secret_arguments=["pin"], input_schema=schema)
    def log_in() -> None: ...

    refusal = read_arguments('{"pinned": "perhaps"}', Catalogue([log_in])["log_in"], MOMENT)
    assert 'got "perhaps"' in refusal.message
