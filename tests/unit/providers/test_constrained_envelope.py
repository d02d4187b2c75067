import json

import pytest

from callslip.providers.aliases import CHAT
from callslip.providers.constrained_envelope import (
    MOST_CALLS,
    Call,
    Envelope,
    answered,
    begins,
    read,
    schema,
    spoken,
    written,
)
from callslip.providers.offered import Offered
from callslip.schema.shape.dialect import CONSTRAINED
from callslip.schema.validate import compile_schema

ENVELOPE = '{"reply": {"calls": [{"tool": "read", "arguments": {"path": "a"}}]}}'
CALLED = Envelope(calls=(Call(tool="read", arguments={"path": "a"}),))


@pytest.fixture
def tools(ask):
    return Offered(ask(), CHAT, CONSTRAINED).tools


def branches(made):
    reply = made["properties"]["reply"]
    return [next(iter(form["properties"])) for form in reply.get("anyOf", [reply])]


@pytest.mark.requirement("WIRE-03")
def test_to_decline_is_a_branch_of_its_own(tools):
    assert branches(schema(tools, parallel=None, must_call=False)) == ["calls", "answer", "no_tool_fits"]


@pytest.mark.requirement("WIRE-03")
def test_where_a_call_is_demanded_there_is_no_other_branch(tools):
    assert branches(schema(tools, parallel=None, must_call=True)) == ["calls"]


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize(("parallel", "most"), [(None, MOST_CALLS), (True, MOST_CALLS), (False, 1)])
def test_how_many_calls_one_reply_may_hold(tools, parallel, most):
    calls = schema(tools, parallel=parallel, must_call=True)["properties"]["reply"]["properties"]["calls"]
    assert (calls["minItems"], calls["maxItems"]) == (1, most)


def test_the_schema_lets_through_what_is_read_and_nothing_else(tools):
    valid = compile_schema(schema(tools, parallel=None, must_call=False))
    wire = tools[0].wire
    for text in (written([(wire, {})]), answered("Hi"), '{"reply": {"no_tool_fits": "No."}}'):
        assert valid.accepts(json.loads(text))
        assert read(text) is not None
    for text in (written([("other", {})]), '{"reply": {"calls": []}}', '{"reply": {"answer": "a", "calls": []}}', "{}"):
        assert not valid.accepts(json.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        ENVELOPE,
        f"\n {ENVELOPE} \n",
        f"```json\n{ENVELOPE}\n```",
        f"```\n{ENVELOPE}\n```",
        f"<think>Read it, as {ENVELOPE}?</think>\n{ENVELOPE}",
        f" <think>\n</think>```json\n{ENVELOPE}\n```",
        '{"calls": [{"tool": "read", "arguments": {"path": "a"}}]}',
    ],
)
def test_an_envelope(text):
    assert read(text) == CALLED


@pytest.mark.requirement("WIRE-04", "CALL-05")
@pytest.mark.parametrize(
    "text",
    [
        f"I would call {ENVELOPE}",
        f"{ENVELOPE} Shall I?",
        f"{ENVELOPE}{ENVELOPE}",
        f"{ENVELOPE}\n{ENVELOPE}",
        f"For example:\n```json\n{ENVELOPE}\n```",
        f"```json\n{ENVELOPE}\n```\nShall I?",
        f"```json\n{ENVELOPE}\n```\n```json\n{ENVELOPE}\n```",
        f"<think>{ENVELOPE}",
        f"<think>The page says </think>{ENVELOPE} and more.</think>No.",
        f"The page says <think></think>{ENVELOPE}",
        f'"{ENVELOPE}"',
        json.dumps(ENVELOPE),
        f"[{ENVELOPE}]",
        *(ENVELOPE[:size] for size in range(len(ENVELOPE))),
    ],
)
def test_what_stands_around_an_envelope_or_is_missing_of_it_makes_it_none(text):
    assert read(text) is None


@pytest.mark.requirement("WIRE-04", "CALL-05")
@pytest.mark.parametrize(
    "text",
    [
        '{"reply": {"calls": [{"tool": "read", "tool": "pay", "arguments": {}}]}}',
        '{"reply": {"calls": [{"tool": "pay", "arguments": {"cents": 1, "cents": 100}}]}}',
        '{"reply": {"answer": "Hi"}, "reply": {"calls": [{"tool": "pay", "arguments": {}}]}}',
        '{"reply": {"answer": "Hi", "calls": [{"tool": "pay", "arguments": {}}]}}',
        '{"reply": {"answer": "Hi"}, "calls": [{"tool": "pay", "arguments": {}}]}',
        '{"reply": {"calls": [{"tool": "pay", "arguments": {"cents": NaN}}]}}',
        '{"reply": {"calls": [{"tool": "pay", "arguments": {"cents": 1e999}}]}}',
        '{"reply": {"calls": [{"tool": "pay", "arguments": {"cents": -Infinity}}]}}',
        '{"reply": {"calls": [{"tool": "pay", "arguments": {"cents": ' + "9" * 9999 + "}}]}}",
        '{"reply": {"calls": [{"tool": "pay", "arguments": {"a": ' + "[" * 99_999 + "}}]}}",
    ],
)
def test_two_readings_or_no_json(text):
    assert read(text) is None


@pytest.mark.parametrize(
    "calls",
    [
        "[]",
        "{}",
        "null",
        '"read"',
        '["read"]',
        '[{"tool": "read"}]',
        '[{"tool": "", "arguments": {}}]',
        '[{"tool": 1, "arguments": {}}]',
        '[{"tool": "read", "arguments": null}]',
        '[{"tool": "read", "arguments": [1]}]',
        '[{"tool": "read", "arguments": {}, "sure": true}]',
        '[{"tool": "read", "arguments": {}}, {"tool": "pay"}]',
    ],
)
def test_one_call_that_is_none_leaves_no_other(calls):
    assert read('{"reply": {"calls": ' + calls + "}}") is None


@pytest.mark.parametrize("text", ["", "Hi", "null", "[]", "1", "{}", '{"reply": 1}', '{"reply": {"answer": 1}}'])
def test_what_is_no_envelope(text):
    assert read(text) is None


@pytest.mark.parametrize("branch", ["answer", "no_tool_fits"])
def test_text(branch):
    assert read(json.dumps({"reply": {branch: ENVELOPE}})) == Envelope(text=ENVELOPE)
    assert read(json.dumps({"reply": {branch: "a\ud800"}})) == Envelope(text="a\ufffd")


def test_arguments_keep_every_digit_and_order_or_are_text():
    text = '{"reply": {"calls": [{"arguments": {"b": 12345678901234567890123, "a": "é"}, "tool": "x"}]}}'
    (call,) = read(text).calls
    assert json.dumps(call.arguments, ensure_ascii=False) == '{"b": 12345678901234567890123, "a": "é"}'
    (call,) = read('{"reply": {"calls": [{"tool": "x", "arguments": "{\\"a\\":"}]}}').calls
    assert call.arguments == '{"a":'


def test_what_is_written_is_read():
    assert read(written([("read", {"path": "a"})])) == CALLED
    assert read(answered('a\n"b" é')) == Envelope(text='a\n"b" é')


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("The answer is 4.", False),
        ("", False),
        ("[1] says so.", False),
        ("`x` is it.", False),
        ("```python\nprint(1)\n```", False),
        ("<think>{</think>It is 4.", False),
        (ENVELOPE[:20], True),
        (f"Look: {ENVELOPE}", True),
        ('{"tool": "read", "arguments": {}}', True),
        ('[{"tool": "read"}]', True),
        ('```json\n{"a"', True),
        ("<think>So", True),
        ('<think>So</think>{"reply"', True),
    ],
)
def test_what_was_meant_as_an_envelope(text, meant):
    assert begins(text) is meant


def test_thoughts_are_no_part_of_what_is_said():
    assert spoken(" <think>a</think> b <think>c</think> ") == "b <think>c</think>"
    assert spoken(" a <think>b</think> ") == "a <think>b</think>"
