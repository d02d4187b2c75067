"""Hypothesis, the same at every run; ``--hypothesis-profile=search`` looks for what has not been found yet."""

import types
import typing
from enum import Enum

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st

from callslip.core import canon
from callslip.core.payload import Payload, by_reference, inline

_QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
settings.register_profile("test", deadline=None, derandomize=True, suppress_health_check=_QUIET, database=None)
settings.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=_QUIET)
settings.register_profile("mutants", parent=settings.get_profile("test"), phases=[Phase.explicit, Phase.generate])
if settings.get_current_profile_name() == "default":  # none was named on the command line
    settings.load_profile("test")

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**1000) + 1, max_value=10**1000 - 1)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
_TEXT = st.text(max_size=40) | st.text(st.characters(min_codepoint=0xD7FF, max_codepoint=0xE000), max_size=4)


def _payload(value):
    text = canon.canonical(value)
    return inline(text) if len(text) < 100 else by_reference(text)


def _of(kind):
    """Any value of an annotation of the events."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Payload:
        return _JSON.map(_payload)
    if origin is typing.Literal:
        return st.sampled_from(parts)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([_of(part) for part in parts])
    if origin is dict:
        return st.dictionaries(st.text(max_size=9, alphabet="abc"), _of(parts[1]), max_size=3)
    if origin is tuple:
        return st.lists(_of(parts[0]), max_size=3).map(tuple)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct(kind)
    return {
        str: _TEXT,
        int: st.integers(0, 2**53),
        bool: st.booleans(),
        type(None): st.none(),
    }[kind]


def _struct(kind):
    hints = typing.get_type_hints(kind)
    return st.fixed_dictionaries({name: _of(hints[name]) for name in kind.__struct_fields__}).map(
        lambda fields: kind(**fields)
    )


@pytest.fixture(scope="session")
def any_of():
    """A strategy of any values of an event class."""
    return _struct


@pytest.fixture(scope="session")
def json_values():
    return _JSON
