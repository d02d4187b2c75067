"""What turns teach, as labelled data (DEFR-06)."""

from __future__ import annotations

import pytest
from routing_log import Log, turns_of

from callslip.stats.routing.cases import cases
from callslip.stats.routing.turn import Saying

pytestmark = pytest.mark.requirement("DEFR-06")


def told(log):
    (turn,) = turns_of(log)
    return [(case.kind, case.text, list(case.gold), list(case.offered)) for case in cases(turn).cases]


def test_a_query_teaches_what_was_used_of_what_it_gave():
    log = Log().say("x").step({"refund": ["mail", "pay"], "write": ["mail"]}).step("pay").step()
    assert told(log) == [("found", "refund", ["pay"], ["mail", "pay"])]


def test_a_query_that_led_to_nothing_teaches_what_was_right():
    log = Log("t").say("x").step({"give back": ["mail"]}).step({"refund": ["pay"]}).step("pay").step()
    assert told(log) == [
        ("late", "give back", ["pay"], ["mail"]), ("found", "refund", ["pay"], ["pay"]),
    ]  # fmt: skip
    (turn,) = turns_of(log)
    assert [(case.session, case.turn) for case in cases(turn).cases] == [("t", 1), ("t", 1)]


def test_of_queries_that_were_asked_together_nobody_knows_which_one_it_was():
    log = (
        Log()
        .say("x")
        .step({"a": ["b1", "b2"], "c": ["d1"], "select:z": ["z"]})
        .step({"refund": ["pay"]})
        .step("pay")
        .step()
    )
    assert told(log)[0] == ("late", "a\nc", ["pay"], ["b1", "d1", "b2"])


def test_one_query_of_several_that_found_nothing_teaches_what_was_right():
    log = Log().say("x").step({"write": ["mail"], "give back": ["nothing", "cal"]}).step("mail")
    assert told(log.step({"refund": ["pay"]}).step("pay").step()) == [
        ("found", "write", ["mail"], ["mail"]), ("late", "give back", ["pay"], []), ("found", "refund", ["pay"], ["pay"]),
    ]  # fmt: skip
    failed = Log().say("x").step({"write": ["mail"], "give back": ["nothing"]}).step("mail").step({"refund": ["pay"]})
    assert told(failed.step("pay", fails=["pay"]).step()) == [("found", "write", ["mail"], ["mail"])]


def test_a_long_query_is_given_whole():
    long = "refund " * 60
    assert told(Log().say("x").step({long: ["pay"]}).step("pay").step())[0][1] == long


def test_what_the_user_said_teaches_what_preselection_should_have_given():
    log = Log().say("pay Ada back").step({"select:pay": ["pay"]}, preselected=["mail"]).step("pay", "mail").step()
    assert told(log) == [("late", "pay Ada back", ["pay", "mail"], ["mail"])]
    found = Log().say("pay Ada back").step("pay", preselected=["mail", "pay"]).step()
    assert told(found) == [("found", "pay Ada back", ["pay"], ["mail", "pay"])]
    vain = Log().say("hello").step(preselected=["mail"])
    assert told(vain) == []


def test_what_the_words_of_a_search_found_is_not_what_was_right_for_what_was_said():
    log = Log().say("ship it").step("ship", preselected=["ship"]).step({"money back": ["pay"]}).step("pay").step()
    assert told(log) == [("found", "ship it", ["ship"], ["ship"]), ("found", "money back", ["pay"], ["pay"])]
    guessed = Log().say("pay Ada back").step("pay", preselected=["mail"]).step({"refund": ["pay"]}).step("pay").step()
    assert told(guessed) == [
        ("missed", "pay Ada back", ["pay"], ["mail"]), ("found", "refund", ["pay"], ["pay"]),
    ]  # fmt: skip


def test_a_plan_teaches_only_what_was_not_offered_before():
    log = Log().say("do it").step("now", preselected=["mail"], text="I look at the time, then I refund.")
    log.step("mail", "pay", preselected=["pay"]).step()
    assert told(log) == [("found", "I look at the time, then I refund.", ["pay"], ["pay"])]


def test_what_was_said_teaches_nothing_of_what_came_after_the_next_saying():
    log = Log().say("book me an appointment").step("now", preselected=["cal"], text="I list every customer first.")
    log.step("now", preselected=["crm"], text="Now I share a document.")
    log.step({"select:pay": ["pay"]}, preselected=["files"]).step("pay").step()
    assert told(log) == [("late", "Now I share a document.", ["pay"], ["files"])]
    plain = Log().say("book me an appointment").step("now", preselected=["cal"], text="I pay Ada back.")
    assert told(plain.step("pay").step({"select:pay": ["pay"]}).step("pay").step()) == [
        ("missed", "I pay Ada back.", ["pay"], [])
    ]


def test_what_the_user_says_meanwhile_ends_what_was_said_before():
    log = Log().say("book me an appointment").step("now", preselected=["cal"])
    log.user("and pay Ada back")
    log.step({"select:pay": ["pay"]}, preselected=["mail"]).step("pay").step()
    assert told(log) == [("late", "and pay Ada back", ["pay"], ["mail"])]


def test_a_guess_that_was_refused_is_no_use():
    assert told(Log().say("hello").step("pay", "mail").step()) == []
    assert told(Log().say("hello").step("pay", preselected=["mail"]).step()) == []


def test_a_call_that_failed_teaches_nothing():
    log = Log().say("hello").step({"refund": ["pay"]}, preselected=["mail"]).step("pay", fails=["pay"]).step()
    assert told(log) == []
    again = Log().say("pay Ada back").step({"refund": ["pay"]}).step("pay", fails=["pay"]).step("pay").step()
    assert told(again) == [("found", "refund", ["pay"], ["pay"])]


def test_what_another_tool_gave_in_its_stead_teaches_nothing():
    log = Log().say("x").step({"refund": ["pay"]}, {"write": ["mail"]}).step("pay", "mail").step()
    (turn,) = turns_of(log, instead=["pay"])
    assert [case.gold for case in cases(turn).cases] == [("mail",)]


def test_a_search_that_led_to_nothing_teaches_nothing_of_what_came_after_the_next_saying():
    log = Log().say("x").step({"average": ["mean"]}, text="I look for an average.")
    log.step("now", text="Now the refund.").step({"refund": ["pay"]}).step("pay").step()
    assert told(log) == [("found", "refund", ["pay"], ["pay"])]


def test_what_is_said_beside_a_search_is_still_about_it():
    log = Log().say("x").step({"give back": ["mail"]}, text="I look for a refund.")
    log.step({"refund": ["pay"]}).step("pay").step()
    assert told(log)[0] == ("late", "give back", ["pay"], ["mail"])
    steered = Log().say("x").step({"give back": ["mail"]})
    steered.user("no, play chess")
    assert told(steered.step({"chess": ["game"]}).step("game").step()) == [("found", "chess", ["game"], ["game"])]


def test_a_call_without_any_offer_teaches_for_the_users_words():
    log = Log().say("pay Ada back").step("pay").step({"select:pay": ["pay"]}).step("pay").step()
    assert told(log) == [("missed", "pay Ada back", ["pay"], [])]


def test_a_call_after_a_search_that_led_to_nothing_teaches_for_its_words():
    log = Log().say("x").step({"give back": ["nothing", "pay"]}).step("pay").step({"select:pay": ["pay"]}).step("pay")
    assert told(log) == [("missed", "give back", ["pay"], [])]


def test_what_is_named_teaches_nothing():
    assert told(Log().say("x").step({"select:pay": ["pay"]}).step("pay").step()) == []


def test_what_a_fork_carried_over_was_not_missed():
    assert told(Log(carried=["pay"]).say("x").step("pay", preselected=["mail"]).step()) == []


def test_words_that_are_gone_are_counted():
    log = Log().say("x").step({"give back": ["mail"]}).step({"refund": ["pay"]}).step("pay")
    (turn,) = turns_of(log.step({"select:cal": ["cal"]}).step("cal").step())
    turn.sayings.append(Saying(step=1, text=None, tools=("mail",)))
    found = cases(turn)
    assert ([case.text for case in found.cases], found.gone) == (["give back", "refund"], ("late",))


def test_of_a_protected_log_that_was_erased_no_word_is_left():
    log = Log().say("[erased]").step("pay").step({"select:pay": ["pay"]}).step("pay").step()
    (turn,) = turns_of(log)
    assert (cases(turn).cases, cases(turn).gone) == ((), ("missed",))


def test_a_search_that_failed_teaches_nothing_of_what_had_come_before():
    log = Log().say("x").step({"refund": ["pay"]}).step("pay").step({"chess": ["nothing"]}).step("pay").step()
    assert told(log) == [("found", "refund", ["pay"], ["pay"])]
