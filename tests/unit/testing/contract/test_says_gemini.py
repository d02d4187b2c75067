"""What Gemini's server says: the same reply in one piece and as a stream, chunk for chunk as the vendor sends it."""

from __future__ import annotations

import base64

import pytest

from callslip.testing.contract.gemini import Gemini
from callslip.testing.contract.says import Call, Says

OLD, NEW = "gemini-2.5-flash", "gemini-3-pro-preview"
BODY = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
SHOWN = {**BODY, "generationConfig": {"thinkingConfig": {"includeThoughts": True}}}


def form_for(model):
    form = Gemini()
    assert form.streams(BODY, f"/v1beta/models/{model}:streamGenerateContent?alt=sse")
    return form


def plain(said, model=NEW, body=BODY):
    return form_for(model).plain(said, body)


def chunks(said, model=NEW, body=BODY):
    return [data for _, data in form_for(model).events(said, body)]


def parts(reply):
    return reply["candidates"][0]["content"].get("parts", [])


def test_a_reply_in_one_piece():
    made = plain(Says("Hello"), OLD)
    made["responseId"] = "x"
    assert made == {
        "candidates": [
            {"index": 0, "content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP"},
        ],
        "usageMetadata": {
            "promptTokenCount": 10,
            "candidatesTokenCount": 5,
            "totalTokenCount": 15,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}],
        },
        "modelVersion": OLD,
        "responseId": "x",
    }


def test_a_stream_says_the_same_in_pieces_and_ends_once():
    made = chunks(Says("Hello, world", calls=(Call("now"), Call("read", {"a": 1}))))
    said = [part for chunk in made for part in parts(chunk)]
    assert "".join(part.get("text", "") for part in said) == "Hello, world"
    assert [part["functionCall"]["name"] for part in said if "functionCall" in part] == ["now", "read"]
    assert ["finishReason" in chunk["candidates"][0] for chunk in made] == [False] * (len(made) - 1) + [True]
    assert len({chunk["responseId"] for chunk in made}) == 1
    assert all("usageMetadata" in chunk and chunk["modelVersion"] == NEW for chunk in made)


def test_newer_models_give_each_call_an_id_and_sign_the_first():
    said = parts(plain(Says("x", calls=(Call("a"), Call("b"), Call("c", id="mine"), Call("d", id="")))))
    calls = [part["functionCall"] for part in said[1:]]
    assert len(calls[0]["id"]) == 8
    assert calls[0]["id"] != calls[1]["id"]
    assert [call["id"] for call in calls[2:]] == ["mine", ""]
    assert ["thoughtSignature" in part for part in said] == [False, True, False, False, False]
    base64.b64decode(said[1]["thoughtSignature"], validate=True)


def test_a_reply_without_calls_is_signed_at_its_end():
    assert "thoughtSignature" in parts(plain(Says("Hello", thinking="Hm")))[-1]
    last = parts(chunks(Says("Hello", thinking="Hm"))[-1])
    assert [part["text"] for part in last] == [""]
    assert "thoughtSignature" in last[0]
    # A chunk without parts would make the vendor's SDK drop the whole turn from its history.
    assert parts(chunks(Says("Hello"), OLD)[-1]) == [{"text": "lo"}]
    assert "functionCall" in parts(chunks(Says("Hello", calls=(Call("now"),)))[-1])[0]
    assert len(chunks(Says())) == 1


@pytest.mark.parametrize("give", [lambda *given: parts(plain(*given)), lambda *given: [part for chunk in chunks(*given) for part in parts(chunk)]])  # fmt: skip
def test_thoughts_are_shown_to_those_who_ask(give):
    said = Says("Hello", thinking="Hm, hm")
    assert not any(part.get("thought") for part in give(said))
    shown = give(said, NEW, SHOWN)
    assert "".join(part["text"] for part in shown if part.get("thought")) == "Hm, hm"
    assert "".join(part["text"] for part in shown if not part.get("thought")) == "Hello"


def test_numbers_are_doubles():
    given = {"a": 2**53 + 1, "b": [{"c": 5.0}], "d": 0.5, "e": True, "f": 10**20}
    [part] = parts(plain(Says(calls=(Call("x", given),))))
    assert part["functionCall"]["args"] == {"a": 2**53, "b": [{"c": 5}], "d": 0.5, "e": True, "f": 1e20}
    assert isinstance(part["functionCall"]["args"]["b"][0]["c"], int)


def test_arguments_as_text_are_read():
    [part] = parts(plain(Says(calls=(Call("x", '{"a": 1}'),))))
    assert part["functionCall"]["args"] == {"a": 1}


def test_a_call_that_is_no_object_ends_the_reply():
    made = plain(Says(calls=(Call("x", '{"a": '),)))
    assert made["candidates"][0]["finishReason"] == "MALFORMED_FUNCTION_CALL"
    assert parts(made) == []
    assert chunks(Says(calls=(Call("x", "[]"),)))[-1]["candidates"][0]["finishReason"] == "MALFORMED_FUNCTION_CALL"


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "SAFETY", "RECITATION", "UNEXPECTED_TOOL_CALL"])
def test_any_reason_to_finish_can_be_given(reason):
    assert plain(Says("x", finish=reason))["candidates"][0]["finishReason"] == reason
    assert chunks(Says("x", finish=reason))[-1]["candidates"][0]["finishReason"] == reason


def test_a_refusal_blocks_the_prompt_or_ends_what_was_begun():
    made = plain(Says(refusal="No."))
    assert made["promptFeedback"] == {"blockReason": "PROHIBITED_CONTENT"}
    assert "candidates" not in made
    assert plain(Says(refusal="No.", finish="BLOCKLIST"))["promptFeedback"] == {"blockReason": "BLOCKLIST"}
    assert len(chunks(Says(refusal="No."))) == 1
    candidate = plain(Says("Well", refusal="No."))["candidates"][0]
    assert (candidate["finishReason"], candidate["finishMessage"]) == ("SAFETY", "No.")


def test_errors_have_the_vendors_words():
    form = Gemini()
    words = {status: form.error(status, "x")["error"]["status"] for status in (400, 401, 403, 404, 429, 500, 503)}
    assert words == {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED",
        500: "INTERNAL",
        503: "UNAVAILABLE",
    }
    assert form.error(429, "x")["error"]["code"] == 429


def test_a_refusal_of_a_request_lists_all_that_could_not_be_read():
    form = Gemini()
    path = f"/v1beta/models/{NEW}:generateContent"
    body = {**BODY, "max_tokens": 1, "stream": True}
    status, refused = form.refusal(form.check(body, {"x-goog-api-key": "k"}, path))
    assert status == 400
    fields = refused["error"]["details"][0]["fieldViolations"]
    assert [one["field"] for one in fields] == ["max_tokens", "stream"]
    assert 'Unknown name "stream"' in refused["error"]["message"]
    assert form.refusal(form.check(BODY, {}, path))[0] == 403


def test_it_knows_its_endpoint():
    form = Gemini()
    for verb in ("generateContent", "streamGenerateContent?alt=sse"):
        assert form.asks("POST", f"/v1beta/models/{NEW}:{verb}")
    assert not form.asks("POST", f"/v1beta/models/{NEW}:countTokens")
    assert not form.asks("GET", f"/v1beta/models/{NEW}:generateContent")
    assert not form.streams(BODY, f"/v1beta/models/{NEW}:generateContent")
