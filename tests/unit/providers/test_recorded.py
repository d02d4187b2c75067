import json

import pytest

from callslip.core.message import AssistantReply, UserText
from callslip.errors import ConfigError, ModelUnavailable
from callslip.ports.model import Delta
from callslip.providers.aliases import CHAT, Aliases
from callslip.providers.recorded import Recorded, Recorder

WIRE = Aliases(["files.read"], CHAT).wire("files.read")
CALL = {"id": "a1", "type": "function", "function": {"name": WIRE, "arguments": "{}"}}
BODY = {"model": "served", "choices": [{"message": {"content": "Done."}, "finish_reason": "stop"}]}
CHUNKS = [
    {"model": "served", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **CALL}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
]


def after(number):
    return (UserText(text="Hello"), *(AssistantReply(text="x") for _ in range(number)))


def lines(path, *values):
    path.write_text("".join(json.dumps(value) + "\n\n" for value in values))
    return path


@pytest.mark.anyio
@pytest.mark.parametrize("wrapped", [True, False])
async def test_a_file_of_lines(tmp_path, ask, wrapped):
    values = [{"model": "asked", "chunks": CHUNKS}, {"model": "asked", "body": BODY}] if wrapped else [CHUNKS, BODY]
    model = Recorded(lines(tmp_path / "run.jsonl", *values))
    assert model.name == ("recorded:asked" if wrapped else "recorded:served")
    first = await model.reply(ask())
    assert [(p.tool, p.provider_id, p.arguments) for p in first.proposals] == [("files.read", "a1", "{}")]
    assert (await model.reply(ask(messages=after(1)))).text == "Done."
    with pytest.raises(ModelUnavailable, match="holds 2 replies"):
        await model.reply(ask(messages=after(2)))


@pytest.mark.anyio
async def test_a_folder_is_read_in_the_order_of_names(tmp_path, ask):
    (tmp_path / "02.json").write_text(json.dumps(BODY, indent=1))
    (tmp_path / "01.json").write_text(json.dumps(CHUNKS, indent=1))
    (tmp_path / "notes.txt").write_text("not a reply")
    model = Recorded(tmp_path, name="recorded:mine")
    assert model.name == "recorded:mine"
    assert (await model.reply(ask())).finish == "calls"
    assert (await model.reply(ask(messages=after(1)))).finish == "stop"


@pytest.mark.anyio
async def test_a_broken_stream_stays_cut(tmp_path, ask):
    model = Recorded(lines(tmp_path / "run.jsonl", {"chunks": CHUNKS, "broken": True}))
    assert (await model.reply(ask())).finish == "cut"
    assert model.name == "recorded:served"


@pytest.mark.anyio
async def test_deltas_are_shown_with_the_tools_own_names(tmp_path, ask):
    shown = []
    await Recorded(lines(tmp_path / "run.jsonl", CHUNKS)).reply(ask(stream=True), shown.append)
    assert shown == [Delta(tool="files.read")]


def test_without_any_model_the_file_gives_the_name(tmp_path):
    assert Recorded(lines(tmp_path / "run.jsonl", {"choices": []})).name == "recorded:run"


@pytest.mark.anyio
async def test_the_recorder_adds_lines_that_can_be_played(tmp_path, ask):
    record = Recorder(tmp_path / "run.jsonl")
    record({"model": "asked", "chunks": CHUNKS, "broken": False})
    body = {"choices": [{"message": {"content": "a\ud800\u2028b"}}]}
    record({"model": "asked", "body": body})
    model = Recorded(tmp_path / "run.jsonl")
    assert (await model.reply(ask(messages=after(1)))).text == "a\ufffd\u2028b"


@pytest.mark.anyio
async def test_only_line_feeds_end_a_line(tmp_path, ask):
    body = {"choices": [{"message": {"content": "a\u2028\u0085b"}}]}
    (tmp_path / "run.jsonl").write_text(json.dumps(body, ensure_ascii=False) + "\r\n", encoding="utf-8")
    assert (await Recorded(tmp_path / "run.jsonl").reply(ask())).text == "a\u2028\u0085b"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no recorded reply"),
        ("{", "line 1 is none"),
        (json.dumps(BODY) + "\n5", "line 2 is none"),
        ('{"model": "m"}', "neither a body nor chunks"),
        ("[5]", "line 1 is none"),
        ("\xff", "line 1 is none"),
    ],
)
def test_a_recording_that_is_none(tmp_path, text, says):
    (tmp_path / "run.jsonl").write_text(text)
    with pytest.raises(ConfigError, match=says):
        Recorded(tmp_path / "run.jsonl")


def test_no_recording_there(tmp_path):
    with pytest.raises(ConfigError, match="can't be read"):
        Recorded(tmp_path / "nothing.jsonl")
    with pytest.raises(ConfigError, match="no recorded reply"):
        Recorded(tmp_path)
    (tmp_path / "run.jsonl").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="can't be read"):
        Recorded(tmp_path / "run.jsonl")


@pytest.mark.anyio
async def test_a_body_that_is_no_completion(tmp_path, ask):
    model = Recorded(lines(tmp_path / "run.jsonl", {"body": {"hello": 1}}))
    with pytest.raises(ConfigError, match="no chat completion"):
        await model.reply(ask())
