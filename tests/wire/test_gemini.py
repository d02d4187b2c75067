"""The Gemini adapter against the contract server, over a real socket: no history of these draws a refusal."""

import json
from pathlib import Path

import pytest

from callslip.core import canon
from callslip.core.message import AssistantReply, Attachment, CallMessage, Kept, ResultMessage, ToolResults, UserText
from callslip.errors import ModelUnavailable
from callslip.ports.model import Delta, Request, ToolView
from callslip.providers.gemini import Gemini
from callslip.providers.options import Options
from callslip.testing.chat_server import ChatServer, Streams as Chunks
from callslip.testing.contract import answering
from callslip.testing.contract.answers import Closes, Fails, Html, RateLimited, Streams, WrongKey
from callslip.testing.contract.gemini import Gemini as Contract
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer

KEY = "AIza-very-secret-0123456789"
THREE, TWO = "gemini-3.1-pro-preview", "gemini-2.5-flash"
PNG = Attachment(name="plot.png", media_type="image/png", data=b"\x89PNG\r\n\x1a\n")
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "a b": {"type": ["integer", "null"]}}}
TOOLS = tuple(ToolView(name=name, description="", input_schema=SCHEMA) for name in ("files.read", "9/list"))
pytestmark = pytest.mark.anyio


def serving(*script):
    return ContractServer(script=script, formats=[Contract], key=KEY)


def model(server, name=THREE, key=KEY, **options):
    return Gemini(name, base_url=server.url("gemini"), api_key=key, options=Options(**options))


class Talk:
    """A conversation as the runtime would keep it: replies stored as JSON, calls answered."""

    def __init__(self, *, stream=False, attachments=()):
        self.messages = [UserText(text="Hello")]
        self.stream = stream
        self.attachments = attachments
        self.calls = 0

    async def step(self, model, **changes):
        request = Request(system="Be brief.", messages=tuple(self.messages), tools=TOOLS, stream=self.stream, **changes)
        reply = await model.reply(request)
        calls, results = [], []
        for one in reply.proposals:
            self.calls += 1
            own = f"call_{self.calls}"
            arguments = one.arguments if isinstance(one.arguments, str) else canon.parse(canon.canonical(one.arguments))
            calls.append(CallMessage(call_id=own, provider_id=one.provider_id, tool=one.tool, arguments=arguments))
            results.append(
                ResultMessage(
                    call_id=own,
                    provider_id=one.provider_id,
                    tool=one.tool,
                    content="done",
                    is_error=self.calls % 2 == 0,
                    attachments=self.attachments,
                )
            )
        kept = Kept(model=model.name, items=tuple(json.loads(json.dumps(reply.kept)))) if reply.kept else None
        self.messages.append(AssistantReply(text=reply.text, calls=tuple(calls), kept=kept))
        if calls:
            self.messages.append(ToolResults(results=tuple(results[::-1])))
        return reply


READ = Call("files.read", {"path": "a", "n": 5, "big": 2**53 + 1, "x": 0.5})


@pytest.mark.requirement("WIRE-01")
@pytest.mark.requirement("WIRE-02")
@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", [TWO, THREE, "models/gemini-flash-latest"])
async def test_a_conversation_of_several_steps(name, stream):
    script = [
        Says("Looking.", (READ, READ), thinking="Hm"),
        Says(calls=(Call("files.read"),)),
        Says("Half.", thinking="Hm"),
        Says("So.", (READ,), thinking="Hm"),
        Says("Done."),
    ]
    with serving(*script) as server:
        talk, asked = Talk(stream=stream, attachments=(PNG,)), model(server, name)
        first = await talk.step(asked)
        await talk.step(asked)
        third = await talk.step(asked)
        talk.messages.append(UserText(text="And?"))
        await talk.step(asked)
        last = await talk.step(asked)
        assert server.violations == []
        assert [seen.path.rpartition(":")[2] for seen in server.seen] == [
            "streamGenerateContent?alt=sse" if stream else "generateContent"
        ] * 5
    assert (first.finish, first.text, len(first.proposals)) == ("calls", "Looking.", 2)
    assert first.proposals[0].arguments == {"path": "a", "n": 5, "big": 2**53, "x": 0.5}
    assert (third.finish, last.finish, last.text) == ("stop", "stop", "Done.")
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.reasoning_tokens) == (10, 8, 3)
    assert first.model == name.removeprefix("models/")


@pytest.mark.requirement("WIRE-05")
async def test_signatures_and_ids_come_back_as_they_were_given():
    with serving(Says("Looking.", (READ, READ), thinking="Hm"), Says("Done.")) as server:
        talk = Talk(stream=True)
        reply = await talk.step(model(server))
        await talk.step(model(server))
        model_content, answers = server.seen[1].body["contents"][1:3]
    signed = [part["thoughtSignature"] for part in model_content["parts"] if "thoughtSignature" in part]
    assert signed == [item["thoughtSignature"] for item in reply.kept if "thoughtSignature" in item]
    assert len(signed) == 1
    ids = [one.provider_id for one in reply.proposals]
    assert all(ids)
    assert [part["functionResponse"]["id"] for part in answers["parts"]] == ids


@pytest.mark.requirement("WIRE-01")
@pytest.mark.parametrize("then", [TWO, "gemini-3.5-flash"])
async def test_a_session_moves_to_another_model_and_back(then):
    script = [Says(calls=(READ, READ)), Says(calls=(READ,), thinking="Hm"), Says(calls=(READ,)), Says("Done.")]
    with serving(*script) as server:
        talk = Talk()
        for name in (THREE, then, THREE, then):
            await talk.step(model(server, name))
        assert server.violations == []


@pytest.mark.requirement("WIRE-05")
@pytest.mark.parametrize("arguments", [{"path": "b"}, "erased", {"path": "a", "n": 2**60}])
async def test_a_call_whose_arguments_were_changed_is_no_corrupted_signature(arguments):
    with serving(Says(calls=(READ,)), Says("Done.")) as server:
        talk = Talk()
        await talk.step(model(server))
        said = talk.messages[1]
        (call,) = said.calls
        changed = CallMessage(call_id=call.call_id, provider_id=call.provider_id, tool=call.tool, arguments=arguments)
        talk.messages[1] = AssistantReply(text="", calls=(changed,), kept=said.kept)
        assert (await talk.step(model(server))).finish == "stop"
        assert server.violations == []


@pytest.mark.requirement("WIRE-03")
@pytest.mark.parametrize("choice", ["auto", "none", "required"])
@pytest.mark.parametrize("only", ["", "9/list", "gone"])
async def test_tool_choice_is_taken(choice, only):
    with serving(Says("Hi")) as server:
        await Talk().step(model(server), tool_choice=choice, only=only)
        assert server.violations == []


@pytest.mark.parametrize("effort", ["off", "low", "medium", "high"])
@pytest.mark.parametrize("name", [TWO, THREE, "gemini-2.0-flash", "gemini-4-argon"])
async def test_settings_are_taken(name, effort):
    with serving(Says("Hi")) as server:
        await Talk().step(model(server, name, effort=effort, temperature=0.0, max_output_tokens=9, parallel=False))
        assert server.violations == []


async def test_the_key_is_sent_as_a_header_alone():
    with serving(Says("Hi")) as server:
        await Talk().step(model(server))
        (seen,) = server.seen
    assert seen.headers["x-goog-api-key"] == KEY
    assert KEY not in seen.path
    assert "authorization" not in seen.headers


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "faults",
    [
        {"ids": "blank"},
        {"ids": "repeated"},
        {"ids": "null"},
        {"usage": False},
        {"final_twice": True},
        {"unknown_events": True},
        {"comments": True, "crlf": True},
        {"split": 1},
        {"split": 7, "comments": True},
    ],
    ids=str,
)
async def test_faults_that_leave_a_reply_whole(stream, faults):
    said = Says("Lööking.", (READ, Call("files.read", {"path": "b"})), thinking="Hm")
    with serving(Streams(said=said, **faults), Says("Done.")) as server:
        talk = Talk(stream=stream)
        reply = await talk.step(model(server))
        assert (reply.finish, reply.text) == ("calls", "Lööking.")
        assert [one.arguments["path"] for one in reply.proposals] == ["a", "b"]
        await talk.step(model(server))
        assert server.violations == []


@pytest.mark.requirement("WIRE-04")
@pytest.mark.requirement("CALL-05")
async def test_a_stream_cut_after_any_byte_is_never_a_call():
    whole = Streams(said=Says("Hi", (READ,)))
    length = sum(map(len, answering.answer(whole, Contract(), {}, f"/models/{THREE}:streamGenerateContent").writes))
    # Up to the last character of the last event; of what comes after it, the line end, nothing depends.
    cuts = [
        Streams(said=whole.said, cut_at=at, then=then)
        for at in (*range(0, length - 2, 11), length - 3)
        for then in ("lost", "ends")
    ]
    with serving(whole, *cuts) as server:
        assert len((await Talk(stream=True).step(model(server))).proposals) == 1
        for _ in cuts:
            try:
                reply = await Talk(stream=True).step(model(server))
            except ModelUnavailable:
                continue  # nothing had come
            assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("stream", [False, True])
async def test_a_reply_without_its_reason_is_a_cut(stream):
    with serving(Streams(said=Says(calls=(READ,)), finish=False)) as server:
        reply = await Talk(stream=stream).step(model(server))
    assert (reply.finish, reply.proposals) == ("cut", ())


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("said", "becomes"),
    [
        (Says(refusal="No."), "filtered"),
        (Says("Well", refusal="No."), "filtered"),
        (Says("Well", (READ,), finish="MAX_TOKENS"), "length"),
        (Says(calls=(Call("files.read", "{cut"),)), "cut"),
        (Says(), "empty"),
    ],
)
async def test_other_ends(stream, said, becomes):
    with serving(said) as server:
        reply = await Talk(stream=stream).step(model(server))
    assert (reply.finish, reply.proposals, reply.kept) == (becomes, (), ())


async def test_deltas_as_they_come():
    shown = []
    with serving(Says("Looking.", (READ,), thinking="Hm")) as server:
        request = Request(system="", messages=(UserText(text="Hi"),), tools=TOOLS, stream=True)
        await model(server).reply(request, shown.append)
    assert "".join(delta.text for delta in shown) == "Looking."
    assert shown[-1] == Delta(tool="files.read")


@pytest.mark.parametrize(
    ("answer", "retryable", "says"),
    [
        (WrongKey(), False, "did not accept the API key"),
        (RateLimited(retry_after=7), True, "Resume in 7 s."),
        (RateLimited(overloaded=True), True, "503"),
        (Fails(400, "Unknown name"), False, "Unknown name"),
        (Fails(500), True, "500"),
        (Html(), True, "502"),
        (Closes(), True, "closed the connection"),
    ],
)
async def test_errors(answer, retryable, says):
    with serving(answer) as server:
        with pytest.raises(ModelUnavailable) as caught:
            await Talk().step(model(server))
        assert len(server.seen) == 1, "nothing is retried here"
    assert caught.value.can_retry is retryable
    assert says in str(caught.value)
    assert KEY not in str(caught.value)


async def test_an_error_in_the_middle_of_a_stream():
    said = Says("Some text.", (READ,))
    with serving(Streams(said=said, error_after=2)) as server, pytest.raises(ModelUnavailable) as caught:
        await Talk(stream=True).step(model(server))
    assert "The stream failed." in str(caught.value)
    assert caught.value.can_retry


CASES = json.loads((Path(__file__).parent / "gemini_streams.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
async def test_what_becomes_of_a_stream(case, ask):
    with ChatServer([Chunks(chunks=case["chunks"], done=False)]) as server:
        reply = await Gemini("m", base_url=server.base_url, api_key=None).reply(ask(stream=True))
    assert (reply.finish, reply.text) == (case["becomes"], case["text"])
    assert [[one.provider_id, one.tool, one.arguments] for one in reply.proposals] == case["calls"]
