"""How each tool that was used had been offered, from logs that are written by hand (DEFR-06)."""

from __future__ import annotations

import pytest
from routing_log import Log, payload_text, turns_of

from callslip.core import canon
from callslip.core.event import Stored, draft
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.function_response import FunctionResponse
from callslip.core.undoing import REVERT
from callslip.stats.routing.fold import Turns
from callslip.stats.routing.judge import afterwards, judge, offers, overlooked, unused
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.requirement("DEFR-06")


def hows(log):
    """Of the last turn: tool, how, rank, and steps from the offer to the call."""
    return [
        (one.tool, one.how, one.offer and one.offer.rank, one.offer and one.step - one.offer.step)
        for one in judge(turns_of(log)[-1])
    ]


def test_a_preselected_tool_has_the_rank_of_the_preselection():
    log = Log().say("weather?").step("weather", preselected=["route", "weather"]).step()
    assert hows(log) == [("weather", "preselected", 2, 0)]


def test_a_found_tool_has_its_rank_in_the_query_it_fits_best():
    log = (
        Log()
        .say("x")
        .step({"refund": ["mail", "pay"], "write": ["pay", "mail"]})
        .step("now")
        .step("pay", "mail")
        .step()
    )
    assert hows(log) == [("pay", "first", 1, 2), ("mail", "first", 1, 2)]
    (turn,) = turns_of(log)
    assert [one.offer.words for one in judge(turn)] == ["write", "refund"]


def test_the_first_offer_counts():
    log = Log().say("x").step({"pay": ["mail", "pay"]}, preselected=["a", "b", "pay"]).step("pay").step()
    assert hows(log) == [("pay", "preselected", 3, 1)]


def test_after_a_search_that_led_to_nothing_a_tool_comes_late():
    log = Log().say("x").step({"give back": ["mail"]}).step({"refund": ["pay"]}).step("pay").step()
    assert hows(log) == [("pay", "later", 1, 1)]


def test_a_search_for_another_need_makes_nothing_late():
    log = Log().say("x").step({"write": ["mail"]}).step("mail").step({"refund": ["pay"]}).step("pay").step()
    assert hows(log) == [("mail", "first", 1, 1), ("pay", "first", 1, 1)]
    before = Log().say("x").step({"write": ["mail"]}).step({"refund": ["pay"]}).step("pay", "mail").step()
    assert hows(before) == [("pay", "first", 1, 1), ("mail", "first", 1, 2)]


def test_a_query_that_found_nothing_makes_late_what_another_search_finds():
    log = Log().say("x").step({"write": ["mail"], "give back": ["nothing", "cal"]}).step("mail")
    assert hows(log.step({"refund": ["pay"]}).step("pay").step()) == [("mail", "first", 1, 1), ("pay", "later", 1, 1)]
    together = Log().say("x").step({"give back": ["nothing"], "refund": ["pay"]}).step("pay").step()
    assert hows(together) == [("pay", "first", 1, 1)]
    named = Log().say("x").step({"write": ["mail"], "select:pya": ["nothing"]}).step("mail").step({"refund": ["pay"]})
    assert hows(named.step("pay").step()) == [("mail", "first", 1, 1), ("pay", "first", 1, 1)]


def test_a_search_beside_another_is_not_earlier():
    log = Log().say("x").step({"chess": ["nothing"]}, {"refund": ["pay"]}).step("pay").step()
    assert hows(log) == [("pay", "first", 1, 1)]


def test_a_call_without_an_offer_is_missed_whatever_comes_afterwards():
    log = Log().say("x").step("pay").step({"select:pay": ["pay"]}).step("pay").step()
    assert hows(log) == [("pay", "missed", None, -1)]
    (turn,) = turns_of(log)
    assert judge(turn)[0].unshown
    assert judge(turn)[0].offer.by == "named"


def test_a_call_beside_the_search_that_finds_it_is_early_and_not_missed():
    log = Log().say("x").step({"refund": ["pay"]}, "pay").step("pay").step()
    assert hows(log) == [("pay", "first", 1, 0)]


def test_what_is_asked_for_by_its_name_has_no_rank():
    assert hows(Log().say("x").step({" Select:pay": ["pay"]}).step("pay").step()) == [("pay", "named", None, 1)]
    both = Log().say("x").step({"select:pay": ["pay"], "refund": ["mail", "pay"]}).step("pay").step()
    assert hows(both) == [("pay", "first", 2, 1)]
    late = Log().say("x").step({"refund": ["mail"]}).step({"select:pay": ["pay"]}).step("pay").step()
    assert hows(late) == [("pay", "later", None, 1)]


def test_pinned_tools_say_nothing():
    log = Log().say("x").step({"time": ["now", "clock"]}).step("now").step()
    (turn,) = turns_of(log)
    assert judge(turn) == []
    assert turn.led_on(turn.searches[0])
    assert unused(turn) == {"clock": "found"}


def test_offers_end_with_their_turn():
    log = Log().say("x").step({"refund": ["pay"]}).step().say("y").step("pay").step()
    assert hows(log) == [("pay", "missed", None, None)]


def test_what_a_fork_carries_over_holds_in_its_first_turn():
    log = Log(carried=["pay"]).say("x").step("pay").step().say("y").step("pay").step()
    assert [[one.how for one in judge(turn)] for turn in turns_of(log)] == [["carried"], ["missed"]]


def test_names_are_forgiven_as_the_gate_does():
    log = Log().say("x").step("functions.pay(amount=1)").step()
    assert hows(log)[0][:2] == ("pay", "missed")


def test_what_does_not_exist_was_not_missed():
    assert hows(Log().say("x").step("nonsense").step()) == []


def test_what_was_chosen_and_not_made_was_not_offered_in_vain():
    log = Log().say("x").step({"refund": ["denied", "pay", "mail"]}).step("denied", "pay").step()
    (turn,) = turns_of(log)
    assert list(turn.used) == ["pay"]
    assert unused(turn) == {"mail": "found"}


def test_a_turn_that_goes_on_has_offered_nothing_in_vain():
    log = Log().say("x").step({"refund": ["pay"]}, preselected=["mail"])
    assert unused(turns_of(log)[0]) == {}
    assert unused(turns_of(log.step())[0]) == {"mail": "preselected", "pay": "found"}


@pytest.mark.parametrize(("rest", "after"), [
    ([[{"b": ["pay"]}], []], "found"), ([[{"b": ["nothing"]}], ["now"], []], "went_on"),
    ([[{"b": ["nothing"]}], []], "ended"), ([[]], "ended"), ([], "open"),
])  # fmt: skip
def test_what_comes_after_nothing_fits(rest, after):
    log = Log().say("x").step({"a": ["nothing", "mail"]})
    for calls in rest:
        log.step(*calls)
    (turn,) = turns_of(log)
    assert afterwards(turn, turn.searches[0]) == after


def test_a_tool_that_was_merely_near_and_is_used_was_overlooked():
    log = Log().say("x").step({"a": ["nothing", "mail", "pay"]}).step({"select:pay": ["pay"]}).step("pay").step()
    (turn,) = turns_of(log)
    assert [overlooked(turn, search) for search in turn.searches] == [True, False]


def test_erased_words_leave_the_rest():
    log = Log().say("x")
    log.step({"refund": ["pay"]})
    (turn,) = turns_of(log.step("pay").step())
    turn.searches[0].addresses = frozenset({"sealed:1"})
    for event, gone in ((BlobErased(actor="a", reason="r", addresses=("sealed:2",)), False),
                        (BlobErased(actor="a", reason="r", whole=True), True)):  # fmt: skip
        turns = Turns("s")
        turns.found = [turn]
        record = draft(event, at=1, by="t", epoch=1, run="r").record
        turns.add(Stored(seq=99, digest=b"", record=record))
        assert (turn.searches[0].queries[0].text is None) is gone
    assert [(one.how, one.offer.words, one.offer.rank) for one in judge(turn)] == [("first", None, 1)]


def test_a_search_that_cannot_be_read_still_says_what_it_found():
    log = Log().say("x").step({"refund": ["mail", "pay"]}).step("pay").step()
    turns = Turns("s")
    for stored in log.records:
        turns.add(stored, None)
    (turn,) = turns.found
    assert not turn.searches[0].readable
    assert [(one.tool, one.how, one.offer.rank) for one in judge(turn)] == [("pay", "first", None)]


@pytest.mark.parametrize(("said", "many"), [
    ([{"tools": ["a", "b"], "why": "no room"}, {"tools": ["c"], "why": "too large"}], 3),
    ([{"tool": "a", "why": "no room"}, {"tool": "b", "why": "no room"}], 2), (None, 0), ("a", 0),
])  # fmt: skip
def test_tools_without_room_are_counted_also_in_logs_that_gave_each_its_reason(said, many):
    log = Log().say("x").step({"refund": ["pay"]})
    turns = Turns("s")
    for stored in log.records:
        payload = turns.wants(stored.record.event)
        answer = isinstance(stored.record.event, FunctionResponse)
        text = canon.canonical({"results": [], "not_shown": said}) if answer else payload_text(payload)
        turns.add(stored, text)
    assert turns.found[0].searches[0].no_room == many


def test_undoing_a_turn_is_no_step_of_it():
    log = Log().say("x").step({"refund": ["pay"]}).step("pay").step()
    steps = turns_of(log)[0].steps
    LogBuilder.step(log, "undo", step="1.9", turn=1, model=REVERT, undoes="call-1.2-0")
    (turn,) = turns_of(log)
    assert (turn.steps, turn.ended, list(turn.used)) == (steps, True, ["pay"])


def test_what_is_always_shown_is_not_offered():
    log = Log().say("x").step({"time": ["now", "clock"]}).step("clock").step()
    (turn,) = turns_of(log)
    assert list(offers(turn)) == ["clock"]
    assert hows(log) == [("clock", "first", 2, 1)]
    assert unused(turn) == {}
