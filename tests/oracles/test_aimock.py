"""Our adapters against a mock that others wrote: npm's @copilotkit/aimock, which knows nothing of our contract server.

It is a peer and no judge: it takes almost everything. What it shows is that our adapters read replies that were not
made by the hand that made the adapters. One thing is set right in its fixtures: as Gemini's reason to end with calls it
says FUNCTION_CALL, a word that Gemini does not have (google-genai, ``types.FinishReason``), and says STOP when told to.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from callslip.core.message import AssistantReply, CallMessage, Kept, ResultMessage, ToolResults, UserText
from callslip.errors import ModelUnavailable
from callslip.ports.model import Request

from .oracle import PAY, adapter

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / ".aimock/node_modules/@copilotkit/aimock/dist/cli.js"
BASES = {
    "openai_chat": "/v1",
    "openai_responses": "/v1",
    "anthropic": "/v1",
    "gemini": "/v1beta",
    "mistral": "/v1",
    "compatible": "/v1",
}
"""The formats that it speaks. Mistral's it does not, but its adapter reads what resembles it."""
ARGUMENTS = [{"cents": 5, "to": "Ada"}, {"cents": -7, "to": 'é "x"\n'}]
pytestmark = pytest.mark.anyio
each = pytest.mark.parametrize("form", BASES)
both = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


@pytest.fixture(scope="module")
def url():
    node = shutil.which("node")
    if node is None:
        pytest.skip("aimock runs on Node.js, and there is no program `node`")
    if not PROGRAM.exists():
        pytest.skip("npm's @copilotkit/aimock is not installed: `make oracles-aimock` does it")
    command = [node, str(PROGRAM), "--port", "0", "--fixtures", str(HERE / "aimock.json"), "--strict"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as mock:
        try:
            said = []
            for line in mock.stdout:
                said.append(line)
                if found := re.search(r"listening on (http://\S+)", line):
                    break
            else:
                pytest.fail(f"aimock ended before it listened: {''.join(said)}")
            yield found[1]
        finally:
            mock.terminate()


def model(url, form):
    return adapter(form, url + BASES[form])


def request(*messages, stream):
    return Request(system="Be brief.", messages=messages, tools=(PAY,), stream=stream)


def answered(reply, by):
    """A reply and its results, as the runtime would keep them."""
    calls = tuple(
        CallMessage(call_id=f"call_{place}", provider_id=one.provider_id, tool=one.tool, arguments=one.arguments)
        for place, one in enumerate(reply.proposals)
    )
    results = tuple(
        ResultMessage(call_id=call.call_id, provider_id=call.provider_id, tool=call.tool, content="paid")
        for call in calls
    )
    kept = Kept(model=by.name, items=reply.kept) if reply.kept else None
    return AssistantReply(text=reply.text, calls=calls, kept=kept), ToolResults(results=results)


@pytest.mark.requirement("WIRE-02")
@each
@both
async def test_a_text(url, form, stream):
    reply = await model(url, form).reply(request(UserText(text="Hello"), stream=stream))
    assert (reply.text, reply.finish, reply.proposals) == ("Hello, wörld.", "stop", ())


@pytest.mark.requirement("WIRE-01")
@pytest.mark.requirement("WIRE-02")
@each
@both
async def test_two_calls_and_their_results(url, form, stream):
    by, user = model(url, form), UserText(text="Pay.")
    reply = await by.reply(request(user, stream=stream))
    assert (reply.text, reply.finish) == ("Paying.", "calls")
    assert [one.tool for one in reply.proposals] == ["pay", "pay"]
    assert [arguments_of(one) for one in reply.proposals] == ARGUMENTS
    last = await by.reply(request(user, *answered(reply, by), stream=stream))
    assert (last.text, last.finish) == ("Both are paid.", "stop")


def arguments_of(proposal):
    return json.loads(proposal.arguments) if isinstance(proposal.arguments, str) else proposal.arguments


@pytest.mark.requirement("WIRE-06")
@each
@both
async def test_a_rate_limit(url, form, stream):
    with pytest.raises(ModelUnavailable, match="429") as caught:
        await model(url, form).reply(request(UserText(text="Too much"), stream=stream))
    assert caught.value.can_retry
    assert "Slow down." in str(caught.value)
