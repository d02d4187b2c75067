"""The script that measures what waiting costs runs, and measures sessions that could be real; no time is judged."""

import asyncio
import importlib
import runpy
import sys
from pathlib import Path

import pytest

from callslip import Runtime
from callslip.core.wait import WaitKind
from callslip.sessions.verify import verify

BENCH = Path(__file__).resolve().parents[3] / "bench"


def test_waits(tmp_path):
    figures = importlib.import_module("waits").document(tmp_path, sessions=60, rounds=2)
    assert figures["sessions"] == 120
    assert figures["worker_grows_by_kb"]["resident_kb"] > 1000
    for name in (
        "worker_grows_by_kb", "sweep_cpu_ms_nothing_due", "sweep_cpu_ms_one_due", "find_a_wait_cpu_us",
    ):  # fmt: skip
        assert isinstance(figures[name]["met"], bool)
        assert figures[name]["value"] >= 0
    assert figures["sweep_cpu_ms_one_due"]["value"] > 0
    assert figures["list_everything_cpu_ms"] > 0


def test_made_sessions_fold_and_wait(tmp_path):
    made = importlib.import_module("made_waits")

    async def main():
        async with Runtime(tools=made.TOOLS, state=tmp_path / "state") as runtime:
            await made.make_waiting(runtime.parts.ledger, ["a", "b"], at=1000)
            await made.make_waiting(runtime.parts.ledger, ["c"], at=1000, wake_at=2000)
            reports = [await verify(runtime.parts, name) for name in "abc"]
            assert [report.ok for report in reports] == [True] * 3, [report.problems for report in reports]
            return {(wait.session, wait.kind, wait.tool, wait.wake_at) for wait in await runtime.waits()}

    expires = 1000 + made.MONTH_MS
    assert asyncio.run(main()) == {
        ("a", WaitKind.CLIENT, "ask_client", None),
        ("c", WaitKind.CLIENT, "ask_client", None),
        ("b", WaitKind.APPROVAL, "pay", expires),
        ("c", WaitKind.TIME, None, 2000),
    }


def test_it_says_what_it_is_for(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["waits.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(BENCH / "waits.py"), run_name="__main__")
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out
