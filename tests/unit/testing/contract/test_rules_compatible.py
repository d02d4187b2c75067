"""What chat templates add to OpenAI's rules."""

from __future__ import annotations

import pytest

from callslip.testing.contract import rules_compatible, rules_openai_chat
from callslip.testing.contract.compatible import Compatible

USER = {"role": "user", "content": "Pay."}
SYSTEM = {"role": "system", "content": "Be brief."}
DONE = {"role": "assistant", "content": "Done."}
CALL = {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
OTHER = {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": "call_2"}]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "Paid."}


def body(*messages):
    return {"model": "m", "messages": list(messages)}


CASES = [
    ("system_not_first", body(USER, SYSTEM), body(SYSTEM, USER)),
    ("role_unknown_to_templates", body({"role": "developer", "content": "x"}, USER), body(SYSTEM, USER)),
    ("content_blank", body({"role": "user", "content": " \n"}), body(USER)),
    ("content_blank", body({"role": "user", "content": [{"type": "text", "text": ""}]}), body(USER)),
    ("content_blank", body(USER, {**ASKS, "content": ""}, RESULT), body(USER, ASKS, RESULT)),
    (
        "call_id_reused",
        body(USER, ASKS, RESULT, ASKS, RESULT),
        body(USER, ASKS, RESULT, OTHER, {**RESULT, "tool_call_id": "call_2"}),
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "right"), CASES)
def test_a_rule_is_broken_by_one_body_and_kept_by_the_next(rule, wrong, right):
    assert [violation.rule for violation in rules_compatible.check(wrong)] == [rule]
    assert rules_compatible.check(right) == []


def test_openai_itself_takes_all_of_that():
    for _, wrong, _ in CASES:
        assert rules_openai_chat.check(wrong) == []


def test_its_rules_are_openais_and_more():
    assert rules_openai_chat.SOURCES.items() <= rules_compatible.SOURCES.items()
    assert [violation.rule for violation in rules_compatible.check(body(USER, ASKS))] == ["unanswered_call"]


def test_turns_alternate_only_where_it_is_asked_for():
    twice = body(SYSTEM, USER, USER)
    assert Compatible().check(twice, {}, "") == []
    assert [one.rule for one in Compatible(alternating=True).check(twice, {}, "")] == ["roles_do_not_alternate"]
    in_turns = body(SYSTEM, USER, ASKS, RESULT, DONE, USER)
    assert Compatible(alternating=True).check(in_turns, {}, "") == []
    begun = body(DONE, USER)
    assert [one.path for one in Compatible(alternating=True).check(begun, {}, "")] == ["messages[0].role"]


def test_every_added_rule_has_a_case():
    added = set(rules_compatible.SOURCES) - set(rules_openai_chat.SOURCES)
    assert {case[0] for case in CASES} | {"roles_do_not_alternate"} == added
