"""What can be found, as a list of names for the system prompt."""

import pytest
from hypothesis import given, strategies as st

from callslip.agent.inventory import inventory
from callslip.core.tool import ToolSpec

pytestmark = pytest.mark.requirement("DEFR-01")


def specs(*names, category=""):
    return [ToolSpec(name=name, category=category) for name in names]


def lines(text):
    return text.splitlines()[1:]


def test_by_category_or_by_what_stands_before_the_dot():
    found = [*specs("mail.send", "mail.find"), *specs("refund", category="money"), *specs("odd")]
    assert lines(inventory(found, 4000)) == ["- mail: mail.find, mail.send", "- money: refund", "- other: odd"]


def test_it_says_how_they_are_found():
    assert "find with tool_search" in inventory(specs("a"), 4000)


def test_the_same_for_the_same_tools_in_any_order():
    found = specs("b.x", "a.y", "b.a")
    assert inventory(found, 4000) == inventory(found[::-1], 4000)


def test_where_not_all_names_fit_each_category_keeps_its_number_and_its_share():
    found = [*specs(*(f"a.tool_{n}" for n in range(40))), *specs("b.one", "b.two")]
    first, second = lines(inventory(found, 320))
    assert first.startswith("- a (40): a.tool_0, ")
    assert first.endswith(", …")
    assert second == "- b: b.one, b.two"


def test_nothing_where_there_is_nothing_or_no_room():
    assert inventory([], 4000) == inventory(specs("a"), 0) == inventory(specs("a"), 10) == ""


@given(
    st.lists(st.tuples(st.text("abcé.", min_size=1, max_size=12), st.sampled_from(["", "x", "y"])), max_size=60),
    st.integers(0, 600),
)
def test_never_more_than_its_bytes(found, most):
    made = inventory([ToolSpec(name=name, category=category) for name, category in found], most)
    assert len(made.encode()) <= most
