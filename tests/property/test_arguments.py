"""Repair and coercion, whatever the text, the value and the schema: nothing is invented, nothing valid is touched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from callslip.core import canon
from callslip.schema.coerce import Coercer
from callslip.schema.parse import Parsed, parse_arguments
from callslip.schema.repair import repair
from callslip.schema.validate import compile_schema

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = (
    st.none() | st.booleans() | st.integers(-20, 20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["5", " 7 ", "05", "true", "False", "x", "X ", "null", "", "0.5", "1e3", '{"a": "5"}', '["1", 2]', '"{}"'])
    | st.text(max_size=5)
)  # fmt: skip
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))
LEAVES = st.sampled_from(
    [
        {"type": "integer"}, {"type": "number", "maximum": 6}, {"type": "boolean"}, {"type": ["integer", "null"]}, {"type": "string"},
        {"enum": ["x", "y", 5]}, {"type": "string", "enum": ["x", "X"]}, {"const": "x"}, {"type": "null"}, True, {},
        {"$ref": "#/$defs/d"}, {"$ref": "#"},
    ]
)  # fmt: skip


def larger(inner):
    objects = st.builds(
        lambda properties, required, extra: {"type": "object", "properties": properties, "required": required, **extra},
        st.dictionaries(NAMES, inner, max_size=3),
        st.lists(NAMES, unique=True, max_size=2),
        st.sampled_from([{}, {"additionalProperties": False}, {"minProperties": 1}]),
    )
    return (
        objects
        | st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(
            lambda key, branches: {key: branches},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
        )
    )


SCHEMAS = st.recursive(LEAVES, larger, max_leaves=8)
ROOTS = st.builds(
    lambda properties, required, shared: {
        "type": "object",
        "properties": properties,
        "required": required,
        "$defs": {"d": shared},
    },
    st.dictionaries(NAMES, SCHEMAS, min_size=1, max_size=3),
    st.lists(NAMES, unique=True, max_size=2),
    st.recursive(st.just({"type": "integer"}), larger, max_leaves=3),
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=3)


def judged(root, value):
    validator = compile_schema(root)
    return validator, Coercer(root, validator).coerce(value)


def same(one, other):
    return json.dumps(one) == json.dumps(other)  # 1, 1.0 and true are three things


@pytest.mark.requirement("ARGS-02")
class TestCoerce:
    @given(ROOTS, ARGUMENTS)
    def test_it_ends_valid_or_as_it_was(self, root, value):
        before = json.dumps(value)
        validator, made = judged(root, value)
        assert json.dumps(value) == before, "the given value was changed in place"
        if made.errors:
            assert same(made.value, value)
            faults = {error.path for error in validator.errors(value)}
            assert all(any(error.path.startswith(fault) for fault in faults) for error in made.errors)
        else:
            assert validator.errors(made.value) == ()

    @given(ROOTS, ARGUMENTS)
    def test_once_is_as_good_as_twice(self, root, value):
        _, once = judged(root, value)
        _, twice = judged(root, once.value)
        assert same(twice.value, once.value)
        assert not twice.changes

    @given(ROOTS, ARGUMENTS)
    def test_what_is_valid_is_never_changed(self, root, value):
        validator, made = judged(root, value)
        if validator.accepts(value):
            assert same(made.value, value)
            assert not made.changes

    @given(ROOTS, ARGUMENTS)
    def test_every_difference_is_told(self, root, value):
        _, made = judged(root, value)
        assert bool(made.changes) == (not same(made.value, value))

    @given(ROOTS, ARGUMENTS)
    def test_both_ways_to_judge_agree(self, root, value):
        validator = compile_schema(root)
        assert validator.accepts(value) == (not validator.errors(value))


MARKS = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', "'", "\\", '"a"', "'b'", "a", "True", "None", "null", "1", "0", " ", "\n", "```", '{"a": ', "{'a': ", '"}', "'}"]
)  # fmt: skip


@pytest.mark.requirement("ARGS-01")
class TestRepair:
    @given(ARGUMENTS)
    def test_canonical_text_is_left_as_it_is(self, value):
        text = canon.canonical(value).decode()
        made = repair(text)
        assert (made.text, made.changed) == (text, ())

    @given(st.dictionaries(st.text(), VALUES | st.text(), max_size=3))
    def test_pythons_own_spelling_is_read_back(self, value):
        text = repr(value)
        made = repair(text)
        if made is None:  # an escape that is Python's alone
            assert "\\" in text
        elif isinstance(read := parse_arguments(made.text, has_parameters=True), Parsed) and read.changed != (
            "unicode",
        ):
            assert same(read.value, value)

    @given(st.lists(MARKS, max_size=14).map("".join))
    def test_json_never_comes_to_mean_something_else(self, text):
        made = repair(text)
        try:
            value = json.loads(text)
        except ValueError:
            return
        if made is not None:
            assert same(json.loads(made.text), value)

    @given(st.lists(MARKS, max_size=14).map("".join))
    def test_whatever_is_made_of_it_is_left_alone_afterwards(self, text):
        made = repair(text)
        if made is not None and isinstance(parse_arguments(made.text, has_parameters=True), Parsed):
            again = repair(made.text)
            assert (again.text, again.changed) == (made.text, ())
