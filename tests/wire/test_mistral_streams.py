"""WIRE-04 over a real socket: every case of mistral_streams.json, as a server would stream it."""

import json
from pathlib import Path

import pytest

from callslip.errors import ModelUnavailable
from callslip.providers.mistral import Mistral
from callslip.testing.contract.answers import Sends
from callslip.testing.contract.mistral import Mistral as Form
from callslip.testing.contract.server import ContractServer

CASES = json.loads((Path(__file__).parent / "mistral_streams.json").read_text(encoding="utf-8"))["cases"]
pytestmark = pytest.mark.anyio


def streamed(chunks, *, end="\n", done=True):
    lines = [f"data: {json.dumps(chunk)}{end}{end}" for chunk in chunks]
    return Sends(
        body="".join([*lines, f"data: [DONE]{end}{end}" if done else ""]), headers={"content-type": "text/event-stream"}
    )


async def reply(answer, request):
    with ContractServer([answer], formats=[Form]) as server:
        return await Mistral("m", base_url=server.url("mistral"), api_key="k").reply(request)


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
async def test_what_becomes_of_a_stream(case, end, ask):
    got = await reply(streamed(case["chunks"], end=end), ask(stream=True))
    assert (got.finish, got.text, list(got.kept)) == (case["becomes"], case["text"], case["kept"])
    read = [
        json.loads(one.arguments) if isinstance(one.arguments, str) and not isinstance(want[2], str) else one.arguments
        for one, want in zip(got.proposals, case["calls"], strict=True)
    ]
    calls = [[one.provider_id, one.tool, made] for one, made in zip(got.proposals, read, strict=True)]
    assert calls == case["calls"]


async def test_a_stream_that_ends_properly_needs_no_done_mark(ask):
    got = await reply(streamed(CASES[0]["chunks"], done=False), ask(stream=True))
    assert len(got.proposals) == 2


@pytest.mark.parametrize(("status", "again"), [(429, True), (500, True), (400, False), (422, False), (None, True)])
@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_in_the_place_of_a_reply_is_no_reply(ask, status, again, stream):
    error = {"object": "error", "message": "it rained", "type": "unheard_of", "raw_status_code": status}
    answer = streamed([*CASES[0]["chunks"][:1], error], done=False) if stream else Sends(body=error)
    with pytest.raises(ModelUnavailable, match="it rained") as caught:
        await reply(answer, ask(stream=stream))
    assert caught.value.can_retry is again


async def test_json_of_another_api_is_no_reply(ask):
    with pytest.raises(ModelUnavailable, match="no reply of its API"):
        await reply(Sends(body={"output": []}), ask())
