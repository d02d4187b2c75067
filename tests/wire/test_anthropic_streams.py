"""WIRE-04 over a real socket: every case of anthropic_streams.json, as a server would stream it."""

import json
from pathlib import Path

import pytest

from callslip.errors import ModelUnavailable
from callslip.providers.anthropic import Anthropic
from callslip.testing.contract.answers import Sends
from callslip.testing.contract.anthropic import Anthropic as Form
from callslip.testing.contract.server import ContractServer

CASES = json.loads((Path(__file__).parent / "anthropic_streams.json").read_text(encoding="utf-8"))["cases"]
pytestmark = pytest.mark.anyio


def streamed(events, end="\n"):
    lines = [f"event: {event['type']}{end}data: {json.dumps(event)}{end}{end}" for event in events]
    return Sends(body="".join(lines), headers={"content-type": "text/event-stream"})


async def reply(answer, request):
    with ContractServer([answer], formats=[Form]) as server:
        return await Anthropic("claude-opus-4-6", base_url=server.url("anthropic"), api_key="k").reply(request)


def value_of(arguments):
    try:
        return json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
async def test_what_becomes_of_a_stream(case, end, ask):
    got = await reply(streamed(case["events"], end), ask(stream=True))
    assert (got.finish, got.text) == (case["becomes"], case["text"])
    assert [[one.provider_id, one.tool, value_of(one.arguments)] for one in got.proposals] == case["calls"]


@pytest.mark.parametrize(
    ("kind", "again"),
    [("overloaded_error", True), ("api_error", True), ("rate_limit_error", True), ("invalid_request_error", False)],
)
async def test_an_error_in_the_stream_is_no_reply(kind, again, ask):
    event = {"type": "error", "error": {"type": kind, "message": "it rained"}}
    with pytest.raises(ModelUnavailable, match="broke off its reply with an error: it rained") as caught:
        await reply(streamed([*CASES[0]["events"][:4], event]), ask(stream=True))
    assert caught.value.can_retry is again


async def test_an_error_in_place_of_a_message_is_no_reply(ask):
    error = {"type": "error", "error": {"type": "api_error", "message": "it rained"}}
    for body in (error, {"type": "error", "message": "it rained"}):
        with pytest.raises(ModelUnavailable, match="it rained"):
            await reply(Sends(body=body), ask())


async def test_pings_alone_are_nothing(ask):
    with pytest.raises(ModelUnavailable, match="nothing in it"):
        await reply(streamed([{"type": "ping"}]), ask(stream=True))


async def test_json_of_another_api_is_no_reply(ask):
    with pytest.raises(ModelUnavailable, match="no reply of its API"):
        await reply(Sends(body={"choices": []}), ask())
