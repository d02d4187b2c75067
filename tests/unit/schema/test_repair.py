"""Text with one reading is rewritten as JSON; whatever could be meant in two ways is not."""

from __future__ import annotations

import pytest

from callslip.schema.parse import Parsed, ParseFailure, parse_arguments
from callslip.schema.repair import MOST_PIECES, read_repaired, repair

pytestmark = pytest.mark.requirement("ARGS-01")


def read(text):
    failure = parse_arguments(text, has_parameters=True)
    assert isinstance(failure, ParseFailure), "it is JSON already"
    return read_repaired(text, failure, has_parameters=True)


@pytest.mark.parametrize(
    ("text", "value", "changed"),
    [
        ('```\n{"a": 1}\n```', {"a": 1}, ("fence",)),
        ('```json\n{"a": 1}', {"a": 1}, ("fence",)),  # the closing fence was a stop sequence
        ('`{"a": 1}`', {"a": 1}, ("fence",)),
        ("Here you are:\n```json5\n{'a': 1,}\n```\nDone.", {"a": 1}, ("prose", "fence", "single_quotes", "trailing_comma")),
        ('weather({"a": 1})', {"a": 1}, ("prose",)),
        ('{"a": 1};', {"a": 1}, ("prose",)),
        ('1. {"a": 1}', {"a": 1}, ("prose",)),
        ("'{\"a\": 1}'", {"a": 1}, ("prose",)),
        ('\u00a0{"a": 1}', {"a": 1}, ("prose",)),
        ('\ufeff{"a": 1}', {"a": 1}, ("prose",)),
        ('{"a": [1, 2 , ] , }', {"a": [1, 2]}, ("trailing_comma",)),
        ("{'a': 'say \"no\"', 'b': 'it\\'s'}", {"a": 'say "no"', "b": "it's"}, ("single_quotes",)),
        ("{'a': '\\u00e9\\n\\\\'}", {"a": "é\n\\"}, ("single_quotes",)),
        ("{'a': None, 'b': [False, True]}", {"a": None, "b": [False, True]}, ("python_literal",)),
        ('{"a": None, "b": 1e5}', {"a": None, "b": 1e5}, ("python_literal",)),
        ('{a: 1, $b2: "x: y"}', None, ()),
        ('{a: 1, b_2: "x: y"}', {"a": 1, "b_2": "x: y"}, ("unquoted_key",)),
        ('{"a": "one\ntwo\t\r"}', {"a": "one\ntwo\t\r"}, ("line_break",)),
        ('{"a": "one\ntwo\\\\"}', {"a": "one\ntwo\\"}, ("line_break",)),
        ('{"a": "it\\\'s"}', {"a": "it's"}, ("escape",)),
        ('{"a": "\\ud800",}', {"a": "\ufffd"}, ("trailing_comma", "unicode")),
    ],
)  # fmt: skip
def test_one_reading(text, value, changed):
    parsed = read(text)
    if value is None:
        assert isinstance(parsed, ParseFailure)
    else:
        assert parsed == Parsed(value=value, changed=changed)


@pytest.mark.parametrize(
    "text",
    [
        "{,}", '{"a": [,]}', '{"a": [1,,]}', '{"a": 1,,}', "{'a' 1}", "{'a': 'b' 'c'}",
        "{'name': 'O'Brien'}", "{'a': b'x'}", "{'a': (1, 2)}", "{'a': {1, 2}}", "{'a': 0x10}", "{'a': 1_000}",
        "{'a': nan}", "{'a': .5}", "{'a': 007}", "{True: 1}", "{true: 1}", "{'a': '\\x41'}", "{'a': '\\/'}",
        "{'a': undefined}", '{"a": 1 "b": 2}', '{"a": "x\\\ny"}', '{"a": "C:\\Users"}', '{"a": "\x00"}',
        # Cut, or more than one object, whatever stands around.
        "{'a': 1", "{'a': [1}", "{'a': 'b", "```json\n{'a': [1,\n```",
        'so } {"a": 1}', 'so {"a": 1} {', "either {'a': 1} or {'a': 2}", 'see [1]: {"a": 1}', '{"a": 1} [2]', '{"a": 1}}', '```\n{"a": 1}\n```\n```\n[1]\n```',
        '{"a": 1} 5', '{"a": 1} -1.5e3', '{"a": 1}\n1_000', '{"a": 1} null', "{'a': 1} 'x'", "None {'a': 1}", '```\n{"a": 1}\n```\ntrue',
        # The object is the value of a key whose own object was cut.
        '"city": {"a": 1}', "'city': {'a': 1}", '{"a": 1}, "b": 2', '{"a": 1}, b: 2', "city', {'a': 1}",
        'I call "weather" with {"a": 1}', "", "no object", "}{", "[{'a': 1}]", "[1, 2,]",
    ],
)  # fmt: skip
def test_no_reading_or_two(text):
    assert text == "" or isinstance(read(text), ParseFailure)


@pytest.mark.parametrize("text", ["{}", '{"a": "\'b\', None, c: [1,]"}', '{"True": true, "e": 1e5, "x": [null]}'])
def test_json_is_left_as_it_is(text):
    assert repair(text).text == text
    assert repair(text).changed == ()


def test_what_is_wrong_inside_is_told_without_a_place_that_was_rewritten():
    twice = read("{'a': 1, 'a': 2}")
    assert (twice.code, twice.position) == ("duplicate_key", None)
    assert read('{"x": Infinity,}').code == "not_finite"
    assert read("{'a': " + "9" * 1001 + "}").code == "integer_too_long"


def test_a_text_that_stays_refused_keeps_the_place_where_it_went_wrong():
    failure = read("{'a': 1 2}")
    assert (failure.code, failure.position) == ("syntax", 1)


def test_a_text_in_too_many_pieces_is_refused():
    few, many = ("{'a': [" + "'b', " * count + "]}" for count in (100, MOST_PIECES))
    assert isinstance(read(few), Parsed)
    assert isinstance(read(many), ParseFailure)


class TestDoubleEncoding:
    @pytest.mark.parametrize(
        ("text", "value", "changed"),
        [
            ('"{}"', {}, ("double_encoded",)),
            ('""', {}, ("double_encoded", "empty")),
            ('"{\\"a\\": \\"\\\\ud800\\"}"', {"a": "\ufffd"}, ("double_encoded", "unicode")),
        ],
    )
    def test_once(self, text, value, changed):
        assert parse_arguments(text, has_parameters=True) == Parsed(value=value, changed=changed)

    @pytest.mark.parametrize("text", ['"text"', '"[1]"', '"1"', '"{\\"a\\": 1"', "\"{'a': 1}\"", '"\\"{}\\""'])
    def test_twice_or_in_part_is_no_object(self, text):
        assert parse_arguments(text, has_parameters=True).code == "not_object"
