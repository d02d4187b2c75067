"""Whatever a tool returns has a JSON form: the log must be able to say that the effect happened."""

import dataclasses
import datetime
import decimal
import enum
import pathlib
import typing
import uuid
from collections import UserDict

import pytest
from hypothesis import given, strategies as st

from callslip.core import canon, payload
from callslip.core.plain import to_plain

pytestmark = [pytest.mark.requirement("RSLT-01"), pytest.mark.requirement("RSLT-02")]


class Colour(enum.Enum):
    RED = "red"
    ODD = object()


class Point(typing.NamedTuple):
    x: object
    y: object


@dataclasses.dataclass
class Box:
    content: object
    beside: object = None


class Hostile:
    """Raises whenever it is looked at."""

    def __init__(self, error):
        self.error = error

    def __repr__(self):
        raise self.error

    __str__ = __iter__ = __len__ = __hash__ = __eq__ = __bool__ = __repr__

    def __getattr__(self, name):
        raise self.error


class Lying(UserDict):
    """A mapping whose items fail half way."""

    def items(self):
        yield "first", 1
        raise ValueError("no more")


class Endless(list):
    def __init__(self):
        super().__init__([self])


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**2000)
    | st.floats()
    | st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF))
    | st.binary(max_size=50)
    | st.dates()
    | st.datetimes()
    | st.timedeltas()
    | st.decimals()
    | st.uuids()
    | st.complex_numbers()
    | st.sampled_from(Colour)
    | st.sampled_from(
        [pathlib.Path("/tmp"), object(), len, int, Box, ..., b"x", uuid.UUID(int=0), decimal.Decimal("NaN"),
         datetime.UTC, range(3), Endless()]
    )
    | st.sampled_from([ValueError("no"), KeyError("no"), RecursionError(), UnicodeDecodeError("u", b"", 0, 1, "no")]).map(
        Hostile
    )
    | st.builds(Lying)
)  # fmt: skip
_HASHABLE = st.none() | st.integers() | st.text(max_size=5) | st.booleans() | st.sampled_from(Colour)
_ANYTHING = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(_HASHABLE, inner, max_size=4)
        | st.builds(Box, inner, inner)
        | st.builds(Point, inner, inner)
        | st.frozensets(_HASHABLE, max_size=4)
        | inner.map(lambda item: {"again": item, "and again": item})
    ),
)


@given(_ANYTHING)
def test_anything_has_a_json_form(value):
    plain = to_plain(value)
    text = canon.canonical(plain.value)
    assert canon.canonical(canon.parse(text)) == text
    assert all(f'"{payload.address(data)}"'.encode() in text for data in plain.blobs)


@given(st.data())
def test_json_is_left_as_it_is(json_values, data):
    value = data.draw(json_values)
    plain = to_plain(value)
    assert canon.canonical(plain.value) == canon.canonical(value)
    assert plain.blobs == ()
    assert plain.notes == ()


@given(_ANYTHING)
def test_the_same_value_gives_the_same_text(value):
    assert canon.canonical(to_plain(value).value) == canon.canonical(to_plain(value).value)


@pytest.mark.parametrize("depth", [99, 101, 5_000, 100_000])
def test_any_depth(depth):
    value = []
    for _ in range(depth):
        value = [value]
    canon.canonical(to_plain(value).value)


def test_a_circle():
    value = {"name": "loop"}
    value["self"] = [value]
    plain = to_plain(value)
    assert plain.value["self"][0]["$type"] == "dict"
    assert "refers to itself" in plain.notes
