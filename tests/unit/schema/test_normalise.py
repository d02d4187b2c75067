"""What a tool declares to mean something is brought into form, by the moment and the place of the proposal."""

from __future__ import annotations

import datetime

import pytest

from callslip.schema.normalise import Moment, normalise, read_normalisers, zone

pytestmark = pytest.mark.requirement("ARGS-02")
WEDNESDAY = datetime.datetime(2026, 11, 25, 12, tzinfo=datetime.UTC)


def moment(at=WEDNESDAY, where="UTC"):
    return Moment(at=int(at.timestamp() * 1000), zone=zone(where))


def formed(value, how, at=None):
    made, changes = normalise({"v": value}, read_normalisers({"v": how}), at or moment())
    assert bool(changes) == (made != {"v": value})
    assert normalise(made, read_normalisers({"v": how}), at or moment()) == (made, ()), "once is enough"
    return made["v"]


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("today", "2026-11-25"), ("Tomorrow", "2026-11-26"), (" yesterday ", "2026-11-24"),
        ("the day after  tomorrow", "2026-11-27"), ("day before yesterday", "2026-11-23"),
        ("in 3 days", "2026-11-28"), ("in one day", "2026-11-26"), ("in a week", "2026-12-02"), ("in 6 weeks", "2027-01-06"),
        ("2 days from now", "2026-11-27"), ("1 week from today", "2026-12-02"), ("10 days ago", "2026-11-15"),
        ("next monday", "2026-11-30"), ("next Wednesday", "2026-12-02"),
    ],
)  # fmt: skip
def test_words_for_a_day(words, day):
    assert formed(words, "relative_date") == day


@pytest.mark.parametrize(
    "words",
    [
        "next thursday",  # tomorrow, or in eight days
        "next sunday", "monday", "next week", "soon", "in 3 months", "in 0 days", "in -3 days", "in 99999 days", "", "٣ days ago",
        "in ٣ days", "2026-02-30", "2026-11-26", "tomorrow" * 10, "tomorrow evening", 5, None, ["x"], {"day": "tomorrow"},
    ],
)  # fmt: skip
def test_what_is_not_one_day_is_left(words):
    assert formed(words, "relative_date") == words


def test_the_day_is_the_one_where_the_session_is():
    late = moment(datetime.datetime(2026, 2, 27, 23, 30, tzinfo=datetime.UTC), "Europe/Oslo")
    assert formed("tomorrow", "relative_date", late) == "2026-03-01"
    west = moment(datetime.datetime(2026, 2, 27, 3, tzinfo=datetime.UTC), "America/Los_Angeles")
    assert formed("today", "relative_date", west) == "2026-02-26"


def test_a_moment_beyond_the_calendar_leaves_the_words():
    beyond = Moment(at=10**18, zone=datetime.UTC)
    assert formed("today", "relative_date", beyond) == "today"
    last = moment(datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC))
    assert formed("tomorrow", "relative_date", last) == "tomorrow"


def test_other_words_for_a_value():
    units = {"C": "celsius", "centigrade": "celsius"}
    assert [formed(text, units) for text in ("c", " Centigrade", "celsius", "K")] == [
        "celsius",
        "celsius",
        "celsius",
        "K",
    ]


@pytest.mark.parametrize(
    ("path", "made"),
    [
        ("./a//b/./c/", "a/b/c"),
        ("/a/", "/a"),
        ("a/../b", "a/../b"),
        (" a ", "a"),
        (".", "."),
        ("./", "."),
        ("/", "/"),
        ("", ""),
    ],
)
def test_paths(path, made):
    assert formed(path, "path") == made


@pytest.mark.parametrize("text", ["refund a payment", "a, b", " a ", "1", "- a\n- b", "a [b]"])
def test_a_text_alone_is_a_list_of_it(text):
    assert formed(text, "list") == [text]


@pytest.mark.parametrize(
    "value", ["", " ", '["a", "b"]', " [a", '{"a": 1}', '"a", "b"', ["a"], [], [["a"]], 5, None, {"a": "b"}]
)
def test_what_may_be_a_list_already_is_left(value):
    assert formed(value, "list") == value


def test_a_list_within_the_items_of_another():
    declared = read_normalisers({"stays.days": "list"})
    made, changes = normalise({"stays": [{"days": "today"}, {"days": ["today"]}]}, declared, moment())
    assert made == {"stays": [{"days": ["today"]}, {"days": ["today"]}]}
    assert [change.path for change in changes] == [("stays", 0, "days")]


def test_places_inside_objects_and_arrays():
    declared = read_normalisers({"stay.from": "relative_date", "tags": {"x": "y"}})
    value = {"stay": {"from": "today", "to": "today"}, "tags": ["x", "z", ["x"]], "from": "today"}
    made, changes = normalise(value, declared, moment())
    assert made == {"stay": {"from": "2026-11-25", "to": "today"}, "tags": ["y", "z", ["y"]], "from": "today"}
    assert [change.path for change in changes] == [("stay", "from"), ("tags", 0), ("tags", 2, 0)]
    assert value["tags"] == ["x", "z", ["x"]]
    assert normalise({"stay": "today"}, declared, moment()) == ({"stay": "today"}, ())


@pytest.mark.parametrize("how", ["date", "", {"a": "b", "B": "c"}])
def test_a_declaration_that_means_nothing_is_refused(how):
    with pytest.raises(ValueError, match="v"):
        read_normalisers({"v": how})


@pytest.mark.parametrize("name", ["Atlantis", "", "../etc/passwd", "UTC\x00"])
def test_a_zone_that_is_not_there(name):
    with pytest.raises(ValueError, match="no time zone"):
        zone(name)
