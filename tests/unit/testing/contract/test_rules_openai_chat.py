"""Each rule of Chat Completions: a body that breaks it, and one beside it that does not."""

from __future__ import annotations

import copy

import pytest

from callslip.testing.contract import openai_schema, rules_openai_chat, wire_text

SCHEMA = {"type": "object", "properties": {"cents": {"type": "integer"}}}
TOOL = {"type": "function", "function": {"name": "pay", "parameters": SCHEMA}}
USER = {"role": "user", "content": "Pay."}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


def call(call_id="call_1", name="pay", arguments='{"cents": 5}', **more):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def asks(*calls, **more):
    return {"role": "assistant", "content": None, "tool_calls": list(calls or [call()]), **more}


def result(call_id="call_1", content="Paid.", **more):
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def body(*messages, **more):
    return {"model": "m", "messages": list(messages or [USER]), **more}


def offering(*tools, **more):
    return body(tools=list(tools), **more)


def tool(name="pay", **more):
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA, **more}}


ALLOWED = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "pay"}}]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
# rule, a body that breaks it, one that does not
CASES = [
    ("unknown_field", body(top_k=3), body(top_p=0.3)),
    ("unknown_field", offering(tool(cache=True)), offering(tool(description="Pay."))),
    ("unknown_field", body(stream=True, stream_options={"usage": True}), body(stream=True, stream_options={})),
    ("missing_field", {"messages": [USER]}, body()),
    ("wrong_type", body(stream="yes"), body(stream=True)),
    ("wrong_type", body(temperature="1"), body(temperature=1)),
    ("wrong_type", offering(tool(description=3)), offering(tool(description="3"))),
    ("wrong_type", offering(tool(strict="no")), offering(tool(strict=False))),
    ("out_of_range", body(temperature=2.5), body(temperature=2)),
    ("two_token_limits", body(max_tokens=9, max_completion_tokens=9), body(max_completion_tokens=9)),
    (
        "stream_options_without_stream",
        body(stream_options={"include_usage": True}),
        body(stream=True, stream_options={"include_usage": True}),
    ),
    ("tools_empty", body(tools=[]), offering(TOOL)),
    (
        "too_many_tools",
        offering(*(tool(f"t{number}") for number in range(129))),
        offering(*(tool(f"t{number}") for number in range(128))),
    ),
    ("tool_shape", offering({"type": "function", "name": "pay"}), offering(TOOL)),
    ("tool_shape", offering({"function": TOOL["function"]}), offering({"type": "custom", "custom": {"name": "pay"}})),
    ("tool_name", offering(tool("files.read")), offering(tool("files_read"))),
    ("tool_name", offering(tool("t" * 65)), offering(tool("t" * 64))),
    ("duplicate_tool", offering(TOOL, TOOL), offering(TOOL, tool("pay2"))),
    ("tool_choice_without_tools", body(tool_choice="auto"), offering(TOOL, tool_choice="auto")),
    ("tool_choice_shape", offering(TOOL, tool_choice="any"), offering(TOOL, tool_choice="required")),
    (
        "tool_choice_shape",
        offering(TOOL, tool_choice={"function": {"name": "pay"}}),
        offering(TOOL, tool_choice={"type": "function", "function": {"name": "pay"}}),
    ),
    (
        "tool_choice_shape",
        offering(TOOL, tool_choice={"type": "allowed_tools", "allowed_tools": {**ALLOWED, "mode": "none"}}),
        offering(TOOL, tool_choice={"type": "allowed_tools", "allowed_tools": ALLOWED}),
    ),
    (
        "tool_choice_unknown_tool",
        offering(TOOL, tool_choice={"type": "function", "function": {"name": "play"}}),
        offering(TOOL, tool_choice={"type": "function", "function": {"name": "pay"}}),
    ),
    ("parallel_without_tools", body(parallel_tool_calls=False), offering(TOOL, parallel_tool_calls=False)),
    ("response_format_shape", body(response_format={"type": "json_schema"}), body(response_format=FORMAT)),
    ("response_format_shape", body(response_format="json"), body(response_format={"type": "json_object"})),
    ("schema_not_object", body(response_format={**FORMAT, "json_schema": {"name": "a", "schema": {}}}), body()),
    ("messages_empty", {"model": "m", "messages": []}, body()),
    ("message_shape", body("hello"), body()),
    ("unknown_role", body({"role": "human", "content": "x"}), body({"role": "developer", "content": "x"})),
    ("unknown_message_field", body({**USER, "id": "1"}), body({**USER, "name": "ann"})),
    ("unknown_message_field", body(USER, asks(call(index=0), reasoning_content="x"), result()), body(USER)),
    (
        "unknown_message_field",
        body(USER, asks({**call(), "function": {"name": "pay", "arguments": "{}", "output": "x"}}), result()),
        body(USER, asks(), result()),
    ),
    ("content_null", body({"role": "user", "content": None}), body({"role": "user", "content": ""})),
    ("content_null", body(USER, {"role": "assistant", "content": None}), body(USER, asks(), result())),
    ("content_null", body(USER, asks(), result(content=None)), body(USER, asks(), result(content=""))),
    ("content_shape", body({"role": "user", "content": {"text": "x"}}), body()),
    (
        "content_empty_array",
        body({"role": "user", "content": []}),
        body({"role": "user", "content": [{"type": "text", "text": "x"}]}),
    ),
    (
        "content_part",
        body({"role": "user", "content": [{"type": "input_text", "text": "x"}]}),
        body({"role": "user", "content": [{"type": "text", "text": "x"}]}),
    ),
    (
        "content_part",
        body({"role": "user", "content": [{"type": "text"}]}),
        body({"role": "assistant", "content": [{"type": "refusal", "refusal": "x"}]}),
    ),
    (
        "image_outside_user",
        body(USER, asks(), result(content=[IMAGE])),
        body(USER, asks(), result(), {"role": "user", "content": [IMAGE]}),
    ),
    (
        "image_url",
        body({"role": "user", "content": [{"type": "image_url", "image_url": "https://example.com/a.png"}]}),
        body({"role": "user", "content": [IMAGE]}),
    ),
    (
        "image_url",
        body({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "/tmp/a.png"}}]}),
        body({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}),
    ),
    ("calls_empty", body(USER, asks(content="x", tool_calls=[])), body(USER, {"role": "assistant", "content": "x"})),
    ("call_shape", body(USER, asks({"id": "a", "function": {}}), result("a")), body(USER, asks(), result())),
    ("call_shape", body(USER, asks({"id": "a", "type": "function"}), result("a")), body(USER, asks(), result())),
    ("call_id", body(USER, asks(call("")), result("")), body(USER, asks(), result())),
    ("call_id", body(USER, asks(call("c" * 41)), result("c" * 41)), body(USER, asks(call("c" * 40)), result("c" * 40))),
    ("call_id_repeated", body(USER, asks(call(), call()), result()), body(USER, asks(), result(), asks(), result())),
    ("call_name", body(USER, asks(call(name="files.read")), result()), body(USER, asks(call(name="old")), result())),
    ("arguments_not_text", body(USER, asks(call(arguments={})), result()), body(USER, asks(call()), result())),
    ("arguments_not_object", body(USER, asks(call(arguments='{"a"')), result()), body(USER, asks(), result())),
    (
        "arguments_not_object",
        body(USER, asks(call(arguments='{"a": NaN}')), result()),
        body(USER, asks(call(arguments='{"a": null}')), result()),
    ),
    ("missing_call_id", body(USER, asks(), {"role": "tool", "content": "x"}), body(USER, asks(), result(name="pay"))),
    ("orphan_result", body(USER, result()), body(USER, asks(), result())),
    ("orphan_result", body(USER, asks(), result(), USER, result()), body(USER, asks(), result(), USER)),
    ("unanswered_call", body(USER, asks()), body(USER, asks(), result())),
    (
        "unanswered_call",
        body(USER, asks(call("a"), call("b")), result("a"), USER, result("b")),
        body(USER, asks(call("a"), call("b")), result("b"), result("a"), USER),
    ),
    ("result_twice", body(USER, asks(), result(), result()), body(USER, asks(), result())),
    ("lone_surrogate", body({"role": "user", "content": "\ud83d"}), body({"role": "user", "content": "😀"})),
    ("lone_surrogate", body(USER, metadata={"\udc00": "x"}), body(USER, metadata={"x": "y"})),
]


@pytest.mark.parametrize(("rule", "wrong", "right"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)])
def test_a_rule_is_broken_by_one_body_and_kept_by_the_next(rule, wrong, right):
    assert rule in {violation.rule for violation in rules_openai_chat.check(wrong)}
    assert rules_openai_chat.check(right) == []


def test_every_rule_has_a_case_and_a_source():
    shared = {*openai_schema.SOURCES, "text_too_long"}
    assert {case[0] for case in CASES} | shared == set(rules_openai_chat.SOURCES)
    for source in rules_openai_chat.SOURCES.values():
        assert source.startswith(("github.com/", "OpenAI docs, ", "OpenAI API reference, "))


def test_a_text_may_be_as_long_as_the_vendor_says(monkeypatch):
    monkeypatch.setattr(wire_text, "LONGEST", 10)
    assert rules_openai_chat.check(body({"role": "user", "content": "x" * 10})) == []
    (violation,) = rules_openai_chat.check(body({"role": "user", "content": "x" * 11}))
    assert (violation.rule, violation.path) == ("text_too_long", "messages[0].content")


def test_strictness_is_asked_for_by_each_tool():
    loose = copy.deepcopy(TOOL)
    assert rules_openai_chat.check(offering(loose)) == []
    loose["function"]["strict"] = True
    assert {violation.rule for violation in rules_openai_chat.check(offering(loose))} == {
        "strict_additional_properties",
        "strict_required",
    }


def test_a_violation_names_its_place_and_what_the_vendor_would_say():
    (violation,) = rules_openai_chat.check(body(USER, asks(call("a"), call("b")), result("b")))
    assert violation.path == "messages[1]"
    assert violation.message.endswith("did not have response messages: a")
    assert violation.source == "github.com/agno-agi/agno/issues/3105"
