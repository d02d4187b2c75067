"""Each rule of Mistral: a body that breaks it, and one beside it that does not."""

from __future__ import annotations

import pytest

from callslip.testing.contract import rules_mistral
from callslip.testing.contract.mistral import Mistral

SCHEMA = {"type": "object", "properties": {}}
USER = {"role": "user", "content": "Pay."}
SYSTEM = {"role": "system", "content": "Be brief."}
DONE = {"role": "assistant", "content": "Done."}


def call(call_id="abcdefghi", name="pay", arguments="{}", **more):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def asks(*calls, **more):
    return {"role": "assistant", "content": "", "tool_calls": list(calls or [call()]), **more}


def result(call_id="abcdefghi", **more):
    return {"role": "tool", "tool_call_id": call_id, "content": "Paid.", **more}


def tool(name="pay", **more):
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA, **more}}


def body(*messages, **more):
    return {"model": "m", "messages": list(messages or [USER]), **more}


CASES = [
    ("extra_forbidden", body(stream=True, stream_options={"include_usage": True}), body(stream=True)),
    ("extra_forbidden", body(seed=1), body(random_seed=1)),
    ("extra_forbidden", body(tools=[tool(cache=True)]), body(tools=[tool(strict=True)])),
    ("missing_field", {"messages": [USER]}, body()),
    ("wrong_type", body(parallel_tool_calls="no"), body(parallel_tool_calls=False)),
    ("wrong_type", body(tools={}), body(tools=[])),
    ("out_of_range", body(temperature=1.6), body(temperature=1.5)),
    ("tool_shape", body(tools=[{"type": "function", "name": "pay"}]), body(tools=[tool()])),
    ("tool_shape", body(tools=[tool(parameters=None)]), body(tools=[tool()])),
    ("tool_name", body(tools=[tool("files.read")]), body(tools=[tool("files_read")])),
    ("tool_schema", body(tools=[tool(parameters={"type": "string"})]), body(tools=[tool(parameters={})])),
    ("duplicate_tool", body(tools=[tool(), tool()]), body(tools=[tool(), tool("pay2")])),
    ("tool_choice_shape", body(tools=[tool()], tool_choice="some"), body(tools=[tool()], tool_choice="any")),
    ("tool_choice_shape", body(tools=[tool()], tool_choice={}), body(tools=[tool()], tool_choice="required")),
    (
        "tool_choice_unknown_tool",
        body(tools=[tool()], tool_choice={"type": "function", "function": {"name": "play"}}),
        body(tools=[tool()], tool_choice={"type": "function", "function": {"name": "pay"}}),
    ),
    ("tool_choice_without_tools", body(tool_choice="any"), body(tool_choice="none")),
    ("messages_empty", body(messages=[]), body()),
    ("message_extra", body({**USER, "name": "ann"}), body(USER, asks(), result(name="pay"))),
    ("message_extra", body(USER, {**DONE, "reasoning_content": "x"}, USER), body(USER, DONE, USER)),
    ("message_extra", body(USER, asks(call(extra=1)), result()), body(USER, asks(call(index=0)), result())),
    ("message_shape", body({"role": "developer", "content": "x"}, USER), body(SYSTEM, USER)),
    ("message_shape", body({"role": "system", "content": None}, USER), body(SYSTEM, USER)),
    ("message_shape", body({"role": "user"}), body({"role": "user", "content": None})),
    ("message_shape", body(USER, asks({"id": "abcdefghi"}), result()), body(USER, asks(), result())),
    ("message_shape", body(USER, {**DONE, "tool_calls": {}}, USER), body(USER, {**DONE, "tool_calls": []}, USER)),
    (
        "content_part",
        body({"role": "user", "content": [{"type": "input_text", "text": "x"}]}),
        body({"role": "user", "content": [{"type": "text", "text": "x"}]}),
    ),
    ("call_id_null", body(USER, asks(call("null")), result("null")), body(USER, asks(), result())),
    ("call_id", body(USER, asks(call("call_1234")), result("call_1234")), body(USER, asks(), result())),
    ("call_id", body(USER, asks(call("abcdefgh")), result("abcdefgh")), body(USER, asks(), result())),
    ("call_id", body(USER, asks(call("abcdefghij")), result("abcdefghij")), body(USER, asks(), result())),
    (
        "call_id_repeated",
        body(USER, asks(call(), call()), result(), result()),
        body(USER, asks(), result(), asks(), result()),
    ),
    ("call_name", body(USER, asks(call(name="files.read")), result()), body(USER, asks(call(name="f")), result())),
    (
        "arguments_not_object",
        body(USER, asks(call(arguments="{")), result()),
        body(USER, asks(call(arguments={"a": 1})), result()),
    ),
    ("missing_call_id", body(USER, asks(), {"role": "tool", "content": "x"}), body(USER, asks(), result())),
    ("unexpected_result", body(USER, asks(), result("ihgfedcba")), body(USER, asks(), result())),
    ("unexpected_result", body(USER, DONE, result()), body(USER, asks(), result())),
    ("result_twice", body(USER, asks(), result(), result()), body(USER, asks(), result())),
    (
        "unanswered_call",
        body(USER, asks(call("a" * 9), call("b" * 9)), result("b" * 9)),
        body(USER, asks(call("a" * 9), call("b" * 9)), result("b" * 9), result("a" * 9)),
    ),
    ("unanswered_call", body(USER, asks(), USER), body(USER, asks(), result(), DONE, USER)),
    ("role_order", body(USER, asks(), result(), USER), body(USER, asks(), result(), DONE, USER)),
    ("role_order", body(USER, result()), body(USER, asks(), result())),
    ("role_order", body(USER, DONE, SYSTEM, USER), body(SYSTEM, USER, DONE, USER)),
    ("role_order", body(result()), body(USER)),
    ("last_role", body(USER, DONE), body(USER, {**DONE, "prefix": True})),
    ("last_role", body(SYSTEM), body(SYSTEM, USER)),
    ("assistant_says_nothing", body(USER, {"role": "assistant", "content": ""}, USER), body(USER, DONE, USER)),
    ("prefix_not_last", body(USER, {**DONE, "prefix": True}, USER), body(USER, {**DONE, "prefix": False}, USER)),
    ("lone_surrogate", body({"role": "user", "content": "\udc00"}), body({"role": "user", "content": "😀"})),
]


@pytest.mark.parametrize(("rule", "wrong", "right"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_a_rule_is_broken_by_one_body_and_kept_by_the_next(rule, wrong, right):
    assert rule in {violation.rule for violation in rules_mistral.check(wrong)}
    assert rules_mistral.check(right) == []


def test_every_rule_has_a_case_and_a_source():
    assert {case[0] for case in CASES} | {"text_too_long"} == set(rules_mistral.SOURCES)
    for source in rules_mistral.SOURCES.values():
        assert source.startswith(("github.com/", "Mistral docs, "))


def refused(wrong):
    form = Mistral()
    return form.refusal(form.check(wrong, {}, "/v1/chat/completions"))


def test_a_wrong_shape_is_422_with_the_place():
    status, said = refused(body({**USER, "name": "ann"}, seed=1))
    assert status == 422
    assert said["object"] == "error"
    assert [(one["type"], one["loc"]) for one in said["message"]["detail"]] == [
        ("extra_forbidden", ["body", "seed"]),
        ("extra_forbidden", ["body", "messages", 0, "user", "name"]),
    ]


def test_a_wrong_conversation_is_400_in_the_vendors_words():
    status, said = refused(body(USER, asks(), result(), USER))
    assert (status, said["code"], said["message"]) == (400, "3230", "Unexpected role 'user' after role 'tool'")
