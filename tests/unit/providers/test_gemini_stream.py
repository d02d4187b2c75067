import json
from pathlib import Path

import pytest

from callslip.ports.model import Delta, Request, ToolView
from callslip.providers.gemini_reply import plain_reply
from callslip.providers.gemini_request import offer
from callslip.providers.gemini_stream import GeminiAssembly

TESTS = Path(__file__).parents[2]
CASES = json.loads((TESTS / "wire" / "gemini_streams.json").read_text(encoding="utf-8"))["cases"]
TOOL = ToolView(name="files/read", description="", input_schema={"type": "object"})
OFFERED = offer(Request(system="", messages=(), tools=(TOOL,)))
WIRE = OFFERED.wire("files/read")


def assembled(chunks, *, broken=False):
    assembly = GeminiAssembly(OFFERED)
    shown = [delta for chunk in chunks for delta in assembly.add("message", chunk)]
    return assembly.reply(broken=broken), shown


def part_chunk(*parts, **more):
    return {"candidates": [{"content": {"parts": list(parts)}, **more}]}


CALL = {"functionCall": {"name": WIRE, "args": {}, "id": "a"}, "thoughtSignature": "s"}
GOOD = [
    part_chunk({"text": "Hm", "thought": True}),
    part_chunk({"text": "Look"}),
    part_chunk({"text": "ing."}),
    part_chunk(CALL),
    part_chunk({"functionCall": {"name": WIRE, "args": {}, "id": "b"}}),
    part_chunk({"text": "", "thoughtSignature": "t"}, finishReason="STOP"),
]


@pytest.mark.requirement("WIRE-04")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_becomes_of_a_stream(case):
    reply, shown = assembled(case["chunks"])
    assert (reply.finish, reply.text) == (case["becomes"], case["text"])
    assert [[one.provider_id, one.tool, one.arguments] for one in reply.proposals] == case["calls"]
    assert list(reply.kept) == case["kept"]
    assert "".join(delta.text for delta in shown).encode("utf-16-le", "surrogatepass").decode("utf-16-le") == reply.text


@pytest.mark.requirement("WIRE-04")
@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_lost_connection_is_never_a_call(case):
    reply, _ = assembled(case["chunks"], broken=True)
    assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


@pytest.mark.requirement("WIRE-04")
@pytest.mark.requirement("CALL-05")
@pytest.mark.parametrize("came", range(len(GOOD)))
def test_a_stream_cut_anywhere_is_never_a_call(came):
    reply, _ = assembled(GOOD[:came])
    assert (reply.finish, reply.proposals, reply.kept) == ("cut", (), ())


def test_the_whole_stream_says_the_same_in_one_piece():
    reply, _ = assembled(GOOD)
    parts = [part for chunk in GOOD for part in chunk["candidates"][0]["content"]["parts"]]
    plain = plain_reply(part_chunk(*parts, finishReason="STOP"), OFFERED)
    assert reply == plain
    assert [one.tool for one in reply.proposals] == ["files/read", "files/read"]
    assert len(reply.kept) == 5


def test_deltas_show_text_but_no_thought_and_the_tools_own_name():
    _, shown = assembled(GOOD)
    assert shown == [Delta(text="Look"), Delta(text="ing."), Delta(tool="files/read"), Delta(tool="files/read")]


def test_usage_and_model_are_the_last_that_came():
    chunks = [
        {**part_chunk({"text": "a"}), "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1}},
        {**part_chunk(finishReason="STOP"), "usageMetadata": {"candidatesTokenCount": 4, "thoughtsTokenCount": 2}},
        {"modelVersion": "gemini-3.1"},
    ]
    reply, _ = assembled(chunks)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.model) == (9, 6, "gemini-3.1")


def test_it_starts_with_the_first_chunk():
    assembly = GeminiAssembly(OFFERED)
    assert not assembly.started
    assembly.add("message", {})
    assert assembly.started


def test_a_reply_nested_as_deep_as_can_be_read_is_read():
    deep = json.loads('{"x":' * 400 + "[]" + "}" * 400)
    chunk = part_chunk({"functionCall": {"name": "n", "args": deep}, "thoughtSignature": "s"}, finishReason="STOP")
    reply, _ = assembled([chunk, json.loads(json.dumps(chunk))])
    assert len(reply.proposals) == 1
