"""The Mistral adapter against the contract server, which refuses what Mistral refuses."""

import json

import pytest

from callslip.core.message import (
    AssistantReply,
    Attachment,
    CallMessage,
    Kept,
    Notice,
    ResultMessage,
    ToolResults,
    UserText,
)
from callslip.errors import ModelUnavailable
from callslip.ports.model import Delta, ToolView
from callslip.providers.aliases import CHAT, Aliases
from callslip.providers.mistral import Mistral
from callslip.providers.options import Options
from callslip.testing.contract.answers import Closes, Fails, Html, RateLimited, Streams, WrongKey
from callslip.testing.contract.mistral import Mistral as Form
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer

pytestmark = pytest.mark.anyio
KEY = "very-secret-0123456789"
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
    "required": ["path"],
}
TOOLS = (
    ToolView(name="files.read", description="Read a file", input_schema=SCHEMA),
    ToolView(name="python", description="Run", input_schema={"type": "object"}),
)
WIRE = Aliases([tool.name for tool in TOOLS], CHAT)
PNG = Attachment(name="a.png", media_type="image/png", data=b"x")
PDF = Attachment(name="a.pdf", media_type="application/pdf", data=b"y")
CALLS = (Call(WIRE.wire("files.read"), {"path": "a", "line": None}), Call(WIRE.wire("python"), {}))


def serve(*script, **settings):
    return ContractServer(script, formats=[Form], **settings)


def talk(server, model="mistral-large-4-0", **settings):
    return Mistral(model, base_url=server.url("mistral"), api_key=KEY, **settings)


def turn(number, reply, name, attachments=()):
    """A reply with its results, as the history holds them."""
    calls = tuple(
        CallMessage(
            call_id=f"call_{number}_{place}", provider_id=one.provider_id, tool=one.tool, arguments=one.arguments
        )
        for place, one in enumerate(reply.proposals)
    )
    results = tuple(
        ResultMessage(call_id=one.call_id, provider_id="", tool=one.tool, content="ok", attachments=attachments)
        for one in calls
    )
    kept = Kept(model=name, items=json.loads(json.dumps(reply.kept))) if reply.kept else None
    said = AssistantReply(text=reply.text, calls=calls, kept=kept)
    return (said, ToolResults(results=results)) if calls else (said,)


def thoughts(body):
    """How many of a request's messages hold what a model thought."""
    return sum(isinstance(message["content"], list) and message["role"] == "assistant" for message in body["messages"])


@pytest.mark.requirement("WIRE-01")
@pytest.mark.requirement("WIRE-05")
@pytest.mark.requirement("RSLT-04")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_conversation_with_thoughts_draws_no_400_and_another_model_goes_on(ask, stream):
    script = [
        Says(thinking="hm", text="Looking.", calls=CALLS),
        Says(thinking="so", calls=CALLS[:1]),
        Says(thinking="ah", text="Done."),
        Says(text="And?"),
        Says(thinking="oh", text="No."),
    ]
    with serve(*script, key=KEY) as server:
        first, second = talk(server), talk(server, "mistral-small-latest")
        messages = (UserText(text="Hello"),)
        for number, model in enumerate([first, first, first, second, first]):
            reply = await model.reply(ask(messages=messages, tools=TOOLS, stream=stream))
            messages += turn(number, reply, model.name, (PNG, PDF))
            messages += () if reply.proposals else (UserText(text="More"), Notice(text="Hurry"))
        assert server.violations == []
    assert messages[1].calls[0].tool == "files.read"
    assert [thoughts(seen.body) for seen in server.seen] == [0, 1, 2, 0, 3]
    said = server.seen[1].body["messages"][2]
    assert said["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Looking."},
    ]
    assert [call["id"] for call in said["tool_calls"]] == [call.provider_id for call in messages[1].calls]
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert reply.text == "No."


@pytest.mark.requirement("WIRE-01")
async def test_a_conversation_that_others_began_goes_on(ask):
    """Ids and names of other providers, a user who interrupts, a model that spoke last."""
    ids = ("call_abc", "toolu_01", "null", "", "aB3dE6gH9", "aB3dE6gH9", "x" * 64)
    calls = tuple(
        CallMessage(call_id=f"call_s_1.1_{place}", provider_id=own, tool="gone.tool", arguments='{"n": 1')
        for place, own in enumerate(ids)
    )
    results = tuple(
        ResultMessage(call_id=one.call_id, provider_id="", tool=one.tool, content="", attachments=(PNG,))
        for one in calls
    )
    kept = Kept(model="anthropic:c", items=({"type": "thinking", "signature": "S"},))
    with serve(Says(text="Hi")) as server:
        messages = (
            AssistantReply(text="", calls=calls, kept=kept),
            UserText(text="Stop"),
            ToolResults(results=results),
            UserText(text=""),
            AssistantReply(text="Well."),
        )
        await talk(server).reply(ask(messages=messages, tools=TOOLS))
        assert server.violations == []


@pytest.mark.requirement("WIRE-03")
async def test_strict_schemas_are_taken_and_their_nulls_undone(ask):
    with serve(Says(calls=CALLS[:1])) as server:
        reply = await talk(server).reply(ask(tools=TOOLS))
        assert server.violations == []
    assert server.seen[0].body["tools"][0]["function"]["strict"] is True
    assert reply.proposals[0].arguments == {"path": "a"}


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize("only", ["", "python"])
@pytest.mark.parametrize("choice", ["auto", "none", "required"])
async def test_every_option_is_legal(ask, choice, only):
    settings = Options(max_output_tokens=5, effort="low", temperature=1.0, parallel=False)
    with serve(Says(text="Hi")) as server:
        model = talk(server, options=settings)
        await model.reply(ask(tools=TOOLS, tool_choice=choice, only=only))
        assert server.violations == []


@pytest.mark.requirement("CALL-03")
@pytest.mark.parametrize("ids", ["blank", "null", "repeated"])
@pytest.mark.parametrize("stream", [False, True])
async def test_bad_ids_are_mended_before_they_are_sent(ask, ids, stream):
    with serve(Streams(said=Says(thinking="hm", calls=CALLS), ids=ids), Says(text="ok")) as server:
        model = talk(server)
        request = ask(tools=TOOLS, stream=stream)
        reply = await model.reply(request)
        assert len(reply.proposals) == 2
        await model.reply(ask(messages=(*request.messages, *turn(1, reply, model.name)), tools=TOOLS, stream=stream))
        assert server.violations == []


FAULTS = [
    {"unknown_events": True, "comments": True, "crlf": True},
    {"indices": "merged"},
    {"indices": "missing"},
    {"indices": "from_1"},
    {"indices": "merged", "ids": "null"},
    {"indices": "missing", "ids": "blank"},
    {"final_twice": True},
    {"usage": False},
    {"split": 1},
]


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("fault", FAULTS, ids="+".join)
async def test_faults_of_a_stream_change_nothing(ask, fault):
    said = Says(thinking="hm", text="Looking é.", calls=CALLS)
    with serve(Streams(said=said, **fault)) as server:
        reply = await talk(server).reply(ask(tools=TOOLS, stream=True))
    # The null only stands for what was left out, so the shaping of strict schemas undoes it.
    assert [(one.tool, one.arguments) for one in reply.proposals] == [("files.read", {"path": "a"}), ("python", "{}")]
    assert (reply.text, reply.finish, len(reply.kept)) == ("Looking é.", "calls", 1)


@pytest.mark.requirement("WIRE-04")
@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize("then", ["ends", "lost"])
@pytest.mark.parametrize("events", range(1, 5))
async def test_a_stream_cut_anywhere_makes_no_call(ask, events, then):
    said = Says(thinking="hm", text="Looking.", calls=CALLS)
    with serve(Streams(said=said, cut_after=events, cut_inside=events % 2 == 0, then=then)) as server:
        reply = await talk(server).reply(ask(tools=TOOLS, stream=True))
    assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize(("reason", "finish"), [("length", "length"), ("model_length", "length"), ("error", "cut")])
@pytest.mark.parametrize("stream", [False, True])
async def test_an_incomplete_reply_makes_no_call(ask, reason, finish, stream):
    with serve(Says(text="Look", calls=CALLS, finish=reason)) as server:
        reply = await talk(server).reply(ask(tools=TOOLS, stream=stream))
    assert (reply.finish, reply.proposals, reply.text) == (finish, (), "Look")


async def test_deltas_are_shown_as_they_come(ask):
    shown = []
    with serve(Says(thinking="secret", text="Looking.", calls=CALLS)) as server:
        await talk(server).reply(ask(tools=TOOLS, stream=True), shown.append)
    assert "".join(delta.text for delta in shown) == "Looking."
    assert [delta for delta in shown if delta.tool] == [Delta(tool="files.read"), Delta(tool="python")]


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        (RateLimited(retry_after=2), True),
        (WrongKey(), False),
        (Fails(400), False),
        (Fails(500), True),
        (Html(), True),
        (Closes(), True),
        (Streams(said=Says(text="Look"), error_after=2), True),
    ],
)
async def test_errors_are_the_same_as_everywhere(ask, answer, again):
    with serve(answer) as server, pytest.raises(ModelUnavailable) as caught:
        await talk(server).reply(ask(stream=isinstance(answer, Streams)))
    assert caught.value.can_retry is again
    assert KEY not in str(caught.value)
