"""The Anthropic adapter against the contract server, which refuses what Anthropic refuses."""

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
from callslip.ports.model import Delta, Proposal, Reply, ToolView
from callslip.providers.aliases import ANTHROPIC, Aliases
from callslip.providers.anthropic import Anthropic
from callslip.providers.options import Options
from callslip.testing.contract.answers import Closes, Fails, Html, RateLimited, Streams, WrongKey
from callslip.testing.contract.anthropic import Anthropic as Form
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.says_anthropic import REDACTED
from callslip.testing.contract.server import ContractServer

pytestmark = pytest.mark.anyio
KEY = "sk-ant-very-secret-0123456789"
BUDGET, ADAPTIVE, BINDS = "claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-5-5"
MODELS = ("claude-3-haiku-20240307", BUDGET, ADAPTIVE, "claude-sonnet-5", "claude-fable-5-1", BINDS, "kimi-k3")
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
    "required": ["path"],
}
TOOLS = (
    ToolView(name="files.read", description="Read a file", input_schema=SCHEMA),
    ToolView(name="list", description="", input_schema={"type": "object"}),
)
WIRE = Aliases([tool.name for tool in TOOLS], ANTHROPIC)
PNG = Attachment(name="a.png", media_type="image/png", data=b"\x89PNG\r\n\x1a\nx")
PDF = Attachment(name="a.pdf", media_type="application/pdf", data=b"%PDF-1.7 x")
CALLS = (Call(WIRE.wire("files.read"), {"path": "é", "line": 2**60}), Call("list"))


def serve(*script, **settings):
    return ContractServer(script, formats=[Form], **settings)


def talk(server, model=ADAPTIVE, **options):
    return Anthropic(model, base_url=server.url("anthropic"), api_key=KEY, options=Options(**options))


def turn(number, reply, name, attachments=(), *, is_error=False):
    """A reply with its results, as the history holds them."""
    calls = tuple(
        CallMessage(
            call_id=f"call_{number}_{place}", provider_id=one.provider_id, tool=one.tool, arguments=one.arguments
        )
        for place, one in enumerate(reply.proposals)
    )
    results = tuple(
        ResultMessage(
            call_id=one.call_id, provider_id="", tool=one.tool, content="", is_error=is_error, attachments=attachments
        )
        for one in calls
    )
    kept = Kept(model=name, items=tuple(json.loads(json.dumps(reply.kept)))) if reply.kept else None
    said = AssistantReply(text=reply.text, calls=calls, kept=kept)
    return (said, ToolResults(results=results)) if calls else (said,)


def thoughts(seen):
    return [
        block for message in seen.body["messages"] for block in message["content"] if block["type"].endswith("thinking")
    ]


@pytest.mark.requirement("WIRE-01", "WIRE-02", "WIRE-05", "RSLT-04")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", [BUDGET, ADAPTIVE, BINDS])
async def test_a_conversation_with_thinking_draws_no_400_and_another_model_goes_on(ask, name, stream):
    script = [
        Says(thinking="hm", text="Looking.", calls=CALLS),
        Says(thinking=f"so {REDACTED}", calls=CALLS[:1]),
        Says(thinking="ah", text="Done. \n"),
        Says(text="And?", calls=CALLS),
        Says(thinking="oh", text="Bye."),
    ]
    with serve(*script, key=KEY) as server:
        first, second = talk(server, name, effort="high"), talk(server, "claude-sonnet-5", effort="high")
        messages = (UserText(text="Hello"),)
        for number, model in enumerate([first, first, first, second, first]):
            reply = await model.reply(ask(messages=messages, tools=TOOLS, stream=stream))
            messages += turn(number, reply, model.name, (PNG, PDF), is_error=number == 1)
            messages += () if reply.proposals else (UserText(text=" "), Notice(text="Hurry"))
        assert server.violations == []
    calls = [one for message in messages if isinstance(message, AssistantReply) for one in message.calls]
    assert [one.tool for one in calls] == ["files.read", "list", "files.read", "files.read", "list"]
    arguments = calls[0].arguments
    assert (json.loads(arguments) if stream else arguments) == {"path": "é", "line": 2**60}
    assert [block["type"] for block in thoughts(server.seen[2])] == ["thinking", "redacted_thinking"]
    assert thoughts(server.seen[3]) == []
    assert len(thoughts(server.seen[4])) == 3
    headers = server.seen[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert reply.text == "Bye."


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("stream", [False, True])
async def test_tools_and_prompt_may_change_under_a_model_that_binds_its_thinking(ask, stream):
    with serve(Says(thinking="hm", calls=CALLS), Says(thinking="so", calls=CALLS[1:]), Says(text="Done.")) as server:
        model = talk(server, BINDS)
        messages = (UserText(text="Hello"),)
        for number, (tools, system) in enumerate([(TOOLS, "a"), (TOOLS[1:], "b"), ((), "")]):
            reply = await model.reply(ask(messages=messages, tools=tools, system=system, stream=stream))
            messages += turn(number, reply, model.name)
        assert server.violations == []
        assert len(thoughts(server.seen[2])) == 2


@pytest.mark.requirement("WIRE-01", "WIRE-02", "WIRE-03")
@pytest.mark.parametrize("name", MODELS)
async def test_every_option_is_legal_for_every_model(ask, name):
    history = (UserText(text="Hello"), *turn(1, _elsewhere(), "openai_chat:gpt"))
    asked = [(choice, only) for choice in ("auto", "none", "required") for only in ("", "list")]
    options = [
        {"effort": effort, "temperature": 1.5, "parallel": parallel}
        for effort in ("", "off", "low", "high")
        for parallel in (None, False)
    ]
    with serve(*[Says(text="Hi")] * (len(asked) * len(options) * 2)) as server:
        for settings in options:
            model = talk(server, name, **settings)
            for choice, only in asked:
                await model.reply(ask(tools=TOOLS, tool_choice=choice, only=only))
                await model.reply(ask(messages=history, tools=TOOLS, tool_choice=choice, only=only))
        assert server.violations == []


def _elsewhere():
    """A reply of another provider."""
    proposals = (Proposal(tool="gone", arguments='{"a":', provider_id="call.1"), Proposal(tool="list", arguments="{}"))
    return Reply(text=" ", proposals=proposals, finish="calls", kept=({"reasoning_content": "x"},))


@pytest.mark.requirement("CALL-03")
@pytest.mark.parametrize("ids", ["blank", "null", "repeated"])
@pytest.mark.parametrize("stream", [False, True])
async def test_bad_ids_are_mended_before_they_are_sent(ask, ids, stream):
    with serve(Streams(said=Says(thinking="hm", calls=CALLS), ids=ids), Says(text="ok")) as server:
        model = talk(server, effort="low")
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
    {"final_twice": True},
    {"usage": False},
    {"split": 1},
]


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("fault", FAULTS, ids="+".join)
async def test_faults_of_a_stream_change_nothing(ask, fault):
    said = Says(thinking="hm", text="Looking é.", calls=CALLS)
    with serve(Streams(said=said, **fault)) as server:
        reply = await talk(server, effort="low").reply(ask(tools=TOOLS, stream=True))
    assert [(one.tool, json.loads(one.arguments or "{}")) for one in reply.proposals] == [
        ("files.read", {"path": "é", "line": 2**60}),
        ("list", {}),
    ]
    assert (reply.text, reply.finish, len(reply.kept)) == ("Looking é.", "calls", 4)


@pytest.mark.requirement("WIRE-04", "CALL-05")
@pytest.mark.parametrize("then", ["ends", "lost"])
@pytest.mark.parametrize("events", range(1, 17))
async def test_a_stream_cut_anywhere_makes_no_call(ask, events, then):
    said = Says(thinking="hm", text="Looking.", calls=CALLS[:1])
    with serve(Streams(said=said, cut_after=events, cut_inside=events % 2 == 0, then=then)) as server:
        reply = await talk(server, effort="low").reply(ask(tools=TOOLS, stream=True))
    assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


@pytest.mark.requirement("WIRE-04")
async def test_a_stream_without_a_stop_reason_makes_no_call(ask):
    with serve(Streams(said=Says(text="Looking.", calls=CALLS), finish=False)) as server:
        reply = await talk(server).reply(ask(tools=TOOLS, stream=True))
    assert (reply.finish, reply.proposals) == ("cut", ())


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "filtered"),
        ("pause_turn", "cut"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_reply_that_is_not_whole_makes_no_call(ask, reason, finish, stream):
    with serve(Says(text="Look", calls=CALLS, finish=reason)) as server:
        reply = await talk(server).reply(ask(tools=TOOLS, stream=stream))
    assert (reply.finish, reply.proposals, reply.text) == (finish, (), "Look")


@pytest.mark.parametrize("stream", [False, True])
async def test_plain_and_streamed_say_the_same(ask, stream):
    with serve(Says(thinking="hm", refusal="Not this.")) as server:
        reply = await talk(server, effort="low").reply(ask(stream=stream))
    assert (reply.text, reply.finish, reply.model) == ("Not this.", "filtered", ADAPTIVE)
    assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.output_tokens) == (12, 2, 5)


async def test_deltas_are_shown_as_they_come(ask):
    shown = []
    with serve(Says(thinking="secret", text="Looking.", calls=CALLS)) as server:
        await talk(server, effort="low").reply(ask(tools=TOOLS, stream=True), shown.append)
    assert "".join(delta.text for delta in shown) == "Looking."
    assert [delta for delta in shown if delta.tool] == [Delta(tool="files.read"), Delta(tool="list")]


@pytest.mark.requirement("WIRE-06")
@pytest.mark.parametrize(
    ("answer", "again", "says"),
    [
        (RateLimited(retry_after=2), True, "Resume in 2 s"),
        (RateLimited(overloaded=True), True, "status 529"),
        (Streams(said=Says(text="Hi"), error_after=2), True, "broke off its reply"),
        (WrongKey(), False, "did not accept the API key"),
        (Fails(400), False, "status 400"),
        (Fails(413), False, "status 413"),
        (Fails(500), True, "status 500"),
        (Html(), True, "status 502"),
        (Closes(), True, "closed the connection"),
    ],
)
async def test_errors_are_the_same_as_everywhere_and_nothing_is_asked_twice(ask, answer, again, says):
    with serve(answer) as server:
        with pytest.raises(ModelUnavailable, match=says) as caught:
            await talk(server).reply(ask(stream=isinstance(answer, Streams)))
        assert len(server.seen) == 1
    assert caught.value.can_retry is again
    assert KEY not in str(caught.value)
