"""Versions as values: what is one, which two are the same, and what is said of them."""

import pytest

from callslip.core import version
from callslip.core.version import Version

pytestmark = pytest.mark.requirement("PARA-02")

THREE = Version(of="ticket:7", value=3)


def test_only_what_keeps_everybody_else_out_is_a_claim_of_ones_own():
    claims = ("ticket:{id}", "read file:{path}", "slot:few", "file:{path}", "tree:{folder}", "read desk")
    assert version.own_claims(claims) == ("ticket:{id}", "file:{path}", "tree:{folder}")


@pytest.mark.parametrize("value", [None, "", 'W/"33a6"', 0, -1, 2**63 - 1, -(2**63), "x" * 1000])
def test_what_is_a_version(value):
    assert version.unusable(value) is None


@pytest.mark.parametrize("value", [True, 1.0, b"1", ["1"], 2**63, "x" * 1001, "a\udfff", object()])
def test_what_is_none(value):
    assert version.unusable(value)


@pytest.mark.parametrize(
    ("given", "found"),
    [({}, None), ({"v": None}, None), ({"v": 5}, 5), ({"v": "5"}, "5"), ({"v": 5.0}, 5), ({"v": 5.5}, "5.5"),
     ({"v": [5]}, "[5]"), ({"v": 0}, 0), ({"v": ""}, "")],
)  # fmt: skip
def test_what_a_call_says_it_is_for(given, found):
    assert version.expected("v", given) == found


def test_where_nothing_is_declared_nothing_is_said():
    assert version.expected("", {"": 5}) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [(5, 5, True), (5, "5", True), ("5", 5, True), (5, 6, False), ("a", "A", False), (None, None, True),
     (None, "None", False), (0, None, False), ("", None, False), (True, 1, False)],
)  # fmt: skip
def test_which_two_are_the_same(one, other, same):
    assert version.same(one, other) is same
    assert version.same(other, one) is same


class TestWords:
    def test_of_a_call_that_was_not_made(self):
        assert version.conflict(THREE, 2) == (
            "ticket:7 has version 3 now, and this call was made for version 2. Nothing was executed. "
            "Read it again and decide anew."
        )
        gone = version.conflict(Version(of="ticket:7"), 2)
        assert gone.startswith("ticket:7 is not there, and this call was made for version 2. ")

    def test_of_one_that_its_service_refused_they_are_the_same(self):
        assert version.conflict_at_keeper(THREE, 4) == version.conflict(Version(of="ticket:7", value=4), 3)
        new = version.conflict_at_keeper(Version(of="ticket:7"), 1)
        assert new.startswith("ticket:7 has version 1 now, and this call was made for one that is not there yet. ")

    def test_of_a_repeat_nobody_says_that_nothing_happened(self):
        for seen in (THREE, None):
            for now in (4, None):
                assert "Nothing" not in version.unclear(seen, now)

    def test_nobody_is_told_more_than_they_can_read(self):
        long = "x" * 1000
        assert len(version.conflict(Version(of=long, value=long), long)) < 800

    def test_for_the_timeline(self):
        assert version.in_words(THREE) == "version 3 of ticket:7"
        assert version.in_words(Version(of="ticket:7")) == "ticket:7, which is not there yet"


class TestChanges:
    def test_none_where_there_is_none_and_where_nothing_moved(self):
        assert version.changes(None, None, named=False) is None
        assert version.changes(THREE, THREE, named=False) is None
        assert version.changes(THREE, Version(of="ticket:7", value="3"), named=False) is None

    def test_another_version_unless_the_call_names_the_one_there_is(self):
        four = Version(of="ticket:7", value=4)
        assert version.changes(THREE, four, named=False)
        assert version.changes(THREE, four, named=True) is None

    def test_of_another_thing_whatever_is_named(self):
        for named in (True, False):
            other = version.changes(THREE, Version(of="ticket:8", value=3), named=named)
            assert other == "it changes ticket:8, not ticket:7"

    def test_what_had_none_before_or_has_none_any_more(self):
        assert version.changes(None, THREE, named=False)
        assert version.changes(THREE, None, named=False)
