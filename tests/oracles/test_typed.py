"""The check of types finds what it is there for; a check that finds nothing would make the other tests worthless."""

from __future__ import annotations

import copy

import pytest

from .oracle import oracle
from .test_replies import first_request
from .typed import faults

FORMATS = ["openai_chat", "openai_responses", "anthropic", "mistral"]


def changed(body, change):
    body = copy.deepcopy(body)
    change(body)
    return body


def tool(body):
    return body["tools"][0].get("function", body["tools"][0])


WRONG = {
    "a field nobody knows": lambda body: body.update(tool_choices="auto"),
    "a field of a tool": lambda body: tool(body).update(titel="Pay"),
    "no model": lambda body: body.pop("model"),
    "no name": lambda body: tool(body).pop("name"),
    "a number for a text": lambda body: tool(body).update(description=5),
    "a word that is no choice": lambda body: body.update(tool_choice="perhaps"),
    "a flag for a number": lambda body: body.update(temperature=True),
    "a text for a list": lambda body: body.update(tools="pay"),
    "a role nobody has": lambda body: body.get("messages", body.get("input"))[-1].update(role="tester"),
    "a part nobody has": lambda body: body.get("messages", body.get("input"))[-1].update(content=[{"type": "smell"}]),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_found(form, wrong):
    if (form, wrong) == ("openai_responses", "no model"):
        pytest.skip("a stored prompt may name the model")
    sdk, body = oracle(form), first_request(form, stream=False).body
    assert faults(body, sdk.type_of(body)) == []
    assert faults(changed(body, WRONG[wrong]), sdk.type_of(body)) != []


def test_gemini_s_own_models_refuse_a_field_they_do_not_know():
    sdk, body = oracle("gemini"), first_request("gemini", stream=False).body
    sdk.pieces_of(body)
    for wrong in (
        {**body, "tool_choices": {}},
        {**body, "generationConfig": {"temperatur": 1}},
        {**body, "contents": [{"role": "user", "parts": [{"text": "x", "tone": "kind"}]}]},
    ):
        with pytest.raises(ValueError, match="Extra inputs are not permitted"):
            sdk.pieces_of(wrong)
