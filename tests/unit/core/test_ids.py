"""Ids: which are random, which come out the same on every replay, and which session names are refused."""

from __future__ import annotations

import re

import pytest

from callslip.core import ids
from callslip.errors import UsageError


@pytest.mark.requirement("CALL-03")
class TestCallIds:
    def test_the_same_place_has_the_same_id_for_ever(self):
        assert ids.call_id("s", "1.1", 0) == ids.call_id("s", "1.1", 0) == "call_gbo72zake5v2fzbla2dkrbij"

    def test_every_part_of_the_place_counts(self):
        places = [("s", "1.1", 0), ("s", "1.1", 1), ("s", "1.2", 0), ("t", "1.1", 0), ("s1", ".1", 0)]
        assert len({ids.call_id(*place) for place in places}) == len(places)

    def test_it_obeys_every_providers_rule_for_ids(self):
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", ids.call_id("ä" * 200, "step\n", 10**6))


@pytest.mark.requirement("RECO-06")
class TestIdempotencyKeys:
    def key(self, **changed):
        parts = {"installation_key": b"k" * 32, "session": "s", "call": "c", "arguments_digest": "d"} | changed
        return ids.idempotency_key(**parts)

    def test_stable(self):
        assert self.key() == self.key()
        assert re.fullmatch(r"[0-9a-f]{32}", self.key())

    @pytest.mark.parametrize(
        "changed", [{"session": "t"}, {"call": "x"}, {"arguments_digest": "e"}, {"installation_key": b"x" * 32}]
    )
    def test_another_session_call_argument_or_installation_has_another_key(self, changed):
        assert self.key(**changed) != self.key()


def test_random_ids_differ_and_name_what_they_are():
    made = {ids.random_id("run") for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch(r"run_[0-9a-f]{20}", one) for one in made)


@pytest.mark.parametrize("session", ["a", "inv-17", "Grüße 17", "x" * 200, "a/b.c:d"])
def test_session_names(session):
    assert ids.check_session(session) == session


@pytest.mark.parametrize("session", ["", " a", "a ", "a\nb", "a\x00", "\u202eabc", "x" * 201, "\ud800"])
def test_session_names_that_could_mislead_are_refused(session):
    with pytest.raises(UsageError, match="Nothing was written"):
        ids.check_session(session)


@pytest.mark.requirement("CALL-03")
def test_a_callers_step_and_the_loops_step_of_one_name_are_two_calls():
    assert ids.call_id("s", "1.1", 0) != ids.call_id("s", "1.1", 0, caller=True)
