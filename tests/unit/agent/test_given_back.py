"""Results for a loop that is not ours: appended to its own conversation, they are legal for its provider."""

import base64
import json

import pytest

from callslip.agent.given_back import FORMS, given_back
from callslip.core.message import Attachment, ResultMessage
from callslip.errors import UsageError
from callslip.testing.contract.formats import ALL, BASE
from callslip.testing.contract.says import Call, Says

pytestmark = pytest.mark.requirement("WIRE-02", "RSLT-04", "CALL-06")

PNG = Attachment(media_type="image/png", data=b"\x89PNG\r\n\x1a\n" + bytes(20), name="shot.png")
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": False}
FUNCTION = {"name": "look", "description": "Look.", "parameters": SCHEMA}
KEYS = {"authorization": "Bearer key", "x-api-key": "key", "x-goog-api-key": "key", "anthropic-version": "2023-06-01"}
ASKED = {
    "openai_chat": {"model": "m", "messages": [{"role": "user", "content": "Do."}]},
    "mistral": {"model": "m", "messages": [{"role": "user", "content": "Do."}]},
    "openai_responses": {"model": "m", "input": [{"role": "user", "content": "Do."}]},
    "anthropic": {"model": "claude-sonnet-4-6", "max_tokens": 99, "messages": [{"role": "user", "content": "Do."}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Do."}]}]},
}
TOOLS = {
    "openai_chat": [{"type": "function", "function": FUNCTION}],
    "mistral": [{"type": "function", "function": FUNCTION}],
    "openai_responses": [{"type": "function", "strict": True, **FUNCTION}],
    "anthropic": [{"name": "look", "description": "Look.", "input_schema": SCHEMA}],
    "gemini": [{"functionDeclarations": [{"name": "look", "description": "Look.", "parametersJsonSchema": SCHEMA}]}],
}
PATHS = {
    "openai_chat": "/chat/completions", "mistral": "/chat/completions", "openai_responses": "/responses",
    "anthropic": "/messages", "gemini": "/models/gemini-2.5-flash:generateContent",
}  # fmt: skip


def messages_of(provider, body):
    return body["contents" if provider == "gemini" else "input" if provider == "openai_responses" else "messages"]


def said(provider, reply):
    """What the model said, as its own client would append it; and the ids of its calls."""
    if provider in {"openai_chat", "mistral"}:
        message = reply["choices"][0]["message"]
        return [message], [call["id"] for call in message["tool_calls"]]
    if provider == "openai_responses":
        return reply["output"], [item["call_id"] for item in reply["output"] if item["type"] == "function_call"]
    if provider == "anthropic":
        blocks = reply["content"]
        return [{"role": "assistant", "content": blocks}], [one["id"] for one in blocks if one["type"] == "tool_use"]
    content = reply["candidates"][0]["content"]
    return [content], [part["functionCall"].get("id", "") for part in content["parts"] if "functionCall" in part]


def results(ids):
    made = [
        ResultMessage(call_id=f"call_{n}", provider_id=one, tool="look", content=f"result {n}")
        for n, one in enumerate(ids)
    ]
    failed = ResultMessage(
        call_id="call_1", provider_id=ids[1], tool="look", content="It broke.", is_error=True, attachments=(PNG,)
    )
    empty = ResultMessage(call_id="call_2", provider_id=ids[2], tool="look", content=" ")
    return [made[0], failed, empty]


@pytest.mark.parametrize("provider", FORMS)
def test_the_next_request_of_its_loop_is_legal(provider):
    server = next(made for made in (one() for one in ALL) if made.name == provider)
    body = ASKED[provider] | {"tools": TOOLS[provider]}
    body = json.loads(json.dumps(body))
    reply = server.plain(Says(calls=tuple(Call("look", {"q": word}) for word in "abc")), body)
    message, ids = said(provider, reply)
    messages_of(provider, body).extend([*message, *given_back(provider, results(ids))])
    broken = server.check(body, KEYS, BASE[provider] + PATHS[provider])
    assert broken == []
    told = json.dumps(body)
    assert "It broke." in told
    assert "(empty result)" in told
    assert (base64.b64encode(PNG.data).decode() in told) is (provider != "mistral")


def test_an_image_of_an_error_stands_behind_all_results_for_anthropic():
    (message,) = given_back("anthropic", results(["a", "b", "c"]))
    assert [block["type"] for block in message["content"]] == ["tool_result"] * 3 + ["image"]
    assert message["content"][1]["content"] == "It broke."


def test_a_format_that_nobody_knows():
    with pytest.raises(UsageError, match="openai_chat, openai_responses, anthropic, gemini, mistral"):
        given_back("cohere", [])
