"""How well tools are found, added up (DEFR-06)."""

from __future__ import annotations

import msgspec
import pytest
from routing_log import Log, turns_of

from callslip.stats.routing.figures import After
from callslip.stats.routing.tally import Tally

pytestmark = pytest.mark.requirement("DEFR-06")
FAR = ["a", "b", "c", "d", "e", "far"]


def figures(*logs, uses=False):
    tally = Tally(uses=uses)
    for turn in turns_of(*logs):
        tally.add(turn)
    return tally.stats()


def logs():
    yield Log("1").say("x").step("weather", preselected=["route", "weather"]).step()
    yield Log("2").say("x").step({"refund": ["pay"]}, "pay").step("pay").step()
    yield Log("3").say("x").step({"far": FAR}).step("far").step()
    yield Log("4").say("x").step({"give back": ["nothing", "pay"]}).step({"refund": ["pay", "huge"]}).step("pay").step()
    yield Log("5").say("x").step("pay").step({"select:pay": ["pay"]}).step("pay").step()
    yield Log("6").say("x").step("pay").step({"refund": ["pay"]}).step("pay").step()
    yield Log("7").say("x").step({"select:pay": ["pay"]}).step("pay").step()
    yield Log("8", carried=["pay"]).say("x").step("pay").step()
    yield Log("9").say("x").step({"chess": ["nothing"]})


def test_uses_by_how_the_tool_was_offered():
    found = figures(*logs())
    assert (found.turns, found.open, found.used) == (9, 1, 8)
    assert (found.preselected, found.first, found.later, found.missed, found.named, found.carried) == (1, 2, 1, 2, 1, 1)
    assert found.recall == pytest.approx(3 / 6)  # neither what is named nor what a fork brought
    assert found.recall_at_5 == pytest.approx(2 / 6)  # one was the sixth
    assert (found.first_place, found.early) == (1, 1)
    assert (found.missed_then_named, found.missed_then_found, found.missed_in_vain) == (1, 1, 0)


def test_what_was_missed_and_never_worked_is_told_apart():
    guess = Log("1").say("hello").step("pay").step()
    failed = Log("2").say("x").step("pay").step({"select:pay": ["pay"]}).step("pay", fails=["pay"]).step()
    found = figures(guess, failed, *logs())
    assert (found.missed, found.missed_in_vain) == (4, 2)


def test_offers_in_vain():
    found = figures(*logs())
    # route; a to e; huge. Of the offers: 2, 1, 6, 2 and the one after a call that was too early.
    assert (found.unused_preselected, found.unused_found, found.offered) == (1, 6, 12)
    assert {row.tool: row.unused for row in found.tools if not row.used} == dict.fromkeys(
        [*"abcde", "huge", "route"], 1
    )


def test_searches_and_what_came_after_nothing():
    found = figures(*logs())
    assert (found.searches, found.turns_with_search, found.most_searches) == (8, 7, 2)
    assert (found.queries, found.nothing) == (8, 2)
    assert found.after_nothing == After(found=1, went_on=0, ended=0, open=1)
    assert (found.overlooked, found.no_room, found.unreadable) == (1, 1, 0)


def test_searches_that_were_not_made_are_told_by_code():
    log = Log().say("x").step("tool_search")
    log.records = log.records[:-2]  # neither dispatch nor answer
    log._dispatches = {}
    log.refuse(0, code="budget_spent")
    found = figures(log)
    assert (found.unanswered, found.searches, found.queries) == ({"budget_spent": 1}, 1, 0)


def test_tools_in_a_request():
    log = Log().say("x").step({"refund": ["pay", "mail"]}).step("pay").step()
    found = figures(log)
    assert (found.requests, found.tools_shown, found.tools_shown_found) == (
        3,
        pytest.approx(10 / 3),
        pytest.approx(4 / 3),
    )


def test_one_row_a_tool():
    found = figures(*logs())
    pay = next(row for row in found.tools if row.tool == "pay")
    assert found.tools[0] is pay
    assert (pay.used, pay.first, pay.later, pay.missed, pay.named, pay.carried) == (6, 1, 1, 2, 1, 1)
    assert (pay.recall, pay.rank, pay.worst_rank, pay.unused) == (0.25, 1, 1, 0)
    assert [(row.recall, row.rank) for row in found.tools if row.tool == "far"] == [(1.0, 6)]


def test_a_tool_counts_once_in_a_turn():
    found = figures(Log().say("x").step({"refund": ["pay"]}).step("pay", "pay").step("pay").step())
    assert (found.used, found.tools[0].used) == (1, 1)


def test_uses_are_kept_only_if_asked_for():
    assert figures(*logs()).uses == ()
    found = figures(*logs(), uses=True).uses
    said = [(use.session, use.tool, use.how, use.rank, use.steps, use.words) for use in found[:5]]
    assert said == [
        ("1", "weather", "preselected", 2, 0, "x"), ("2", "pay", "first", 1, 0, "refund"),
        ("3", "far", "first", 6, 1, "far"), ("4", "pay", "later", 1, 1, "refund"),
        ("5", "pay", "missed", None, None, None),
    ]  # fmt: skip


def test_nothing_at_all():
    found = figures()
    assert (found.turns, found.recall, found.recall_at_5, found.tools_shown, found.tools) == (0, None, None, None, ())
    assert msgspec.json.encode(found)
