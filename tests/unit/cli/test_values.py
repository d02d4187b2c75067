"""Arguments on the screen: whole, exact, one a line."""

import json

import pytest
from hypothesis import given, strategies as st

from callslip.cli.values import arguments_lines, compact, texts_in

pytestmark = pytest.mark.requirement("APPR-08")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def shown(arguments):
    return list(arguments_lines(arguments))


def test_one_a_line():
    assert shown({"amount": 5, "to": "ada", "odd name": None, "x": 1.5, "none": {}, "list": [1, "a"], "yes": True}) == [
        "amount     = 5",
        'to         = "ada"',
        '"odd name" = null',
        "x          = 1.5",
        "none       = {}",
        'list       = [1, "a"]',
        "yes        = true",
    ]
    assert shown({}) == ["no arguments"]


def test_numbers_keep_every_digit_and_large_ones_are_grouped():
    assert shown({"a": 1234}) == ["a = 1234"]
    assert shown({"a": -1000000}) == ["a = -1000000  (-1,000,000)"]
    assert shown({"a": 10**30})[0].startswith("a = 1000000000000000000000000000000  (1,000")
    assert shown({"a": "1000000"}) == ['a = "1000000"']
    assert shown({"a": 1e300, "b": 0.1, "c": -0.0}) == ["a = 1e+300", "b = 0.1", "c = 0"]


def test_a_text_of_several_lines():
    assert shown({"text": "first\n  second \n\tthird\n", "n": 1}) == [
        "text = 3 lines, 23 characters, the last line ended",
        "       │ first",
        "       │   second␣",
        "       │ ⇥third",
        "n    = 1",
    ]
    assert shown({"text": "a\nb"}) == ["text = 2 lines, 3 characters", "       │ a", "       │ b"]
    assert shown({"text": "one\n"}) == ['text = "one\\n"']
    assert shown({"text": "\n\nb"}) == ["text = 3 lines, 3 characters", "       │ ", "       │ ", "       │ b"]


def test_what_is_nested():
    value = {"sku": "x" * 40, "of": [1, {"pаy": [], "b": {}}], "text": "a\nb"}
    assert shown({"item": value}) == [
        "item = {",
        f'         "sku": "{"x" * 40}",',
        '         "of": [',
        "           1,",
        "           {",
        '             "p⟨а U+0430⟩y": [],',
        '             "b": {}',
        "           }",
        "         ],",
        '         "text": "a\\nb"',
        "       }",
    ]


def test_names_are_marked_too():
    assert shown({"аmount": 1, "a b": 2}) == ['"⟨а U+0430⟩mount" = 1', f'"a b"{" " * 12} = 2']


@given(st.dictionaries(st.text(), JSON, max_size=4), st.dictionaries(st.text(), JSON, max_size=4))
def test_no_two_look_the_same(one, other):
    same = json.dumps(_spelled(one)) == json.dumps(_spelled(other))
    assert (shown(one) == shown(other)) == same
    assert (compact(one) == compact(other)) == same


def _spelled(value):
    """As the log spells numbers: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, list):
        return [_spelled(one) for one in value]
    if isinstance(value, dict):
        return {name: _spelled(one) for name, one in value.items()}
    return value


def test_every_text_is_looked_at():
    assert set(texts_in({"a": ["b", {"c": "d"}], "e": 1})) == {"a", "b", "c", "d", "e"}
