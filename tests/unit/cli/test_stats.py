"""``callslip stats``: what it says, in what room, and in JSON."""

from __future__ import annotations

import asyncio
import json

import pytest
from click.testing import CliRunner

from callslip import Runtime, ToolFailed, tool
from callslip.cli import look
from callslip.cli.columns import Column, show
from callslip.cli.look import Cell
from callslip.cli.main import cli
from callslip.ports.model import Proposal
from callslip.providers.scripted import Scripted, saying

pytestmark = pytest.mark.requirement("OBSV-02")


@tool(risk="read")
async def find(name: str) -> str:
    """Find."""
    if name == "nobody":
        raise ToolFailed("There is none.", code="no_such_name")
    if name == "broken":
        raise ConnectionResetError
    return name


@tool(risk="dangerous")
async def drop() -> None:
    """Drop."""


async def filled(folder):
    async with Runtime(tools=[find, drop], model=Scripted([saying("hi")]), state=folder) as runtime:
        runtime.parts.draw = lambda: 0.0
        await runtime.run("hello", session="talk")
        for step, name in enumerate(["Ada", "Bob", "nobody", "broken"]):
            calls = [Proposal(tool="find", arguments={"name": name}), Proposal(tool="fnid", arguments={})]
            await runtime.dispatch(calls, session="a", step=f"{step}")
        await runtime.dispatch([Proposal(tool="drop", arguments={})], session="b", step="1")


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stats") / "state"
    asyncio.run(filled(folder))
    return folder


def said(*words):
    result = CliRunner().invoke(cli, ["stats", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_a_table_of_tools_and_one_of_models(state):
    text = said("--state", state).output
    lines = {line.split("  ")[0]: line.split() for line in text.splitlines() if line}
    assert lines["find"][1:4] == ["4", "50.0%", "2"]
    assert "network unavailable 1, tool no_such_name 1" in text
    assert "(no such tool)  4" in text
    assert "scripted:test  1" in text
    assert "failures by layer  model 4, tool 1, network 1" in text
    assert "of 3 sessions" in text


def test_one_tool_in_full(state):
    text = said("--state", state, "--tool", "find").output
    assert "4 calls, 50.0% succeeded" in text
    assert "8, 4 of them retries" in text
    assert "failed attempts   network unavailable 4" in text
    assert "waited, retry" in text


def test_in_json_all_of_it(state):
    found = json.loads(said("--state", state, "--json", "--session", "a").output)
    assert [(row["tool"], row["calls"]) for row in found["tools"]] == [("(no such tool)", 4), ("find", 4)]
    assert found["layers"]["model"] == 4
    assert found["tools"][1]["durations"]["count"] == 8
    only = json.loads(said("--state", state, "--json", "--tool", "drop").output)
    assert [(row["tool"], row["open"]) for row in only["tools"]] == [("drop", 1)]


def test_since_a_moment(state):
    assert (
        "No tool was called and no model was asked since then."
        in said("--state", state, "--since", "2999-01-01").output
    )
    assert "of 3 sessions, since" in said("--state", state, "--since", "1h").output
    assert said("--state", state, "--since", "yesterday").exit_code == 2


def test_a_tool_that_was_not_called_since_then_is_no_error(state):
    result = said("--state", state, "--tool", "find", "--since", "2999-01-01")
    assert (result.exit_code, result.output) == (0, "find was not called since then.\n")
    assert json.loads(said("--state", state, "--tool", "find", "--since", "2999-01-01", "--json").output)["tools"] == []
    assert said("--state", state, "--tool", "fnid", "--since", "2999-01-01").exit_code == 2


def test_a_tool_or_a_session_that_is_not_there_is_an_error(state):
    for words in (["--tool", "fnid"], ["--session", "zzz"]):
        result = said("--state", state, *words)
        assert (result.exit_code, "callslip" in result.output) == (2, True)


COLUMNS = (Column("tool"), Column("calls", drop=1), Column("p99", drop=2), Column("why"))
ROWS = [[Cell("find"), Cell("1,000"), Cell("12 ms"), Cell("tool no_such_name 1,000, network unavailable 3")]]


@pytest.mark.parametrize(("room", "gone", "headings"), [
    (None, [], "TOOL  CALLS  P99    WHY"), (80, [], "TOOL  CALLS  P99    WHY"), (40, ["p99"], "TOOL  CALLS  WHY"),
    (32, ["calls", "p99"], "TOOL  WHY"), (10, ["calls", "p99"], "TOOL  WHY"),
])  # fmt: skip
def test_where_there_is_no_room_the_least_telling_columns_stay_away(room, gone, headings, monkeypatch, capsys):
    monkeypatch.setattr(look, "columns", lambda: room)
    assert show(COLUMNS, ROWS) == gone
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == headings
    assert room is None or room < 24 or all(len(line) <= room for line in lines)


def test_a_column_that_says_nothing_is_left_out(capsys):
    assert show(COLUMNS, [[Cell("find"), Cell("1"), Cell(""), Cell("")]]) == []
    assert capsys.readouterr().out.splitlines()[0] == "TOOL  CALLS  WHY"
