"""WIRE-04 over a real socket: every case of openai_responses_streams.json, as a server would stream it."""

import json
from pathlib import Path

import pytest

from callslip.errors import ModelUnavailable
from callslip.providers.openai_responses import OpenAIResponses
from callslip.testing.contract.answers import Sends
from callslip.testing.contract.openai_responses import OpenAIResponses as Form
from callslip.testing.contract.server import ContractServer

CASES = json.loads((Path(__file__).parent / "openai_responses_streams.json").read_text(encoding="utf-8"))["cases"]
pytestmark = pytest.mark.anyio


def streamed(events, end="\n"):
    lines = [f"event: {event['type']}{end}data: {json.dumps(event)}{end}{end}" for event in events]
    return Sends(body="".join(lines), headers={"content-type": "text/event-stream"})


async def reply(answer, request):
    with ContractServer([answer], formats=[Form]) as server:
        return await OpenAIResponses("m", base_url=server.url("openai_responses"), api_key="k").reply(request)


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
async def test_what_becomes_of_a_stream(case, end, ask):
    got = await reply(streamed(case["events"], end), ask(stream=True))
    assert (got.finish, got.text) == (case["becomes"], case["text"])
    calls = [[one.provider_id, one.tool, json.loads(one.arguments)] for one in got.proposals]
    assert calls == case["calls"]


@pytest.mark.parametrize("event", [{"type": "error", "message": "too busy"}, {"type": "error", "code": 7}])
async def test_an_error_in_the_stream_is_no_reply(event, ask):
    with pytest.raises(ModelUnavailable, match="broke off its reply"):
        await reply(streamed([*CASES[0]["events"][:4], event]), ask(stream=True))


async def test_a_failed_response_is_no_reply(ask):
    failed = {"status": "failed", "error": {"code": "server_error", "message": "it rained"}}
    with pytest.raises(ModelUnavailable, match="it rained") as caught:
        await reply(streamed([{"type": "response.failed", "response": failed}]), ask(stream=True))
    assert caught.value.can_retry
    with pytest.raises(ModelUnavailable, match="it rained"):
        await reply(Sends(body=failed | {"output": []}), ask())


async def test_pings_alone_are_nothing(ask):
    with pytest.raises(ModelUnavailable, match="nothing in it"):
        await reply(streamed([{"type": "ping"}]), ask(stream=True))


async def test_json_of_another_api_is_no_reply(ask):
    with pytest.raises(ModelUnavailable, match="no reply of its API"):
        await reply(Sends(body={"choices": []}), ask())
