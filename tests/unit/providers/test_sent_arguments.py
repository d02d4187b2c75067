"""Whatever a model wrote as arguments, a provider is shown one JSON object."""

import json

import pytest
from hypothesis import given, strategies as st

from callslip.providers.sent_arguments import RAW, TOO_DEEP, argument_object, argument_text, exact

pytestmark = pytest.mark.requirement("WIRE-02", "CALL-05")


@given(st.one_of(st.text(), st.dictionaries(st.text(), st.integers() | st.none() | st.text())))
def test_it_is_one_object_and_says_the_same(arguments):
    text = argument_text(arguments)
    assert isinstance(json.loads(text), dict)
    assert argument_object(arguments) == json.loads(text)
    if isinstance(arguments, dict):
        assert json.loads(text) == arguments


def test_the_models_own_text_stays_to_the_letter():
    assert argument_text('{ "n" : 12345678901234567890 }') == '{ "n" : 12345678901234567890 }'
    assert argument_text("null") == argument_text(" ") == "{}"
    assert argument_object("{'a': 1}") == {RAW: "{'a': 1}"}
    assert argument_object('{"a": NaN}') == {RAW: '{"a": NaN}'}


def test_what_is_too_deep_is_said():
    deep = {}
    for _ in range(2000):
        deep = {"a": deep}
    assert argument_object(deep) == {RAW: TOO_DEEP}
    assert argument_object('{"a":' * 5000 + "1" + "}" * 5000)[RAW].startswith('{"a":')


def test_integers_that_a_double_would_round_are_text():
    assert exact({"a": [2**53, 2**53 + 1, True, 1.5]}) == {"a": [2**53, str(2**53 + 1), True, 1.5]}
