"""The parser takes one JSON object exactly as it stands, or says where and why not."""

import json
import time

import pytest
from hypothesis import example, given, settings, strategies as st

from callslip.schema.parse import Parsed, ParseFailure, parse_arguments

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
OBJECTS = st.dictionaries(st.text(), VALUES)


def read(raw):
    return parse_arguments(raw, has_parameters=True)


def refused(raw):
    failure = read(raw)
    assert isinstance(failure, ParseFailure), failure
    return failure


def as_written(value):
    """A whole number of 2^53 and more that is written without an exponent is an integer, as its digits say."""
    if isinstance(value, dict):
        return {key: as_written(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_written(item) for item in value]
    large = isinstance(value, float) and abs(value) >= 2.0**53
    return int(value) if large and "e" not in repr(value) else value


@settings(deadline=None)
@given(OBJECTS, st.booleans(), st.sampled_from([None, 2]))
@example({"a": 2.0**53}, True, None)
@example({"a": [1e23, -1.2345678901234567e25, 1e300, 5e-324, 0.1]}, True, None)
def test_any_object_comes_back_as_it_was_written(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert read(text) == Parsed(value=value, changed=())
    assert json.dumps(read(text).value) == json.dumps(
        as_written(value)
    )  # 1, 1.0 and True are equal in Python, not here
    assert read(text.encode()) == read(text)
    assert read(value) == Parsed(value=value, changed=())


@settings(deadline=None)
@given(OBJECTS, st.data())
def test_broken_text_is_judged_and_never_raises(value, data):
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 4)))
    noise = data.draw(st.text(st.sampled_from('{}[]",:\\u0d8eE+-.NIt \n\ud800'), max_size=4))
    result = read(text[:start] + noise + text[end:])
    if isinstance(result, Parsed):
        json.dumps(result.value, allow_nan=False, ensure_ascii=False).encode()
    else:
        assert result.code
        assert result.reason


@settings(deadline=None)
@given(st.text(st.characters() | st.characters(categories=["Cs"])))
@example("\ufeff{}")
@example("{\x00}")
def test_any_text_at_all_never_raises(text):
    assert isinstance(read(text), Parsed | ParseFailure)


@pytest.mark.requirement("ARGS-01")
@settings(max_examples=25, deadline=None)
@given(OBJECTS.filter(bool))
def test_every_cut_of_an_object_is_called_truncated(value):
    text = json.dumps(value)
    for end in range(1, len(text)):
        assert refused(text[:end]).code == "truncated", text[:end]


@pytest.mark.requirement("ARGS-01")
@pytest.mark.parametrize("raw", ["", " \t\r\n", "null", " null\n", None, b"", b"null"])
@pytest.mark.parametrize("has_parameters", [True, False])
def test_nothing_stands_for_the_empty_object_and_is_recorded(raw, has_parameters):
    assert parse_arguments(raw, has_parameters=has_parameters) == Parsed(value={}, changed=("empty",))


def test_the_empty_object_itself_is_no_change():
    assert read("{}") == read({}) == Parsed(value={}, changed=())


@pytest.mark.requirement("ARGS-01")
@pytest.mark.parametrize(
    ("raw", "code", "position"),
    [
        ('{"a": "b', "truncated", 6),
        ('{"a": "b\\', "truncated", 6),
        ('{"a": "\\u00', "truncated", 11),
        ('{"a": 12', "truncated", 8),
        ('{"a": 1.', "truncated", 8),
        ('{"a": 1e-', "truncated", 9),
        ('{"a": -', "truncated", 7),
        ('{"a": tru', "truncated", 9),
        ('{"a": [1,', "truncated", 9),
        ("{", "truncated", 1),
        ('{"a": 1}{"a": 2}', "concatenated", 8),
        ('{"a": 1} [2]', "concatenated", 9),
        ('{"a": 1} done', "trailing_text", 9),
        ('{"a": 1}}', "trailing_text", 8),
        ('{"a": 1, "b": 2, "a": 1}', "duplicate_key", None),
        ('{"a": NaN}', "not_finite", 6),
        ('{"s": "NaN", "a": NaN}', "not_finite", 18),
        ('{"a": [-Infinity]}', "not_finite", 7),
        ("NaN", "not_finite", 0),
        ('{"a": 1e400}', "number_overflow", 6),
        ('{"a": -1.5E+999}', "number_overflow", 6),
        ('{"a": 007}', "leading_zero", 6),
        ('{"a": -01}', "leading_zero", 7),
        ('{"a": "C:\\Users"}', "invalid_escape", 9),
        ('{"a": "\\u12G4"}', "invalid_escape", 8),
        ('{"a": "x\ny"}', "control_character", 8),
        ("[1]", "not_object", 0),
        (' "x"', "not_object", 1),
        ("5", "not_object", 0),
        ("true", "not_object", 0),
        ("{'a': 1}", "syntax", 1),
        ('{"a": 1,}', "syntax", 8),
        ('{"a": .5}', "syntax", 6),
        ('{"a": +5}', "syntax", 6),
        ('{"a": True}', "syntax", 6),
        ("\ufeff{}", "syntax", 0),
        ("call it", "syntax", 0),
        ('{"a": 1 /* no */}', "syntax", 8),
        (b'{"a": "\xff"}', "not_json", 7),
    ],
)
def test_a_fault_has_its_code_and_its_place(raw, code, position):
    failure = refused(raw)
    # Newer Pythons point at a trailing comma itself.
    assert (failure.code, failure.position) in {(code, position), (code, position and position - 1)}
    assert (failure.position is None) == (position is None)


def test_a_place_is_also_told_as_line_and_column():
    failure = refused('{\n  "a": 1,\n  "b": 007\n}')
    assert (failure.line, failure.column) == (3, 8)


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ('{"a": [{"b": NaN}]}', "a[0].b"),
        ('{"a": {"x": 1, "x": 2}}', "a"),
        ('{"odd.key": 1e999}', '["odd.key"]'),
        ({"a": [float("nan")]}, "a[0]"),
        ({"a": float("-inf")}, "a"),
        ({"a": 10**1000}, "a"),
        ({"a": {1: 2}}, "a"),
        ({"a": (1, 2)}, "a"),
        ({"a": b"x"}, "a"),
    ],
)
def test_a_fault_in_a_field_names_the_field(raw, path):
    failure = refused(raw)
    assert failure.path == path
    assert path in failure.reason


def test_integers_are_exact_up_to_a_thousand_digits():
    longest = "-" + "9" * 1000
    assert read(f'{{"id": {longest}}}').value == {"id": int(longest)}
    assert read({"id": int(longest)}).value == {"id": int(longest)}
    failure = refused(f'{{"a": 1, "id": {longest}9}}')
    assert (failure.code, failure.path, failure.position) == ("integer_too_long", "id", 15)
    assert refused('{"id": ' + "1" * 50_000 + "}").code == "integer_too_long"


def test_numbers_keep_their_kind():
    value = read('{"a": 1.0e0, "b": 1, "c": -0, "d": 3.0}').value
    assert [(type(number), number) for number in value.values()] == [(float, 1), (int, 1), (int, 0), (float, 3)]


@pytest.mark.parametrize(
    ("raw", "value", "changed"),
    [
        ('{"a": "x\\ud800y"}', "x\ufffdy", ("unicode",)),
        ('{"a": "x\ud800y"}', "x\ufffdy", ("unicode",)),
        (b'{"a": "x\xed\xa0\x80y"}', "x\ufffdy", ("unicode",)),
        ({"a": "x\udfffy"}, "x\ufffdy", ("unicode",)),
        ('{"a": "\\ud83d\\ude00"}', "\U0001f600", ()),
        ('{"a": "\ud83d\ude00"}', "\U0001f600", ("unicode",)),
        ('{"a": "\ud83d\\ude00"}', "\U0001f600", ("unicode",)),
        ('{"a": "\\\\ud800"}', "\\ud800", ()),
    ],
)
def test_lone_surrogates_are_replaced_and_recorded_and_halves_of_one_character_joined(raw, value, changed):
    assert read(raw) == Parsed(value={"a": value}, changed=changed)


def test_keys_are_mended_too_unless_two_become_one():
    assert read('{"k\\ud800": [{"\\udc00": 1}]}').value == {"k\ufffd": [{"\ufffd": 1}]}
    failure = refused('{"o": {"k\\ud800": 1, "k\\ud801": 2}}')
    assert (failure.code, failure.path) == ("key_collision", "o.k\ufffd")


def nested(depth):
    return '{"a":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


def test_sixty_four_levels_are_read_and_no_more():
    assert isinstance(read(nested(64)), Parsed)
    failure = refused(nested(65))
    assert (failure.code, failure.position) == ("too_deep", 5 + 63)
    assert isinstance(read(json.loads(nested(64))), Parsed)
    assert refused(json.loads(nested(65))).code == "too_deep"


def test_brackets_in_strings_are_not_nesting():
    assert isinstance(read(json.dumps({"a": ["[{" * 500, '"\\[' * 500]})), Parsed)


def test_an_object_inside_itself_is_too_deep():
    loop = {}
    loop["a"] = [loop]
    assert refused(loop).code == "too_deep"


SIZE = 200_000


@pytest.mark.parametrize(
    "text",
    [
        "[" * SIZE,
        '{"a":' * (SIZE // 5),
        "[]" * (SIZE // 2),
        '{"a":[' + "[]," * (SIZE // 3) + "1]}",
        '"\\' * (SIZE // 2),
        '{"a":"' + '\\"' * (SIZE // 2),
        '"' * SIZE,
        "[[" + '"]' * (SIZE // 2),
        "\\" * SIZE,
        '{"a":"' + "\\ud800" * (SIZE // 6) + '"}',
        '{"a":' + "9" * SIZE + "}",
        '{"a":' + "[" * 60 + '"' + "[" * SIZE,
        "{" + ",".join(f'"k{number}":{number}' for number in range(SIZE // 14)) + "}",
        "{" + ",".join('"k":1' for _ in range(SIZE // 6)) + "}",
    ],
    ids=range(14),
)
def test_two_hundred_kilobytes_are_judged_in_linear_time(text):
    """Ten times the text may take ten times as long, not a hundred: no figure of a machine's speed is needed."""

    def cost(hostile):
        durations = []
        for _ in range(3):  # the best of three: the machine may be busy
            start = time.process_time()
            read(hostile)
            durations.append(time.process_time() - start)
        return min(durations)

    assert cost(text) < 40 * (cost(text[: len(text) // 10]) + 0.005)


def test_a_refusal_says_what_to_send():
    assert "{}" in parse_arguments("[]", has_parameters=False).reason
    assert "property" in parse_arguments([], has_parameters=True).reason
    assert "twice" in refused('{"a": 1, "a": 2}').reason


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12345678901234567890.0", 12345678901234567890),
        ("-9007199254740993.00", -9007199254740993),
        ("3.0", 3.0),
        ("9007199254740993.5", 9007199254740994.0),
        ("1e300", 1e300),
        ("9" * 400 + ".0", int("9" * 400)),
        ("9007199254740993e0", 9007199254740993),
        ("-90071992547409930e-1", -9007199254740993),
        ("1.2345678901234567890e19", 12345678901234567890),
        ("1.234567890123450e25", 1.23456789012345e25),
        ("90071992547409930.5e0", 9.007199254740993e16),
        ("900719925474099300e-3", 900719925474099.3),
        ("-9.00719925474099312e17", -900719925474099312),
        ("0." + "0" * 5000 + "9007199254740993e5016", 9007199254740993),
        ("9007199254740993e" + "0" * 5000 + "2", 9.007199254740993e17),
        ("9007199254740993" + "0" * 5000 + "e-5000", 9007199254740993),
        ("1.234567890123456789E+300", 1234567890123456789 * 10**282),
    ],
)
def test_a_whole_number_keeps_its_digits_though_it_is_written_with_a_fraction_or_an_exponent(text, value):
    parsed = parse_arguments(f'{{"a": {text}}}', has_parameters=True)
    assert (parsed.value, type(parsed.value["a"])) == ({"a": value}, type(value))
