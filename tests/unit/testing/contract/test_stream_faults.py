"""Streams over a real socket, good and faulty, in every format."""

from __future__ import annotations

import json
import re

import httpx2
import pytest

from callslip.providers.sse import EventReader
from callslip.testing.contract.answers import Streams
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer

CHATS = ["openai_chat", "mistral", "compatible"]
USER = {"role": "user", "content": "x"}
CHAT = {"model": "m", "messages": [USER]}
REQUESTS = {
    "openai_chat": ("/chat/completions", {**CHAT, "stream_options": {"include_usage": True}}),
    "compatible": ("/chat/completions", {**CHAT, "stream_options": {"include_usage": True}}),
    "mistral": ("/chat/completions", CHAT),
    "openai_responses": ("/responses", {"model": "m", "input": "x"}),
    "gemini": (
        "/models/gemini-3-pro-preview:streamGenerateContent?alt=sse",
        {"contents": [{"role": "user", "parts": [{"text": "x"}]}]},
    ),
    "anthropic": ("/messages", {"model": "claude-opus-4-5", "messages": [USER], "max_tokens": 1000}),
}
FORMATS = sorted(REQUESTS)
HEADERS = {"x-api-key": "k", "x-goog-api-key": "k", "anthropic-version": "2023-06-01"}
SAID = Says("Ein Käse für 5 €.", calls=(Call("pay", {"cents": 5, "to": "Jörg"}), Call("pay", {"cents": 7})))


def ask(name, answer, **more):
    """What arrives, byte for byte, and whether it ended as it should."""
    path, body = REQUESTS[name]
    received, ended = b"", True
    # Plain HTTP: the system's certificates, which take 20 ms to read, are of no use.
    with (
        ContractServer([answer]) as server,
        httpx2.Client(timeout=httpx2.Timeout(20, read=0.3), verify=False) as client,
    ):
        body = {**body, **({} if name == "gemini" else {"stream": True}), **more}
        with client.stream("POST", server.url(name) + path, json=body, headers=HEADERS) as response:
            assert response.status_code == 200
            assert response.headers["content-type"] == "text/event-stream"
            try:
                for piece in response.iter_raw():
                    received += piece
            except httpx2.RemoteProtocolError:
                ended = False
            except httpx2.ReadTimeout:
                ended = None
        assert server.violations == []
    return received, ended


def events(received):
    reader = EventReader()
    found = [*reader.feed(received)]
    last = reader.end()
    return [event for event in [*found, last] if event is not None and not event.unfinished]


def datas(received):
    return [json.loads(event.data) for event in events(received) if event.data != "[DONE]"]


def chat_calls(chunks):
    """The calls as deltas, flat."""
    return [
        call
        for chunk in chunks
        for choice in chunk.get("choices", [])
        for call in choice["delta"].get("tool_calls", [])
    ]


def response_items(found, kind):
    return [event["item"] for event in found if event["type"] == kind and event["item"]["type"] == "function_call"]


@pytest.mark.parametrize("name", CHATS)
def test_a_chat_stream_adds_up_to_what_was_said(name):
    received, ended = ask(name, SAID)
    chunks = datas(received)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == SAID.text
    calls = chat_calls(chunks)
    for index, call in enumerate(SAID.calls):
        mine = [part for part in calls if part["index"] == index]
        assert mine[0]["function"]["name"] == "pay"
        assert json.loads("".join(part["function"]["arguments"] for part in mine)) == call.arguments
    assert [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]][-1] == "tool_calls"
    assert sum(1 for chunk in chunks if chunk.get("usage")) == 1
    assert events(received)[-1].data == "[DONE]"
    assert ended


def test_mistral_sends_a_call_whole_and_openai_in_pieces():
    mistral = chat_calls(datas(ask("mistral", SAID)[0]))
    openai = chat_calls(datas(ask("openai_chat", SAID)[0]))
    assert len(mistral) == 2
    assert len(openai) > 10


def test_usage_is_streamed_only_where_it_is_asked_for():
    with ContractServer([SAID]) as server:
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
        received = httpx2.post(f"{server.url('openai_chat')}/chat/completions", json=body).content
    assert all("usage" not in chunk and chunk["choices"] for chunk in datas(received))


def test_a_responses_stream_adds_up_to_the_response_it_ends_with():
    said = Says(SAID.text, SAID.calls, thinking="Let me think.", refusal="Not that.")
    options = {"include": ["reasoning.encrypted_content"], "store": False, "reasoning": {"summary": "auto"}}
    received, ended = ask("openai_responses", said, **options)
    named, found = [event.name for event in events(received)], datas(received)
    assert named == [event["type"] for event in found]
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    assert (named[0], named[1], named[-1]) == ("response.created", "response.in_progress", "response.completed")
    output = found[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["reasoning", "message", "function_call", "function_call"]
    assert [event["item"] for event in found if event["type"] == "response.output_item.done"] == output
    added = [event["item"] for event in found if event["type"] == "response.output_item.added"]
    assert [item["id"] for item in added] == [item["id"] for item in output]
    assert "encrypted_content" not in added[0]
    assert output[0]["encrypted_content"].startswith("gAAAA")

    def joined(kind):
        return "".join(event["delta"] for event in found if event["type"] == f"response.{kind}.delta")

    assert joined("output_text") == SAID.text
    assert joined("refusal") == "Not that."
    assert joined("reasoning_summary_text") == "Let me think."
    assert joined("function_call_arguments") == output[2]["arguments"] + output[3]["arguments"]
    assert ended


@pytest.mark.parametrize(("finish", "last"), [("max_output_tokens", "incomplete"), ("failed", "failed")])
def test_a_responses_stream_ends_in_other_ways(finish, last):
    assert events(ask("openai_responses", Says("Half", finish=finish))[0])[-1].name == f"response.{last}"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("split", [1, 2, 7])
def test_it_may_be_torn_at_any_byte(name, split):
    whole, _ = ask(name, Streams(said=SAID))
    torn, ended = ask(name, Streams(said=SAID, split=split))
    assert ended
    assert len(events(torn)) == len(events(whole))
    assert len(torn) == len(whole)


def test_every_write_comes_by_itself():
    with ContractServer([Streams(said=Says("Hi"), split=3)]) as server, httpx2.Client(verify=False) as client:
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
        with client.stream("POST", f"{server.url('openai_chat')}/chat/completions", json=body) as response:
            pieces = list(response.iter_raw())
    assert max(map(len, pieces)) <= 3


@pytest.mark.parametrize("name", FORMATS)
def test_line_ends_comments_and_unknown_events_are_put_in(name):
    plain = events(ask(name, SAID)[0])
    received, _ = ask(name, Streams(said=SAID, crlf=True, comments=True, unknown_events=True))
    assert b"\r\n\r\n" in received
    assert b"\n" not in received.replace(b"\r\n", b"")
    assert received.count(b": keep-alive") == 2 * len(plain)
    assert sum(1 for event in events(received) if re.search("unheard_?of", event.data, re.IGNORECASE)) == len(plain)


@pytest.mark.parametrize("name", FORMATS)
def test_it_may_be_cut_after_any_event(name):
    whole = events(ask(name, SAID)[0])
    for count in (0, 1, len(whole) // 2, len(whole) - 1):
        received, ended = ask(name, Streams(said=SAID, cut_after=count))
        assert (len(events(received)), ended) == (count, False)


@pytest.mark.parametrize("name", FORMATS)
def test_it_may_be_cut_inside_an_event(name):
    received, ended = ask(name, Streams(said=SAID, cut_after=2, cut_inside=True))
    assert len(events(received)) == 2
    assert not received.endswith(b"\n")
    assert not ended


@pytest.mark.parametrize(("then", "ended"), [("ends", True), ("lost", False), ("hangs", None)])
def test_it_stops_in_three_ways(then, ended):
    received, how = ask("openai_chat", Streams(said=SAID, cut_at=100, then=then))
    assert (len(received), how) == (100, ended)
    received, how = ask("openai_chat", Streams(said=SAID, then=then))
    assert (events(received)[-1].data, how) == ("[DONE]", ended)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("then", ["", "hangs"])
def test_an_error_may_come_in_the_middle(name, then):
    received, ended = ask(name, Streams(said=SAID, error_after=3, then=then))
    found = datas(received)
    assert len(found) == 4
    assert "The stream failed." in json.dumps(found[3])
    assert ended is (None if then else True)


@pytest.mark.parametrize("name", FORMATS)
def test_usage_may_be_missing(name):
    given = re.compile(r'"usage(?:Metadata)?": \{')
    assert given.search(ask(name, SAID)[0].decode())
    assert not given.search(ask(name, Streams(said=SAID, usage=False))[0].decode())


@pytest.mark.parametrize("name", CHATS)
def test_the_finish_reason_may_be_missing_or_come_twice(name):
    def reasons(answer):
        return [
            c["finish_reason"] for chunk in datas(ask(name, answer)[0]) for c in chunk["choices"] if c["finish_reason"]
        ]

    assert reasons(SAID) == ["tool_calls"]
    assert reasons(Streams(said=SAID, finish=False)) == []
    assert reasons(Streams(said=SAID, final_twice=True)) == ["tool_calls"] * 2


def test_the_end_of_a_response_may_be_missing_or_come_twice():
    def ends(answer):
        return [event.name for event in events(ask("openai_responses", answer)[0])].count("response.completed")

    assert ends(SAID) == 1
    assert ends(Streams(said=SAID, finish=False)) == 0
    assert ends(Streams(said=SAID, final_twice=True)) == 2


@pytest.mark.parametrize("name", CHATS)
@pytest.mark.parametrize(("kind", "wanted"), [("blank", {""}), ("null", {"null"})])
def test_ids_may_be_blank(name, kind, wanted):
    assert {
        call["id"] for call in chat_calls(datas(ask(name, Streams(said=SAID, ids=kind))[0])) if "id" in call
    } == wanted


@pytest.mark.parametrize("name", CHATS)
def test_ids_may_be_repeated(name):
    ids = [call["id"] for call in chat_calls(datas(ask(name, Streams(said=SAID, ids="repeated"))[0])) if "id" in call]
    assert len(ids) == 2
    assert len(set(ids)) == 1
    assert ids[0]


def test_ids_may_come_late():
    calls = chat_calls(datas(ask("openai_chat", Streams(said=SAID, ids="late"))[0]))
    for index in (0, 1):
        mine = [call for call in calls if call["index"] == index]
        assert "id" not in mine[0]
        assert mine[1]["id"].startswith("call_")
        assert all("id" not in call for call in mine[2:])


def test_ids_of_responses_may_be_anything_too():
    late = datas(ask("openai_responses", Streams(said=SAID, ids="late"))[0])
    assert all("call_id" not in item for item in response_items(late, "response.output_item.added"))
    assert all(item["call_id"] for item in response_items(late, "response.output_item.done"))
    same = datas(ask("openai_responses", Streams(said=SAID, ids="repeated"))[0])
    assert len({item["call_id"] for item in response_items(same, "response.output_item.done")}) == 1
    blank = datas(ask("openai_responses", Streams(said=SAID, ids="blank"))[0])
    assert {item["call_id"] for item in response_items(blank, "response.output_item.done")} == {""}
    assert {item["call_id"] for item in blank[-1]["response"]["output"] if item["type"] == "function_call"} == {""}


@pytest.mark.parametrize("name", CHATS)
def test_indices_may_be_merged_missing_or_from_one(name):
    def indices(kind):
        return {call.get("index") for call in chat_calls(datas(ask(name, Streams(said=SAID, indices=kind))[0]))}

    assert (indices(""), indices("merged"), indices("missing"), indices("from_1")) == ({0, 1}, {0}, {None}, {1, 2})


def test_indices_of_responses_too():
    def indices(kind):
        found = datas(ask("openai_responses", Streams(said=SAID, indices=kind))[0])
        return {event.get("output_index") for event in found if event["type"].startswith("response.output_item")}

    assert (indices(""), indices("merged"), indices("missing"), indices("from_1")) == (
        {0, 1, 2},
        {0},
        {None},
        {1, 2, 3},
    )


def test_ids_indices_and_the_end_of_anthropics_stream():
    def found(**faults):
        return datas(ask("anthropic", Streams(said=SAID, **faults))[0])

    def ids(events):
        blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
        return [block["id"] for block in blocks if block["type"] == "tool_use"]

    def indices(events):
        return {event.get("index") for event in events if event["type"].startswith("content_block")}

    def reasons(events):
        return [event["delta"]["stop_reason"] for event in events if event["type"] == "message_delta"]

    assert ids(found(ids="blank")) == ["", ""]
    assert len(set(ids(found(ids="repeated")))) == 1
    assert len(set(ids(found()))) == 2
    assert (indices(found()), indices(found(indices="merged"))) == ({0, 1, 2}, {0})
    assert (indices(found(indices="missing")), indices(found(indices="from_1"))) == ({None}, {1, 2, 3})
    assert [event["type"] for event in found(final_twice=True)][-2:] == ["message_stop"] * 2
    assert (reasons(found()), reasons(found(finish=False))) == (["tool_use"], [None])


def test_ids_and_the_end_of_geminis_stream():
    def found(**faults):
        return [chunk["candidates"][0] for chunk in datas(ask("gemini", Streams(said=SAID, **faults))[0])]

    def ids(candidates):
        parts = [part for one in candidates for part in one["content"].get("parts", [])]
        return [part["functionCall"]["id"] for part in parts if "functionCall" in part]

    assert ids(found(ids="blank")) == ["", ""]
    assert len(set(ids(found(ids="repeated")))) == 1
    assert len(set(ids(found()))) == 2
    assert [one.get("finishReason") for one in found(final_twice=True)][-2:] == ["STOP", "STOP"]
    assert [one.get("finishReason") for one in found(finish=False)][-1] is None


@pytest.mark.parametrize(("faults", "why"), [({"ids": "late"}, "can't come late"), ({"indices": "merged"}, "no index")])
def test_a_fault_that_gemini_has_no_place_for_says_so(faults, why):
    path, body = REQUESTS["gemini"]
    with ContractServer([Streams(said=SAID, **faults)]) as server:
        response = httpx2.post(server.url("gemini") + path, json=body, headers=HEADERS)
    assert response.status_code == 500
    assert why in response.json()["error"]["message"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_reply_in_one_piece_takes_the_faults_it_has_a_place_for(name):
    path, body = REQUESTS[name]
    path = path.replace("streamGenerateContent?alt=sse", "generateContent")
    body = {key: value for key, value in body.items() if key != "stream_options"}
    faults = Streams(said=SAID, ids="blank", usage=False, finish=False)
    with ContractServer([faults, Streams(said=SAID, cut_at=20)]) as server:
        reply = httpx2.post(server.url(name) + path, json=body, headers=HEADERS).json()
        with pytest.raises(httpx2.RemoteProtocolError):
            httpx2.post(server.url(name) + path, json=body, headers=HEADERS)
    assert not {"usage", "usageMetadata"} & set(reply)
    if name == "openai_responses":
        assert reply["status"] is None
        assert {item["call_id"] for item in reply["output"] if item["type"] == "function_call"} == {""}
    elif name == "anthropic":
        assert reply["stop_reason"] is None
        assert {block["id"] for block in reply["content"] if block["type"] == "tool_use"} == {""}
    elif name == "gemini":
        assert "finishReason" not in reply["candidates"][0]
        parts = reply["candidates"][0]["content"]["parts"]
        assert {part["functionCall"]["id"] for part in parts if "functionCall" in part} == {""}
    else:
        assert reply["choices"][0]["finish_reason"] is None
        assert {call["id"] for call in reply["choices"][0]["message"]["tool_calls"]} == {""}


def test_long_text_comes_in_no_more_than_64_pieces():
    chunks = datas(ask("openai_chat", Says("x" * 100_000))[0])
    assert 60 < len(chunks) < 80
