"""``callslip routing``: its page, its JSON, and the labelled data it writes."""

from __future__ import annotations

import asyncio
import json
import os
import stat

import pytest
from click.testing import CliRunner

from callslip import Runtime, tool
from callslip.cli import look
from callslip.cli.main import cli
from callslip.core.routing import Routing
from callslip.providers.scripted import Scripted, calling

pytestmark = pytest.mark.requirement("DEFR-06")


def deferred(name, description):
    async def run() -> str:
        return "done"

    run.__doc__ = description
    return tool(name=name, risk="read", deferred=True)(run)


@tool(risk="read")
async def now() -> str:
    """The time now."""
    return "12:00"


TOOLS = [
    now,
    deferred("pay.refund", "Refund a payment to a customer."),
    deferred("mail.send", "Send an e-mail."),
    deferred("geo.weather", "Weather forecast for a place."),
    deferred("geo.route", "Route between two places."),
]


def searching(*queries):
    return "tool_search", {"queries": list(queries)}


TALKS = {
    "right": ("Pay Ada back.", [calling(searching("refund a payment")), calling(("pay.refund", {})), "Done."]),
    "late": (
        "Give Bob his money.",
        [
            calling(searching("weather forecast")),
            calling(searching("refund a payment")),
            calling(("pay.refund", {})),
            "Done.",
        ],
    ),
    "missed": (
        "Write to \x1b[31m\u202eEve.",
        [calling(("mail.send", {})), calling(searching("select:mail.send")), calling(("mail.send", {})), "Done."],
    ),
    "none": ("Play chess.", [calling(searching("xylophone quodlibet")), "I can't."]),
    "fits": ("weather forecast for a place", [calling(("geo.weather", {})), "It rains."]),
}


async def filled(folder):
    for session, (words, script) in TALKS.items():
        routing = Routing(preselect=1 if session == "fits" else "off", embedder="off")
        async with Runtime(tools=TOOLS, model=Scripted(script), state=folder, routing=routing) as runtime:
            assert (await runtime.run(words, session=session)).status == "finished"


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("routing") / "state"
    asyncio.run(filled(folder))
    return folder


def said(*words):
    result = CliRunner().invoke(cli, ["routing", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def reads(folder):
    result = CliRunner().invoke(cli, ["audit", "query", "--json", "--kind", "payload_read", "--state", str(folder)])
    return [json.loads(line)["session"] for line in result.output.splitlines()]


PAGE = """\
50.0% of the tools that were used had been offered in time (2 of 4)
      50.0% among the first 5 of what was offered, 50.0% in the first place

  preselected           1  they fitted what was said
  first search          1  found at the first try
  later search          1  after one that led to nothing
  missed                1  called without having been offered: 1 then found by name

  offered in vain  1 of 4 offers were not called in their turn: 1 found
  searches         5, in 4 of 5 turns; 1.0 a turn, at most 2
  nothing fits     1 of 5 queries; what came next: the end of the turn 1
  shown            2.7 tools in a request, 0.7 of them because they were offered

TOOL         USED  IN TIME  PRESELECTED  FIRST  LATER  MISSED  RANK  IN VAIN
pay.refund   2     50.0%                 1      1              1
geo.weather  1     100%     1                                  1     1
mail.send    1     0.0%                                1

5 turns of 5 sessions
What was not offered in time, as labelled data:
  callslip routing missed --out missed.jsonl --state """


def test_the_page(state):
    text = said("report", "--state", state).output
    lines = [line.rstrip() for line in text.splitlines()]
    assert "\n".join(lines) == f"{PAGE}{state}"


def test_the_page_shows_no_words_unless_asked_and_the_audit_knows_who_did(state):
    before = reads(state)
    text = said("report", "--state", state).output
    assert "refund a payment" not in text
    assert reads(state) == before
    text = said("report", "--uses", "--state", state, "--session", "right", "--session", "fits").output
    rows = [" ".join(line.split()) for line in text.splitlines() if line.startswith(("right", "fits"))]
    assert sorted(rows) == [
        "fits 1 geo.weather preselected 1 0 weather forecast for a place",
        "right 1 pay.refund first search 1 1 refund a payment",
    ]
    assert sorted(reads(state)) == sorted([*before, "right", "fits"])


def test_in_json_all_of_it(state):
    found = json.loads(said("report", "--state", state, "--json").output)
    assert (found["used"], found["recall"], found["missed_then_named"], found["uses"]) == (4, 0.5, 1, [])
    found = json.loads(said("report", "--state", state, "--json", "--uses", "--session", "late").output)
    (use,) = found["uses"]
    assert (use["how"], use["words"], use["steps"]) == ("later", "refund a payment", 1)


def test_a_terminal_that_is_narrow_loses_columns_and_says_which(state, monkeypatch):
    monkeypatch.setattr(look, "columns", lambda: 60)
    lines = said("report", "--state", state).output.splitlines()
    assert all(len(line) <= 60 for line in lines if "callslip routing missed" not in line)
    assert any("A wider terminal, or --json, shows" in line for line in lines)


def test_since_a_moment_and_where_there_is_nothing(state, tmp_path):
    assert "Nothing has happened since then." in said("report", "--state", state, "--since", "2999-01-01").output
    assert "5 turns of 5 sessions, since" in said("report", "--state", state, "--since", "1h").output
    asyncio.run(shown(tmp_path / "empty", 0))
    asyncio.run(shown(tmp_path / "shown", 1))
    for folder, words in (
        ("empty", "Nothing has happened yet."), ("shown", "No turn had tools to find: every tool was shown from the start."),
    ):  # fmt: skip
        result = said("report", "--state", tmp_path / folder)
        assert (result.exit_code, result.output) == (0, f"{words}\n")


async def shown(folder, many):
    async with Runtime(tools=[now], model=Scripted([calling(("now", {})), "Noon."]), state=folder) as runtime:
        assert not await runtime.parts.ledger.heads()
        if many:
            await runtime.run("What time is it?", session="s")


@pytest.mark.parametrize("words", [
    ["report", "--session", "zzz"], ["report", "--since", "yesterday"], ["missed", "--out", "x", "--session", "zzz"],
    ["missed", "--out", "x", "--since", "yesterday"], ["missed", "--force"], ["report", "--no-such"], ["nothing"],
])  # fmt: skip
def test_what_cannot_be_meant_is_an_error_and_writes_nothing(state, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = said(*words, "--state", state)
    assert result.exit_code == 2
    assert os.listdir(tmp_path) == []


def test_without_a_state_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (["report"], ["missed", "--out", "x"]):
        result = said(*words, "--state", tmp_path / "none")
        assert (result.exit_code, "none" in result.output) == (2, True)
    assert os.listdir(tmp_path) == []


MISSED = [
    {
        "text": "Write to \x1b[31m\u202eEve.", "gold": ["mail.send"], "offered": [], "session": "missed", "turn": 1,
        "kind": "missed",
    },
    {
        "text": "weather forecast", "gold": ["pay.refund"], "offered": ["geo.weather"], "session": "late", "turn": 1,
        "kind": "late",
    },
]  # fmt: skip


def written(file):
    return sorted((json.loads(line) for line in file.read_text().splitlines()), key=lambda one: one["text"])


def test_missed_cases_are_written_for_their_owner_alone(state, tmp_path):
    before, file = reads(state), tmp_path / "missed.jsonl"
    result = said("missed", "--state", state, "--out", file)
    assert written(file) == MISSED
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f"2 cases (missed 1, late 1), in {file}" in result.output
    assert "Guard it" in result.output
    assert sorted(reads(state)) == sorted([*before, "missed", "late"])
    assert os.listdir(tmp_path) == ["missed.jsonl"]


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_without_a_file_the_cases_go_to_standard_output_and_the_rest_beside_it(state, words):
    before = reads(state)
    result = said("missed", "--state", state, *words)
    assert result.exit_code == 0
    assert sorted((json.loads(line) for line in result.stdout.splitlines()), key=lambda one: one["text"]) == MISSED
    assert not {"\x1b", "\u202e"} & set(result.stdout), "nothing that would steer a terminal"
    assert result.stderr == ("" if words else "2 cases (missed 1, late 1)\n")
    assert sorted(reads(state)) == sorted([*before, "missed", "late"])


def test_without_a_file_and_without_anything_missed(state):
    result = said("missed", "--state", state, "--session", "right")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "0 cases: nothing to write\n")


def test_all_of_them_if_asked_for(state, tmp_path):
    document = json.loads(said("missed", "--all", "--json", "--state", state, "--out", tmp_path / "all").output)
    assert document == {
        "file": str(tmp_path / "all"), "cases": 5, "missed": 1, "late": 1, "found": 3, "gone": 0, "unread": [],
    }  # fmt: skip
    found = [one for one in written(tmp_path / "all") if one["kind"] == "found"]
    assert [(one["text"], one["gold"]) for one in found] == [
        ("refund a payment", ["pay.refund"]), ("refund a payment", ["pay.refund"]),
        ("weather forecast for a place", ["geo.weather"]),
    ]  # fmt: skip


def test_nothing_is_written_over_unless_that_is_meant(state, tmp_path):
    file = tmp_path / "missed.jsonl"
    file.write_text("mine")
    file.chmod(0o644)
    result = said("missed", "--state", state, "--out", file)
    assert (result.exit_code, file.read_text()) == (2, "mine")
    assert "--force" in result.output
    assert said("missed", "--state", state, "--out", file, "--force").exit_code == 0
    assert written(file) == MISSED
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_place_that_cannot_be_written(state, tmp_path):
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    for file in (tmp_path, tmp_path / "no" / "such", tmp_path / "gone"):
        result = said("missed", "--state", state, "--out", file)
        assert (result.exit_code, "Nothing was" in result.output) == (2, True)


def test_where_nothing_was_missed(state, tmp_path):
    result = said("missed", "--state", state, "--out", tmp_path / "x", "--session", "right")
    assert "0 cases, in" in result.output
    assert "Nothing that was used with success was missed" in result.output
    assert (tmp_path / "x").read_text() == ""


def test_the_report_leads_to_no_labels_where_there_are_none(tmp_path):
    async def named_after_another():
        routing = Routing(preselect="off", embedder="off")
        script = [calling(searching("select:geo.route")), calling(searching("refund a payment")),
                  calling(("pay.refund", {})), "Done."]  # fmt: skip
        async with Runtime(tools=TOOLS, model=Scripted(script), state=tmp_path / "state", routing=routing) as runtime:
            await runtime.run("hello", session="s")

    asyncio.run(named_after_another())
    assert said("missed", "--state", tmp_path / "state").stdout == ""
    report = said("report", "--state", tmp_path / "state")
    assert ("after one that led to nothing" in report.output, "routing missed" in report.output) == (True, False)
    assert json.loads(said("report", "--state", tmp_path / "state", "--json").output)["labelled"] == 0


def test_a_guess_that_came_to_nothing_is_told_and_labels_nothing(tmp_path):
    async def guessed():
        routing = Routing(preselect="off", embedder="off")
        script = [calling(("pay.refund", {})), "Hello."]
        async with Runtime(tools=TOOLS, model=Scripted(script), state=tmp_path / "state", routing=routing) as runtime:
            await runtime.run("hello", session="s")

    asyncio.run(guessed())
    text = said("report", "--state", tmp_path / "state").output
    assert "missed 1 called without having been offered: 1 without any success" in " ".join(text.split())
    assert "routing missed" not in text
    assert said("missed", "--state", tmp_path / "state").stdout == ""
