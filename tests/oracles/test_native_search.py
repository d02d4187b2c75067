"""Tools that are found: what is sent for them stands in the SDKs' types, and the server's search is one to them too."""

from __future__ import annotations

import pytest
from tests.wire.searching import FORMS, Talk, talk

from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer

from .oracle import contract, oracle
from .typed import faults

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("DEFR-07")]
each = pytest.mark.parametrize("form", list(FORMS))
ways = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
FIND = Call("tool_search", {"queries": ["weather"]})


async def bodies(form, stream):
    """Those of a conversation in which a tool is found, called, let go, summed up and found again."""
    script = [Says(thinking="Hm.", calls=(FIND,)), Says(calls=(Call("weather", {"cents": 1}),)), Says("Rain.")]
    conversation = Talk()
    with ContractServer([*script, *script], formats=[contract(form)]) as server:
        model = talk(form, server.url(form))
        for _ in range(3):
            await conversation.step(model, stream=stream)
        conversation.ask("And tomorrow?")
        await conversation.step(model, stream=stream)
        conversation.forget(len(conversation.messages))
        await conversation.step(model, stream=stream)
        await conversation.step(model, stream=stream)
        assert server.violations == []
    return [seen.body for seen in server.seen]


@each
@ways
async def test_what_is_sent_is_as_the_types_say(form, stream):
    sdk = oracle(form)
    sent = await bodies(form, stream)
    assert any("tool_reference" in str(body) or "tool_search_output" in str(body) for body in sent)
    with ContractServer(lambda _: Says("Yes."), formats=[contract(form)]) as server:
        client = sdk.client(server.url(form))
        for body in sent:
            typed = sdk.as_typed(body) if form == "openai_responses" else body
            assert faults(typed, sdk.type_of(body)) == []
            sdk.send(client, body, "/responses" if form == "openai_responses" else "/messages")
            assert sdk.unchanged(server.seen[-1].body) == body
        assert server.violations == []


@ways
def test_the_servers_search_is_a_search(stream):
    sdk = oracle("openai_responses")
    tool = {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}}
    body = {"model": "gpt-5.6", "input": "Weather?", "tools": [tool], **({"stream": True} if stream else {})}
    with ContractServer([Says(calls=(FIND,))], formats=[contract("openai_responses")]) as server:
        (item,) = sdk.send(sdk.client(server.url("openai_responses")), body, "/responses").output
    assert type(item).__name__ == "ResponseToolSearchCall"
    assert (item.execution, item.arguments, item.call_id[:5]) == ("client", {"queries": ["weather"]}, "call_")
