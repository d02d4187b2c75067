"""The constrained adapter against a server that copies Chat Completions, with the strictest of chat templates."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from callslip.core.message import AssistantReply, CallMessage, ResultMessage, ToolResults, UserText
from callslip.errors import ModelUnavailable
from callslip.ports.model import Request, ToolView
from callslip.providers.constrained import Constrained, ConstrainedFormat
from callslip.providers.constrained_envelope import answered, written
from callslip.providers.options import Options
from callslip.sessions.project import project
from callslip.testing.contract.answers import Fails, Streams
from callslip.testing.contract.compatible import Compatible
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer

from .made_history import TOOLS, Made

PAY = ToolView(
    name="bank.pay",
    description="Pay.",
    input_schema={"type": "object", "properties": {"cents": {"type": "integer"}, "to": {"type": "string"}}},
)
pytestmark = pytest.mark.anyio


def strict_server(*script):
    return ContractServer(script=script, formats=[Compatible(alternating=True)])


def model(server, **options):
    return Constrained("m", base_url=server.url("compatible"), api_key=None, options=Options(**options))


def calling(*arguments):
    """An answer that calls the request's only tool by the name it has there."""

    def answer(body):
        schema = body["response_format"]["json_schema"]["schema"]
        calls = schema["properties"]["reply"]["anyOf"][0]["properties"]["calls"]
        wire = calls["items"]["properties"]["tool"]["enum"][0]
        return Says(written([(wire, one) for one in arguments]))

    return answer


@pytest.mark.requirement("WIRE-01", "WIRE-02")
@pytest.mark.parametrize("system_role", [True, False])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_conversation(stream, system_role):
    script = [calling({"cents": 2**60, "to": None}, {"cents": 1, "to": "é"}), Says(answered("Paid \U0001f600."))]
    history, shown = [UserText(text="Pay them")], []
    with strict_server(*script) as server:
        talk = model(server, system_role=system_role)

        def ask():
            return talk.reply(
                Request(system="Be brief.", messages=tuple(history), tools=(PAY,), stream=stream), shown.append
            )

        first = await ask()
        assert [one.arguments for one in first.proposals] == [{"cents": 2**60}, {"cents": 1, "to": "é"}]
        assert (first.finish, first.text, shown) == ("calls", "", [])
        calls = tuple(
            CallMessage(call_id=f"call_{n}", provider_id="", tool=one.tool, arguments=one.arguments)
            for n, one in enumerate(first.proposals)
        )
        answers = tuple(
            ResultMessage(call_id=one.call_id, provider_id="", tool=one.tool, content="paid") for one in calls
        )
        history += [AssistantReply(text="", calls=calls), ToolResults(results=answers)]
        second = await ask()
        assert (second.finish, second.text, second.proposals) == ("stop", "Paid \U0001f600.", ())
        assert "".join(delta.text for delta in shown) == ("Paid \U0001f600." if stream else "")
        assert server.violations == []
        assert len(server.seen) == 2


@pytest.mark.requirement("WIRE-04", "CALL-05")
async def test_a_stream_that_is_lost_anywhere_makes_no_call(ask):
    said = Says('{"reply": {"calls": [{"tool": "pay", "arguments": {"cents": 5}}]}}')
    request = ask(stream=True)
    events = len(list(Compatible().events(said, ConstrainedFormat("m", Options()).exchange(request).body)))
    outcomes = []
    with strict_server(*(Streams(said=said, cut_after=after) for after in range(events)), said) as server:
        for _ in range(events):
            try:
                reply = await model(server).reply(request)
            except ModelUnavailable:
                continue
            outcomes.append((reply.finish, reply.proposals, reply.text))
        assert (await model(server).reply(request)).finish == "calls"
    assert set(outcomes) == {("cut", (), "")}


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("fault", [{"comments": True, "crlf": True}, {"split": 1}, {"unknown_events": True}])
async def test_a_stream_that_is_merely_odd_is_read(ask, fault):
    said = Says('{"reply": {"calls": [{"tool": "pay", "arguments": {"cents": 5}}]}}')
    with strict_server(Streams(said=said, **fault)) as server:
        reply = await model(server).reply(ask(stream=True))
    assert [one.arguments for one in reply.proposals] == [{"cents": 5}]


async def test_native_calls_make_none(ask):
    with strict_server(Says("Well.", calls=(Call("pay", {"cents": 5}),))) as server:
        reply = await model(server).reply(ask())
    assert (reply.finish, reply.text, reply.proposals) == ("stop", "Well.", ())


async def test_a_server_without_schemas_says_so_and_can_be_asked_without(ask):
    said = "'response_format.type' must be 'text' or 'json_object'"
    with strict_server(Fails(400, said), Says(answered("Hi"))) as server:
        with pytest.raises(ModelUnavailable, match="must be 'text' or 'json_object'") as caught:
            await model(server).reply(ask())
        assert not caught.value.can_retry
        reply = await model(server, constrain="json_object").reply(ask())
        assert server.seen[-1].body["response_format"] == {"type": "json_object"}
    assert reply.text == "Hi"


@pytest.mark.requirement("WIRE-01", "WIRE-02", "CALL-05", "CALL-06", "RSLT-04")
@given(seed=st.integers(min_value=0), constrain=st.sampled_from(["json_schema", "text"]), system_role=st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
async def test_no_history_breaks_a_rule_of_the_strictest_template(seed, constrain, system_role):
    made = Made(seed)
    await made.play()
    messages = await project(made.parts, made.log.state())
    wire = ConstrainedFormat("m", Options(constrain=constrain, system_role=system_role))
    for choice in ("auto", "none", "required"):
        request = Request(system="Be brief.", messages=tuple(messages), tools=TOOLS, tool_choice=choice)
        body = json.loads(json.dumps(wire.exchange(request).body))
        violations = Compatible(alternating=True).check(body, {}, "/v1/chat/completions")
        assert violations == [], f"seed {seed}: {violations}"
        assert body == wire.exchange(request).body
