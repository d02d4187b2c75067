"""Which found tools become visible: all that there is room for, and none that was visible makes way."""

import pytest
from hypothesis import given, strategies as st

from callslip.core.activation import Found, Room, admit

pytestmark = pytest.mark.requirement("DEFR-02")

WIDE = Room(100, 100_000)


def found(name, tokens=10, version="1"):
    return Found(name, version, tokens)


def names(found):
    return [one.name for one in found]


class TestRoom:
    def test_what_fits_is_taken_best_first(self):
        made = admit([found("b"), found("a")], visible=[], active=[], room=WIDE)
        assert (made.visible, names(made.activated), made.refused) == (("b", "a"), ["b", "a"], ())

    def test_by_number(self):
        made = admit([found("b"), found("c")], visible=[], active=[found("a")], room=Room(2, 1000))
        assert names(made.activated) == ["b"]
        (refused,) = made.refused
        assert refused.name == "c"
        assert refused.why == "no more than 2 found tools are shown in a turn, and so many are"

    def test_by_the_size_of_schemas(self):
        made = admit([found("b", 60), found("c", 50)], visible=[], active=[found("a", 40)], room=Room(9, 100))
        assert names(made.activated) == ["b"]
        assert "about 50 tokens, and of the turn's 100 only 0 are left" in made.refused[0].why

    def test_a_large_one_leaves_its_place_to_a_smaller_one(self):
        made = admit([found("huge", 500), found("small", 50)], visible=[], active=[], room=Room(9, 100))
        assert made.visible == ("small",)
        assert made.refused[0].why == "its schema takes about 500 tokens, and a turn has 100 for found tools"

    def test_what_can_be_called_anyway_needs_none(self):
        made = admit([found("pinned"), found("a")], visible=["pinned"], active=[found("a")], room=Room(1, 10))
        assert (made.visible, made.activated, made.refused) == (("pinned", "a"), (), ())

    def test_twice_is_once(self):
        made = admit([found("a"), found("a")], visible=[], active=[], room=WIDE)
        assert (made.visible, names(made.activated)) == (("a",), ["a"])

    def test_a_sibling_and_the_log_may_both_name_one(self):
        made = admit([found("b")], visible=[], active=[found("a"), found("a")], room=Room(2, 1000))
        assert names(made.activated) == ["b"]


tools = st.lists(st.builds(Found, st.sampled_from("abcdefgh"), st.just("1"), st.integers(1, 50)), max_size=8)


@given(wanted=tools, active=tools, visible=st.lists(st.sampled_from("abcdefgh")), most=st.integers(1, 6))
def test_nothing_is_ever_dropped_and_the_room_is_kept(wanted, active, visible, most):
    room = Room(most, 80)
    known = {one.name: one for one in active}
    made = admit(wanted, visible=visible, active=active, room=room)
    said = {*made.visible, *(one.name for one in made.refused)}
    assert said == {one.name for one in wanted}, "each is told of"
    assert not {one.name for one in made.activated} & {*visible, *known}
    if made.activated:
        assert len(known) + len(made.activated) <= most
        assert sum(one.tokens for one in (*known.values(), *made.activated)) <= 80
