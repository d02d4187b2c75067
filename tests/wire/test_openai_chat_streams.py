"""WIRE-04 over a real socket: every case of openai_chat_streams.json, as a server would stream it."""

import json
from pathlib import Path

import pytest

from callslip.providers.openai_chat import OpenAIChat
from callslip.testing.chat_server import ChatServer, Streams

CASES = json.loads((Path(__file__).parent / "openai_chat_streams.json").read_text(encoding="utf-8"))["cases"]


def stream(case):
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in case["deltas"]]
    if case["finish"] is not None:
        choices.append({"index": 0, "delta": {}, "finish_reason": case["finish"]})
    return [{"choices": [choice]} for choice in choices]


def spelled(proposal, expected):
    arguments = proposal.arguments
    if isinstance(arguments, str) and isinstance(expected[2], dict):
        arguments = json.loads(arguments)
    return [proposal.provider_id, proposal.tool, arguments]


@pytest.mark.requirement("WIRE-04")
@pytest.mark.anyio
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
async def test_what_becomes_of_a_stream(case, ask):
    with ChatServer([Streams(chunks=stream(case), done=case["finish"] is not None)]) as server:
        model = OpenAIChat("m", base_url=server.base_url, api_key=None)
        reply = await model.reply(ask(stream=True))
    assert reply.finish == case["becomes"]
    assert reply.text == case["text"]
    assert len(reply.proposals) == len(case["calls"])
    assert [spelled(got, want) for got, want in zip(reply.proposals, case["calls"], strict=True)] == case["calls"]


@pytest.mark.requirement("CALL-05")
@pytest.mark.requirement("WIRE-04")
@pytest.mark.anyio
@pytest.mark.parametrize("case", [case for case in CASES if case["becomes"] == "calls"], ids=lambda case: case["id"])
async def test_a_lost_connection_is_never_a_call(case, ask):
    """Even after the finish reason: a stream that did not end as streams do is cut."""
    with ChatServer([Streams(chunks=stream(case), done=False, breaks=True)]) as server:
        reply = await OpenAIChat("m", base_url=server.base_url, api_key=None).reply(ask(stream=True))
    assert (reply.finish, reply.proposals) == ("cut", ())


@pytest.mark.anyio
async def test_a_stream_that_ends_properly_needs_no_done_mark(ask):
    case = next(case for case in CASES if case["id"] == "interleaved")
    with ChatServer([Streams(chunks=stream(case), done=False)]) as server:
        reply = await OpenAIChat("m", base_url=server.base_url, api_key=None).reply(ask(stream=True))
    assert [proposal.tool for proposal in reply.proposals] == ["read", "list"]


@pytest.mark.anyio
async def test_a_last_event_without_its_blank_line_is_read(ask):
    last = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}'
    with ChatServer([Streams(chunks=[{"choices": [{"delta": {"content": "Hi"}}]}, last], done=False)]) as server:
        reply = await OpenAIChat("m", base_url=server.base_url, api_key=None).reply(ask(stream=True))
    assert (reply.text, reply.finish) == ("Hi", "stop")


@pytest.mark.anyio
async def test_a_stream_that_ends_inside_an_event_is_cut(ask):
    last = 'data: {"choices":[{"delta":{},"finish_reason":"sto'
    with ChatServer([Streams(chunks=[{"choices": [{"delta": {"content": "Hi"}}]}, last], done=False)]) as server:
        reply = await OpenAIChat("m", base_url=server.base_url, api_key=None).reply(ask(stream=True))
    assert (reply.text, reply.finish) == ("Hi", "cut")


@pytest.mark.anyio
async def test_silence_in_the_middle_of_a_stream_is_a_cut(ask):
    with ChatServer([Streams(chunks=[{"choices": [{"delta": {"content": "Hi"}}]}], then_hangs=True)]) as server:
        model = OpenAIChat("m", base_url=server.base_url, api_key=None, timeout=0.2)
        reply = await model.reply(ask(stream=True))
    assert (reply.text, reply.finish) == ("Hi", "cut")
