"""No body, whatever its shape, makes a check fail: it is legal, or it is refused."""

from __future__ import annotations

import copy
import json

import pytest

from callslip.testing.contract.formats import ALL
from callslip.testing.contract.openai_responses import OpenAIResponses
from callslip.testing.contract.says import Call, Says

VALUES = [None, True, 0, 1.5, "", "x", "\ud800", [], {}, [[]], [{}], {"a": []}, [None], ["x"], {"type": []}]
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/x"}}, "b": {"anyOf": [{"type": "null"}]}},
    "required": ["a", "b"],
    "additionalProperties": False,
    "$defs": {"x": {"type": "string", "enum": ["a"], "format": "date"}},
}
CHAT = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "s"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "x"},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "abcdefghi", "type": "function", "function": {"name": "pay", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "abcdefghi", "content": "x"},
    ],
    "tools": [{"type": "function", "function": {"name": "pay", "parameters": SCHEMA, "strict": True}}],
    "tool_choice": {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "pay"}}]},
    },
    "stream": True,
    "stream_options": {"include_usage": True},
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}},
    "temperature": 1,
}
RESPONSES = {
    "model": "m",
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "x"},
                {"type": "input_image", "image_url": "https://example.com/a.png"},
            ],
        },
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "pay", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "x"}]},
        {"type": "item_reference", "id": "x"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
    ],
    "tools": [{"type": "function", "name": "pay", "parameters": SCHEMA, "strict": True}],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "pay"}]},
    "include": ["reasoning.encrypted_content"],
    "previous_response_id": "x",
    "stream": True,
    "stream_options": {},
    "text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}},
    "reasoning": {"effort": "low"},
}
OURS = [make for make in ALL if make().name in {"openai_chat", "openai_responses", "mistral", "compatible"}]


def places(value, path=()):
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in inside:
        yield from places(inner, (*path, step))


@pytest.mark.untraced
@pytest.mark.parametrize("make", OURS, ids=lambda make: make().name)
def test_any_value_anywhere_is_judged(make):
    form = make()
    base = RESPONSES if form.name == "openai_responses" else CHAT
    refused = 0
    for path in places(base):
        for value in VALUES:
            body = copy.deepcopy(base)
            place = body
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            violations = form.check(body, {}, "/")
            if violations:
                refused += 1
                status, said = form.refusal(violations)
                assert status in (400, 422)
                json.dumps(said)
    assert refused > 100


@pytest.mark.parametrize("field", sorted(RESPONSES))
def test_a_reply_can_be_made_for_whatever_was_legal(field):
    form = OpenAIResponses()
    for value in VALUES:
        body = {**RESPONSES, "input": "x", "previous_response_id": None, field: value}
        if not form.check(body, {}, "/"):
            form.events(Says(text="x", thinking="y", calls=(Call("pay"),)), body)
