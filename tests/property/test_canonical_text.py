import json

import msgspec
import pytest
from hypothesis import given, strategies as st

from callslip.core import canon

pytestmark = pytest.mark.requirement("LEDG-01")


def same(one, two):
    """Equal in type and value: 1 is not 1.0 and not True; -0.0 has no text of its own."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, float) and one.is_integer() and abs(one) < 2**53:
        return type(two) in (int, float) and two == one  # RFC 8785 writes 1.0 as 1
    return type(one) is type(two) and one == two


def shuffled(value, dice):
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: shuffled(value[key], dice) for key in keys}
    return [shuffled(item, dice) for item in value] if isinstance(value, list) else value


@given(st.data())
def test_what_is_written_is_read_back(json_values, data):
    value = data.draw(json_values)
    assert same(value, canon.parse(canon.canonical(value)))


@given(st.data())
def test_other_readers_read_the_same(json_values, data):
    value = data.draw(json_values)
    assert same(value, json.loads(canon.canonical(value)))


@given(st.data(), st.randoms())
def test_the_order_of_keys_does_not_matter(json_values, data, dice):
    value = data.draw(json_values)
    text = canon.canonical(value)
    assert canon.canonical(shuffled(value, dice)) == text
    assert canon.digest(text) == canon.digest(canon.canonical(value))


@given(st.data())
def test_the_text_is_its_own_canonical_text(json_values, data):
    text = canon.canonical(data.draw(json_values))
    assert canon.canonical(canon.parse(text)) == text


@given(st.data())
def test_different_values_have_different_texts(json_values, data):
    one, two = data.draw(json_values), data.draw(json_values)
    if canon.canonical(one) == canon.canonical(two):
        assert same(one, canon.parse(canon.canonical(two)))
    else:
        assert not same(one, two) or not same(two, one)


@given(st.dictionaries(st.text(), st.none(), max_size=8))
def test_keys_are_sorted_by_utf_16_units(value):
    keys = list(msgspec.json.decode(canon.canonical(value)))
    assert keys == sorted(keys, key=lambda key: key.encode("utf-16-be"))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_keeps_its_value(value):
    read = canon.parse(canon.number(value))
    assert read == value
    assert isinstance(read, float) == (abs(value) >= 2**53 or not value.is_integer())


@given(st.text(st.characters(min_codepoint=0xD000, max_codepoint=0xE100)))
def test_scrubbed_text_can_be_written(text):
    clean = canon.scrub(text)
    assert len(clean) == len(text)
    assert canon.has_surrogate(text) == (clean != text)
    assert canon.parse(canon.canonical(clean)) == clean
