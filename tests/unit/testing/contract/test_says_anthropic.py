"""What Anthropic's server says: the same reply in one piece and as a stream, event for event as the vendor sends it."""

from __future__ import annotations

import json

import pytest

from callslip.testing.contract.anthropic import Anthropic
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.says_anthropic import REDACTED

BODY = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
TWO = Says("Let me see.", calls=(Call("read", {"path": "é", "n": 2**60}), Call("now")), thinking="Hm, which?")


def streamed(said, body=BODY):
    return [data for _, data in Anthropic().events(said, body)]


def assembled(events):
    """The message that a client makes of a stream."""
    message, texts = events[0]["message"], {}
    for event in events:
        if event["type"] == "content_block_start":
            message["content"].append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta":
            block, delta = message["content"][event["index"]], event["delta"]
            if delta["type"] == "input_json_delta":
                texts[event["index"]] = texts.get(event["index"], "") + delta["partial_json"]
            else:
                name = delta["type"].removesuffix("_delta")
                block[name] += delta[name]
        elif event["type"] == "message_delta":
            message.update(event["delta"])
            message["usage"].update(event["usage"])
    for index, text in texts.items():
        message["content"][index]["input"] = json.loads(text or "{}")
    return message


def test_a_stream_opens_fills_and_closes_each_block_in_turn():
    events = Anthropic().events(Says("Hello", calls=(Call("now"),)), BODY)
    assert all(name == data["type"] for name, data in events)
    assert [name for name, _ in events] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


@pytest.mark.parametrize("said", [TWO, Says("Hello"), Says(calls=(Call("now"),)), Says(refusal="No."), Says()])
def test_the_stream_makes_the_same_message_as_the_reply_in_one_piece(said):
    whole, made = Anthropic().plain(said, BODY), assembled(streamed(said))
    for message in (whole, made):
        message["id"] = ""
        message["usage"].pop("service_tier")
        for block in message["content"]:
            block.pop("id", None)
    assert made == whole


def test_the_first_event_has_no_reason_to_stop_and_the_last_but_one_has():
    events = streamed(TWO)
    assert events[0]["message"]["stop_reason"] is None
    assert events[0]["message"]["content"] == []
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"]["output_tokens"] >= events[0]["message"]["usage"]["output_tokens"]


def test_a_signature_comes_in_one_delta_before_its_block_ends():
    events = streamed(TWO)
    place = next(n for n, event in enumerate(events) if event.get("delta", {}).get("type") == "signature_delta")
    assert events[place + 1] == {"type": "content_block_stop", "index": 0}
    assert events[place]["index"] == 0


def test_ids_are_the_vendors_unless_they_are_given():
    made = Anthropic().plain(Says(calls=(Call("a"), Call("b", id="mine"), Call("c", id=""))), BODY)
    ids = [block["id"] for block in made["content"]]
    assert ids[0].startswith("toolu_01")
    assert ids[1:] == ["mine", ""]
    assert made["id"].startswith("msg_01")


@pytest.mark.parametrize("reason", ["pause_turn", "max_tokens", "model_context_window_exceeded", "end_turn"])
def test_any_reason_to_stop_can_be_given(reason):
    assert Anthropic().plain(Says("Hello", finish=reason), BODY)["stop_reason"] == reason


def test_a_stop_sequence_is_named():
    made = Anthropic().plain(Says("Hello", finish="stop_sequence"), {**BODY, "stop_sequences": ["END"]})
    assert made["stop_sequence"] == "END"


def test_a_refusal_says_why():
    made = Anthropic().plain(Says(refusal="Not that."), BODY)
    assert made["stop_reason"] == "refusal"
    assert made["stop_details"] == {"type": "refusal", "category": None, "explanation": "Not that."}
    assert made["content"] == []


def test_arguments_that_were_cut_are_streamed_as_they_are():
    said = Says(calls=(Call("pay", '{"cents": 5'),), finish="max_tokens")
    pieces = [event["delta"]["partial_json"] for event in streamed(said) if event["type"] == "content_block_delta"]
    assert "".join(pieces) == '{"cents": 5'
    assert Anthropic().plain(said, BODY)["content"][0]["input"] == {}


def test_thinking_is_shown_omitted_or_redacted():
    def thought(text, **thinking):
        return Anthropic().plain(Says("x", thinking=text), {**BODY, "thinking": thinking})["content"][0]

    assert thought("Hm", type="adaptive")["thinking"] == "Hm"
    hidden = thought("Hm", type="adaptive", display="omitted")
    assert hidden["thinking"] == ""
    assert hidden["signature"]
    redacted = thought(REDACTED)
    assert redacted["type"] == "redacted_thinking"
    assert set(redacted) == {"type", "data"}


@pytest.mark.parametrize("more", [{"thinking": {"type": "adaptive", "display": "omitted"}}, {}])
@pytest.mark.parametrize("text", ["Hm", REDACTED])
def test_each_of_them_may_come_back(text, more):
    server = Anthropic()
    tools = [{"name": "now", "input_schema": {"type": "object"}}]
    body = {**BODY, **more, "tools": tools, "messages": list(BODY["messages"])}
    content = server.plain(Says(calls=(Call("now"),), thinking=text), body)["content"]
    answer = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": "12:00"}
    body["messages"] += [{"role": "assistant", "content": content}, {"role": "user", "content": [answer]}]
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    assert server.check(body, headers, "/v1/messages") == []


def test_errors_have_the_vendors_kinds():
    form = Anthropic()
    kinds = {status: form.error(status, "x")["error"]["type"] for status in (400, 401, 404, 413, 429, 500, 529)}
    assert kinds == {
        400: "invalid_request_error",
        401: "authentication_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
        529: "overloaded_error",
    }
    assert form.error(500, "x", kind="other")["error"]["type"] == "other"


def test_a_refusal_of_a_request_names_the_place_as_the_vendor_does():
    form = Anthropic()
    tools = [{"name": "a.b", "input_schema": {"type": "object"}}]
    body = {**BODY, "tools": tools}
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    status, refused = form.refusal(form.check(body, headers, "/v1/messages"))
    assert status == 400
    assert refused["error"]["message"].startswith("tools.0.custom.name: String should match pattern")
    assert form.refusal(form.check(BODY, {}, "/v1/messages"))[0] == 401
    large = {**headers, "content-length": str(33 * 1024 * 1024)}
    assert form.refusal(form.check(BODY, large, "/v1/messages"))[0] == 413


def test_it_knows_its_endpoint():
    form = Anthropic()
    assert form.asks("POST", "/v1/messages?beta=true")
    assert not form.asks("POST", "/v1/messages/count_tokens")
    assert not form.asks("GET", "/v1/messages")
    assert form.streams({"stream": True}, "/v1/messages")
    assert not form.streams({}, "/v1/messages")
