"""What of a long request is encoded."""

from hypothesis import given, strategies as st

from callslip.routing.excerpts import excerpts


def test_what_fits_is_kept_whole() -> None:
    assert excerpts(["refund", "and tell them"], 100) == ["refund", "and tell them"]
    assert excerpts([], 100) == []


def test_what_short_wishes_leave_over_goes_to_the_long_ones() -> None:
    assert [len(each) for each in excerpts(["a" * 10, "b" * 200, "c" * 300], 110)] == [10, 50, 50]
    assert [len(each) for each in excerpts(["b" * 200, "a" * 10, "c" * 60], 130)] == [60, 10, 60]


def test_a_character_of_a_script_without_spaces_takes_the_room_of_three() -> None:
    assert excerpts(["查询天气预报"], 18) == ["查询天气预报"]
    assert excerpts(["查询天气预报"], 9) == ["查询天"]


@given(st.lists(st.text(min_size=1), max_size=8), st.integers(0, 400))
def test_every_text_keeps_a_beginning_and_all_fit_the_room(texts: list[str], room: int) -> None:
    kept = excerpts(texts, room)
    assert all(part and whole.startswith(part) for part, whole in zip(kept, texts, strict=True))
    assert sum(map(len, kept)) <= max(room, len(texts)) + len(texts)
