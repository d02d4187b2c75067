"""bench/found.py judges what the log says, and its tasks are right: each call that meets a need gives what it says."""

import argparse
import asyncio
import importlib
import json
import re
import sys
from pathlib import Path

import pytest

from callslip.providers.scripted import Scripted, calling

ROOT = Path(__file__).resolve().parents[3]
TASKS = json.loads((ROOT / "bench" / "found_tasks.json").read_text(encoding="utf-8"))["tasks"]


@pytest.fixture(scope="module")
def found():
    before = list(sys.path)
    module = importlib.import_module("found")
    yield module
    sys.path[:] = before


@pytest.fixture(scope="module")
def tools(found):
    return {tool.spec.name: tool for tool in found.library()}


def test_there_are_forty_tasks_and_eight_that_no_tool_can_do():
    assert len({task["says"] for task in TASKS}) == len(TASKS) == 40
    assert sum(not task["needs"] for task in TASKS) == 8


def test_every_call_that_meets_a_need_gives_the_result_it_says(found, tools):
    for task in TASKS:
        for call in [call for need in task["needs"] for call in need]:
            tool = tools[call["tool"]]
            assert tool.check(call["arguments"]) is None, call
            assert found.same(tool.bound(call["arguments"], None)(), call["result"]), call


def test_no_task_names_its_tool():
    for task in TASKS:
        for call in [call for need in task["needs"] for call in need]:
            assert call["tool"].casefold() not in task["says"].casefold()


@pytest.mark.parametrize(
    ("got", "wanted", "right"),
    [
        (5, 5.0, True),
        (0.1 + 0.2, 0.3, True),
        ([1, [2.0]], [1, [2]], True),
        (True, 1, False),
        ("5", 5, False),
        ([1], [1, 2], False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1.0}, {"a": 1}, True),
    ],
)
def test_a_result_is_right_if_it_is_the_same_value(found, got, wanted, right):
    assert found.same(got, wanted) is right


def given(found, monkeypatch, replies, tasks, tmp_path, **more):
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps({"tasks": tasks}))
    monkeypatch.setattr(found, "model_of", lambda _: Scripted(replies))
    values = {"base_url": "x", "model": "m", "kind": "openai", "tasks": file, "first": None, "out": None}
    return argparse.Namespace(**{**values, "no_preselection": False, **more})


LADDER = TASKS[0]


def one(found, monkeypatch, replies, task, tmp_path, **more):
    return asyncio.run(found.run(given(found, monkeypatch, replies, [task], tmp_path, **more)))


def test_a_task_is_finished_by_the_right_call_with_the_right_result(found, monkeypatch, tmp_path):
    search = calling(("tool_search", {"queries": ["distance of a point from the origin"]}))
    right = [search, calling(("math.hypot", {"x": 3, "y": 4})), "5 m"]
    figures = one(found, monkeypatch, right, LADDER, tmp_path)
    assert (figures["finished"], figures["right_tool_called"], figures["visible_at_some_step"]) == (1, 1, 1)
    assert (figures["searches_by_task"], figures["wrong_tools_called"], figures["preselected_at_first"]) == (1.0, 0, 0)

    wrong = [search, calling(("math.hypot", {"x": 3, "y": 3})), "5 m"]  # the answer is right, and nothing was computed
    figures = one(found, monkeypatch, wrong, LADDER, tmp_path)
    assert (figures["finished"], figures["right_tool_called"]) == (0, 1)


def test_a_call_of_another_tool_is_a_wrong_one_and_one_that_was_not_shown_is_refused(found, monkeypatch, tmp_path):
    replies = [calling(("math.hypot", {"x": 3, "y": 4}), ("math.cos", {"x": 3})), "5 m"]
    figures = one(found, monkeypatch, replies, LADDER, tmp_path)
    assert (figures["finished"], figures["wrong_tools_called"], figures["refused_as_not_shown"]) == (0, 1, 2)


def test_a_call_for_what_no_tool_can_do_is_counted(found, monkeypatch, tmp_path):
    impossible = next(task for task in TASKS if not task["needs"])
    search = calling(("tool_search", {"queries": ["median"]}))
    figures = one(found, monkeypatch, [search, "No."], impossible, tmp_path)
    assert (figures["unanswerable"], figures["called_though_unanswerable"], figures["searched"]) == (1, 0, 1)
    called = [search, calling(("statistics.median", {"data": [1]})), "Done."]
    assert one(found, monkeypatch, called, impossible, tmp_path)["called_though_unanswerable"] == 1


def test_a_run_that_was_broken_off_goes_on_and_judges_anew(found, monkeypatch, tmp_path):
    out = tmp_path / "out.jsonl"
    asked = given(found, monkeypatch, ["Done."] * 9, TASKS[:2], tmp_path, out=out)
    assert asyncio.run(found.run(asked))["tasks"] == 2
    lines = out.read_text().splitlines()
    kept = json.loads(lines[0]) | {"calls": [{"tool": "math.hypot", "status": "success", "result": 5.0}]}
    out.write_text(json.dumps(kept) + "\n")
    figures = asyncio.run(found.run(asked))
    assert (figures["tasks"], figures["finished"]) == (2, 1)
    assert len(out.read_text().splitlines()) == 2


def test_the_tutorial_gives_the_figures_of_preselection_as_they_are(found):
    page = (ROOT / "docs" / "learn" / "hundreds-of-tools.md").read_text()
    figures = asyncio.run(found.run(found.arguments([])))
    row = re.search(r"^\| preselection alone, by words \| (\d+) of (\d+)", page, re.MULTILINE)
    assert [int(row[1]), int(row[2])] == [figures["preselected_at_first"], figures["answerable"]]
    said = re.search(r"impossible\s+tasks preselection shows something for (\d+)", page)
    assert int(said[1]) == figures["offered_though_unanswerable"]
    assert figures["all_schemas_tokens"] > 30_000
