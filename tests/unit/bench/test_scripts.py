"""The measuring scripts run and say what they are documented to say; no time is judged here."""

import asyncio
import importlib
import json
import runpy
import sys
from pathlib import Path

import pytest

from callslip.schema.validate import compile_schema
from callslip.testing.contract.says import Says
from callslip.testing.contract.server import ContractServer

BENCH = Path(__file__).resolve().parents[3] / "bench"


def bar(figures, limit):
    assert isinstance(figures["met"], bool)
    assert figures[limit] > 0
    assert figures["value"] >= 0


def test_dispatch(tmp_path):
    figures = importlib.import_module("dispatch").document(tmp_path, rounds=1, calls=2, batches=1, times=1)
    assert figures["commits"]["one_call"] == {"value": 3, "at_most": 3, "met": True}
    assert figures["commits"]["parallel_32_in_one_pass"]["value"] == 3
    bar(figures["commits"]["parallel_32_in_threads"], "at_most")
    cpu = figures["cpu"]
    assert cpu["bare_sqlite_commit_cpu_us"] > 0
    bar(cpu["memory_call_cpu_us"], "at_most")
    assert cpu["sqlite_on_top_by_bare_commits"]["at_most"] == 3
    bar(cpu["wide_32_calls_by_cpu_second"], "at_least")


def test_sessions_are_ready_with_a_checkpoint_and_without(tmp_path):
    figures = importlib.import_module("sessions").document(tmp_path, sizes=[700, 1600], rounds=1, rows=50)
    for session in figures["sessions"]:
        with_it, without = session["with_checkpoint"], session["without_checkpoint"]
        for one in (with_it, without):
            assert set(one["wall_ms"]) == set(one["cpu_ms"]) == {"acquired", "settled", "asked"}
        assert with_it["messages"] == without["messages"] > 100  # a checkpoint changes nothing but the time
    bar(figures["ready_ms_with_checkpoint"], "at_most")
    assert figures["verified_records_by_cpu_second"]["records"] > 1000
    assert figures["payloads"]["raw_bytes_of_one"] > 5000


def test_a_made_session_has_the_size_it_was_asked_for(tmp_path):
    made = importlib.import_module("made_session")
    records = asyncio.run(made.make_session(tmp_path / "state", events=900, tail=200))
    assert 800 < records < 1000


def test_a_payload_of_a_megabyte_takes_less_than_it_is(tmp_path):
    sizes = importlib.import_module("sessions").payload_sizes(tmp_path)
    assert sizes["raw_bytes_of_one"] >= 1_000_000
    assert sizes["ratio_to_one"]["met"]
    assert sizes["ratio_to_both"] < 0.5


def test_arguments():
    figures = importlib.import_module("arguments").document(rounds=1, calls=2)
    for name in ("validate_cpu_us", "broken_text_200_kb_cpu_ms", "hostile_schema_cpu_ms"):
        bar(figures[name], "at_most")
    assert figures["validate_cpu_us"]["at_most"] == 20
    assert len(figures["broken_text_200_kb_cpu_ms"]["seen"]) > 20
    assert figures["read_cpu_us"] > 0
    assert figures["read_and_coerce_cpu_us"] > 0


def test_broken_texts_are_as_large_as_they_are_said_to_be():
    made = importlib.import_module("arguments")
    assert all(made.SIZE - 200 <= len(text) <= made.SIZE for text in made.BROKEN.values())


def test_starts():
    figures = importlib.import_module("start").document(rounds=1, install=False)
    assert figures["cpu"]["bare_interpreter"]["cpu_ms"] > 0
    bar(figures["cpu"]["import_callslip"], "at_most")
    bar(figures["cpu"]["import_names"], "at_most")
    assert figures["cpu"]["program_with_one_call"]["cpu_ms"] > 0
    assert figures["core_install_mb"] == {"skipped": "--no-install"}


def test_the_import_loads_neither_an_http_client_nor_pydantic():
    code = "import sys, callslip; print(sorted({'httpx2', 'pydantic', 'zstandard.backend_cffi'} & set(sys.modules)))"
    run = importlib.import_module("subprocess").run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_constrained_calls_are_counted(tmp_path):
    constrained = importlib.import_module("constrained")
    tool = {"name": "timer", "description": "", "input_schema": {"type": "object"}}
    five = [{"tool": "timer", "arguments": {"minutes": 5}, "optional": {"label": None}}]
    said = {
        "right": ('{"reply": {"calls": [{"tool": "timer", "arguments": {"minutes": 5, "label": "x"}}]}}', five),
        "wrong": ('{"reply": {"calls": [{"tool": "timer", "arguments": {"minutes": 6}}]}}', five),
        "declined": ('{"reply": {"no_tool_fits": "No."}}', five),
        "broken": ('{"reply": {"calls"', five),
        "rightly": ('{"reply": {"no_tool_fits": "No."}}', []),
        "falsely": ('{"reply": {"calls": [{"tool": "timer", "arguments": {}}]}}', []),
    }
    requests = [{"says": says, "calls": calls} for says, (_, calls) in said.items()]
    (tmp_path / "cases.json").write_text(json.dumps({"tools": [tool], "requests": requests}))
    with ContractServer(lambda body: Says(said[body["messages"][-1]["content"]][0])) as server:
        given = constrained.arguments(["--base-url", server.url("compatible"), "--cases", str(tmp_path / "cases.json")])
        figures = asyncio.run(constrained.ask_all(given))
        assert server.violations == []
    assert {name: figures[name] for name in constrained.COUNTED} == {
        "requests": 6, "valid_envelopes": 5, "answerable": 4, "right_tools": 2, "right_arguments": 1,
        "declined_though_answerable": 1, "unanswerable": 2, "declined_rightly": 1, "by_no_tool_fits": 1, "false_calls": 1,
    }  # fmt: skip


def test_every_request_for_constrained_calls_is_right_about_its_tools():
    cases = json.loads((BENCH / "constrained_cases.json").read_text())
    valid = {tool["name"]: compile_schema(tool["input_schema"]) for tool in cases["tools"]}
    for case in cases["requests"]:
        for call in case["calls"]:
            given = {
                name: value["one_of"][0] if isinstance(value, dict) else value
                for name, value in call["arguments"].items()
            }
            assert valid[call["tool"]].accepts(given), case["says"]
    assert {bool(case["calls"]) for case in cases["requests"]} == {True, False}


def test_parallel(tmp_path):
    made = importlib.import_module("parallel")
    figures = made.document(tmp_path, rounds=1, calls=3, milliseconds=1, cold=1, times=1)
    for name in ("on_the_event_loop", "in_threads"):
        bar(figures["slowest_by_wall"][name], "at_most")
        assert figures["slowest_by_wall"][name]["at_most"] == 1.3
    assert figures["commits"]["parallel_32_in_one_pass"] == {"value": 3, "at_most": 3, "met": True}
    bar(figures["commits"]["parallel_32_in_threads"], "at_most")
    assert figures["own_process"]["cold_call_ms"] > figures["own_process"]["bare_interpreter_ms"] > 0


@pytest.mark.parametrize("name", ["parallel", "arguments", "constrained", "dispatch", "sessions", "start", "peers"])
def test_each_script_says_what_it_is_for(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(BENCH / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out


def test_our_own_step_for_the_comparison_with_peers(tmp_path):
    ours, common = importlib.import_module("callslip_step"), importlib.import_module("peer_common")
    report = ours.step(tmp_path, common.Meter(steps=5, warmup=1), common.Server())
    assert report["effects"] == 7
    assert report["durability"] == {"sqlite_journal_mode": "wal", "sqlite_synchronous": "2"}
    for figures in (report, report["full_step"], report["in_thread"]):
        assert figures["median_us"] > 0
    assert json.dumps(report)
