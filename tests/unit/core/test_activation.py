"""Which found tools become visible: all that there is room for, and none that was visible makes way."""

import pytest
from hypothesis import given, strategies as st

from callslip.core.activation import Found, Room, admit, no_room

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
        made = admit([found("b"), found("c")], visible=[], active=[found("a")], room=Room(2, 1000), sure="named")
        assert names(made.activated) == ["b"]
        (refused,) = made.refused
        assert refused.name == "c"
        assert refused.why == (
            "no more than 2 found tools are shown in a turn, and so many are: use what you are shown, or end your turn; "
            "the next one begins anew"
        )

    def test_by_the_size_of_schemas(self):
        room, active = Room(9, 100), [found("a", 40)]
        made = admit([found("b", 60), found("c", 50)], visible=[], active=active, room=room, sure="named")
        assert names(made.activated) == ["b"]
        assert made.refused[0].why.startswith(
            "the schema takes room, and all of a turn's 100 tokens for found tools are taken: use what you are"
        )

    def test_a_large_one_leaves_its_place_to_a_smaller_one(self):
        made = admit([found("huge", 500), found("small", 50)], visible=[], active=[], room=Room(9, 100))
        assert made.visible == ("small",)
        assert made.refused[0].why == (
            "the schema takes more than the 100 tokens that found tools may take: it can never be shown, so do without it"
        )

    def test_what_can_be_called_anyway_needs_none(self):
        made = admit([found("pinned"), found("a")], visible=["pinned"], active=[found("a")], room=Room(1, 10))
        assert (made.visible, made.activated, made.refused) == (("pinned", "a"), (), ())

    def test_twice_is_once(self):
        made = admit([found("a"), found("a")], visible=[], active=[], room=WIDE)
        assert (made.visible, names(made.activated)) == (("a",), ["a"])

    def test_a_sibling_and_the_log_may_both_name_one(self):
        made = admit([found("b")], visible=[], active=[found("a"), found("a")], room=Room(3, 1000))
        assert names(made.activated) == ["b"]


class TestShares:
    """A guess takes no place from what is searched for, and what is found by words none from what is named."""

    MANY = tuple(found(f"t{number}", 1) for number in range(30))

    @pytest.mark.parametrize(
        ("room", "guessed", "by_words", "named"),
        [(1, 0, 1, 1), (2, 1, 1, 2), (3, 1, 2, 3), (5, 2, 4, 5), (6, 3, 4, 6), (20, 10, 16, 20)],
    )
    def test_how_many_of_each_fill_a_turn(self, room, guessed, by_words, named):
        for sure, most in (("guessed", guessed), ("found", by_words), ("named", named)):
            made = admit(self.MANY, visible=[], active=[], room=Room(room, 1000), sure=sure)
            assert len(made.activated) == most, sure

    def test_how_large_they_may_be_together(self):
        for sure, most in (("guessed", 50), ("found", 80), ("named", 100)):
            wanted = [found(f"t{number}", 10) for number in range(30)]
            made = admit(wanted, visible=[], active=[], room=Room(100, 100), sure=sure)
            assert sum(one.tokens for one in made.activated) == most, sure

    def test_in_the_turn_altogether_whatever_came_first(self):
        active = [found("a"), found("b")]
        assert admit([found("c")], visible=[], active=active, room=Room(5, 1000), sure="guessed").activated == ()

    def test_what_is_named_among_what_is_found_by_words_goes_by_its_own(self):
        wanted = [found("a"), found("b"), found("c"), found("d")]
        made = admit(wanted, visible=[], active=[found("x")], room=Room(4, 1000), named={"d"})
        assert names(made.activated) == ["a", "b", "d"]

    def test_where_only_words_are_out_of_room_the_way_by_name_is_said(self):
        (places,) = admit([found("c")], visible=[], active=[found("a")], room=Room(2, 1000)).refused
        assert places.why == (
            "what is found by words may fill 1 of a turn's 2 places, and it is taken: the rest is for what is asked for by "
            "name, and the query 'select:NAME' shows it"
        )
        (size,) = admit([found("c", 90)], visible=[], active=[], room=Room(9, 100)).refused
        assert size.why == (
            "what is found by words may fill 80 of a turn's 100 tokens, and the schema takes more than is left of them: the "
            "rest is for what is asked for by name, and the query 'select:NAME' shows it"
        )
        many = admit([found("d"), found("e")], visible=[], active=[found(x) for x in "abc"], room=Room(4, 1000)).refused
        assert len({one.why for one in many}) == 1, "it can be said once for all"
        assert "fill 3 of a turn's 4 places, and they are taken: " in many[0].why

    def test_one_is_one(self):
        assert no_room(found("b"), active=[found("a")], room=Room(1, 1000)).startswith(
            "no more than 1 found tool is shown in a turn, and one is: use what you are shown, or end"
        )
        assert "more than the 1 token that found tools may take: " in no_room(found("b"), active=[], room=Room(9, 1))
        assert "more than the 1 token left of a turn's 100: " in no_room(
            found("c"), active=[found("a", 99)], room=Room(9, 100)
        )

    def test_where_there_are_no_turns_nobody_is_told_to_end_one(self):
        rooms = [(Room(1, 1000, turns=False), "at once, and one is"), (Room(2, 20, turns=False), "left of 20"),
                 (Room(9, 15, turns=False), "all of 15 tokens")]  # fmt: skip
        for room, said in rooms:
            why = no_room(found("c", 12), active=[found("a", 15)], room=room)
            assert (said in why, "turn" in why) == (True, False)
            assert why.endswith(
                ": search again in your next step; what is found there takes the place of what was found before"
            )
        (by_words,) = admit([found("c")], visible=[], active=[found("a")], room=Room(2, 90, turns=False)).refused
        assert by_words.why.startswith("what is found by words may fill 1 of 2 places, and it is taken")

    def test_what_cannot_be_shown_even_by_its_name_is_told(self):
        assert no_room(found("b"), active=[found("a")], room=Room(2, 1000)) == ""
        assert no_room(found("a"), active=[found("a"), found("b")], room=Room(2, 1000)) == "", "it is shown"
        assert "so many are: use what you are shown" in no_room(
            found("c"), active=[found("a"), found("b")], room=Room(2, 1000)
        )
        assert "the 5 tokens left of a turn's 100: use" in no_room(
            found("c", 10), active=[found("a", 95)], room=Room(9, 100)
        )
        assert "it can never be shown" in no_room(found("c", 101), active=[], room=Room(9, 100))

    def test_a_room_that_was_made_smaller_since_says_no_nonsense(self):
        assert "all of a turn's 100 tokens for found tools are taken" in no_room(
            found("c", 10), active=[found("a", 120)], room=Room(9, 100)
        )


tools = st.lists(st.builds(Found, st.sampled_from("abcdefgh"), st.just("1"), st.integers(1, 50)), max_size=8)


@given(
    wanted=tools, active=tools, visible=st.lists(st.sampled_from("abcdefgh")), most=st.integers(1, 6),
    sure=st.sampled_from(["guessed", "found", "named"]), named=st.sets(st.sampled_from("abcdefgh")),
)  # fmt: skip
def test_nothing_is_ever_dropped_and_the_room_is_kept(wanted, active, visible, most, sure, named):
    room = Room(most, 80)
    known = {one.name: one for one in active}
    made = admit(wanted, visible=visible, active=active, room=room, sure=sure, named=named)
    said = {*made.visible, *(one.name for one in made.refused)}
    assert said == {one.name for one in wanted}, "each is told of"
    assert not {one.name for one in made.activated} & {*visible, *known}
    if made.activated:
        assert len(known) + len(made.activated) <= most
        assert sum(one.tokens for one in (*known.values(), *made.activated)) <= 80
