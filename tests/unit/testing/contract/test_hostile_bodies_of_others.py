"""As ``test_hostile_bodies``, for Anthropic and Gemini: whatever the body, it is legal or it is refused."""

from __future__ import annotations

import copy
import json

import pytest

from callslip.testing.contract.anthropic import Anthropic
from callslip.testing.contract.gemini import Gemini
from callslip.testing.contract.says import Call, Says

VALUES = [None, True, 0, 1.5, -(10**400), "", "x", "\ud800", [], {}, [[]], [{}], {"a": []}, [None], ["x"], {"type": []}]
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/x"}}, "b": {"anyOf": [{"type": "null"}]}},
    "required": ["a", "b"],
    "additionalProperties": False,
    "$defs": {"x": {"type": "string", "enum": ["a"], "format": "date"}},
}
SAID = Says("Hello", calls=(Call("pay", {"a": 1}), Call("pay", '{"a": ')), thinking="Hm")
PATH = {"anthropic": "/v1/messages", "gemini": "/v1beta/models/gemini-3-pro-preview:generateContent"}


def anthropic_body():
    body = {
        "model": "claude-opus-5-5",
        "max_tokens": 2048,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
                    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
                ],
            }
        ],
        "tools": [{"name": "pay", "input_schema": SCHEMA, "strict": True, "description": "x"}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
        "stop_sequences": ["END"],
        "metadata": {"user_id": "u"},
    }
    content = Anthropic().plain(Says("So", calls=(Call("pay", {"a": 1}),), thinking="Hm"), body)["content"]
    answer = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": [{"type": "text", "text": "x"}]}
    body["messages"] += [{"role": "assistant", "content": content}, {"role": "user", "content": [answer]}]
    return body


def gemini_body():
    form = Gemini()
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "x"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        ],
        "systemInstruction": {"parts": [{"text": "s"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "pay", "parametersJsonSchema": SCHEMA},
                    {
                        "name": "see",
                        "parameters": {
                            "type": "OBJECT",
                            "properties": {"a": {"type": "ARRAY", "items": {"type": "STRING", "enum": ["a"]}}},
                            "required": ["a"],
                        },
                    },
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["pay"]}},
        "generationConfig": {"temperature": 1, "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"}},
    }
    content = form.plain(Says(calls=(Call("pay", {"a": 1}),)), body)["candidates"][0]["content"]
    asked = content["parts"][0]["functionCall"]
    answer = {
        "id": asked["id"],
        "name": "pay",
        "response": {"output": "x"},
        "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
    }
    body["contents"] += [content, {"role": "user", "parts": [{"functionResponse": answer}]}]
    return body


FORMS = [(Anthropic, anthropic_body), (Gemini, gemini_body)]
HEADERS = {"x-api-key": "k", "x-goog-api-key": "k", "anthropic-version": "2023-06-01"}


def places(value, path=()):
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*path, number))


def changed(body, path, value):
    made = copy.deepcopy(body)
    inside = made
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value
    return made


@pytest.mark.parametrize(("make", "legal"), FORMS)
def test_the_whole_is_legal(make, legal):
    form = make()
    assert form.check(legal(), HEADERS, PATH[form.name]) == []


@pytest.mark.untraced
@pytest.mark.parametrize(("make", "legal"), FORMS)
def test_any_value_anywhere_is_judged_and_answered(make, legal):
    form = make()
    body = legal()
    for path in places(body):
        for value in VALUES:
            made = changed(body, path, value)
            violations = form.check(made, HEADERS, PATH[form.name])
            if violations:
                status, refusal = form.refusal(violations)
                assert 400 <= status < 500
                json.dumps(refusal)
            json.dumps(form.plain(SAID, made))
            json.dumps(form.events(SAID, made))


@pytest.mark.parametrize(("make", "legal"), FORMS)
@pytest.mark.parametrize("levels", [200, 900])
def test_what_is_deep_is_judged(make, legal, levels):
    form = make()
    body = legal()
    value = json.loads("[" * levels + "]" * levels)
    for path in places(body):
        form.check(changed(body, path, {"a": value}), HEADERS, PATH[form.name])
