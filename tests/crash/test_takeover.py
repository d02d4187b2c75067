"""One owner at a time, and nothing done again before the old attempt has provably ended."""

import asyncio
import os
import signal
import time

import pytest

from callslip.core.events.call_parked import CallParked
from callslip.core.events.run_started import RunStarted
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.ledgers.sqlite import SqliteLedger

SIGKILLED = -signal.SIGKILL


@pytest.fixture
def log(tmp_path):
    """The session's events of one kind, read anew."""

    async def read(kind):
        ledger = SqliteLedger(tmp_path / "state" / "ledger.db")
        try:
            return [stored.record for stored in await ledger.read("s") if isinstance(stored.record.event, kind)]
        finally:
            await ledger.aclose()

    return lambda kind: asyncio.run(read(kind))


def killed(processes, *args):
    process = processes.start("session", *args)
    assert process.wait() == SIGKILLED


def said(process):
    return process.stdout.readline().strip()


def go(process):
    process.stdin.write("\n")
    process.stdin.flush()


def rest(process):
    """The last line, once it has ended."""
    lines = process.stdout.read().strip().splitlines()
    assert process.wait() == 0
    return lines


@pytest.mark.requirement("RECO-04")
@pytest.mark.requirement("LEDG-03")
def test_two_processes_resume_at_the_same_instant(processes, effects, log):
    """Case 29: one owns it, the other says so."""
    killed(processes, "die", "put", "effect.after")
    both = [processes.start("session", "resume", "put") for _ in range(2)]
    assert [said(process) for process in both] == ["ready", "ready"]
    for process in both:
        go(process)
    ends = sorted(rest(process)[-1].split()[0] for process in both)
    assert ends in (["Busy", "finished"], ["finished", "finished"]), "the later one may find it finished already"
    assert len(effects.arrivals()) == 2, "the killed attempt, and one repeat"
    assert [record.event.attempt for record in log(ToolDispatch)] == [1, 2]


@pytest.mark.requirement("RECO-04")
@pytest.mark.requirement("LEDG-03")
def test_the_second_of_two_says_who_drives(processes, effects):
    killed(processes, "die", "put", "effect.before")
    holder = processes.start("session", "hold", "put")
    assert said(holder) == "holding"
    other = processes.start("session", "resume", "put")
    go(other)
    assert f"Busy Session 's' is driven by process {holder.pid}" in rest(other)[-1]
    go(holder)
    assert rest(holder)[-1].startswith("finished")
    assert len(effects.arrivals()) == 1


@pytest.mark.requirement("LEDG-03")
@pytest.mark.parametrize("instant", ["dispatch.before", "settle.before"])
def test_a_stale_owner_comes_back(processes, effects, log, tmp_path, instant):
    """Case 26: refused as fenced; starts no new effect. Its lock was lost, as on a file system that forgets locks."""
    frozen = processes.start("session", "freeze", "put", instant)
    os.waitid(os.P_PID, frozen.pid, os.WSTOPPED | os.WNOWAIT)
    for lock in (tmp_path / "state" / "owners").glob("own_*.lock"):
        lock.unlink()
    successor = processes.start("session", "hold", "put")
    assert said(successor) == "holding"
    before = effects.arrivals()
    os.kill(frozen.pid, signal.SIGCONT)
    assert rest(frozen)[-1].startswith("Fenced")
    assert effects.arrivals() == before, "the stale owner starts no effect"
    go(successor)
    assert rest(successor)[-1].startswith("finished")
    assert len(effects.arrivals()) == len(before) + 1
    assert {record.epoch for record in log(ToolDispatch)} <= {1, 2}
    assert [record.epoch for record in log(RunStarted)] == [1, 2]


@pytest.mark.requirement("RECO-01")
def test_a_live_owner_that_sleeps_is_not_taken_over(processes, effects):
    frozen = processes.start("session", "freeze", "put", "dispatch.before")
    os.waitid(os.P_PID, frozen.pid, os.WSTOPPED | os.WNOWAIT)
    other = processes.start("session", "resume", "put")
    go(other)
    assert rest(other)[-1].startswith("Busy")
    assert effects.arrivals() == []


@pytest.mark.requirement("RECO-01")
@pytest.mark.requirement("RECO-04")
def test_a_child_of_the_dead_owner_is_waited_for(processes, effects, log, tmp_path):
    """Case 35: wait until it has ended, then again."""
    killed(processes, "leave-child", "put", "1.0")
    successor = processes.start("session", "resume", "put", "20")
    assert said(successor) == "ready"
    go(successor)
    effect = float(said(successor).split()[1])
    assert rest(successor)[-1].startswith("finished")
    assert effect > float((tmp_path / "child-done").read_text()), "the repeat came after the child's end"
    assert [arrival.attempt for arrival in effects.arrivals()] == [2]
    assert [record.event.parent_ended for record in log(RunStarted)] == ["first", "lock_free"]


@pytest.mark.requirement("RECO-01")
@pytest.mark.requirement("RECO-02")
def test_a_child_that_goes_on_parks_the_call_until_it_has_ended(processes, effects, log, tmp_path):
    killed(processes, "leave-child", "put", "told")
    early = processes.start("session", "resume", "put", "0.1")
    go(early)
    assert rest(early)[-1].startswith("waiting")
    assert [record.event.code for record in log(CallParked)] == ["still_running"]
    assert effects.arrivals() == []
    (tmp_path / "child-told").touch()
    while not (tmp_path / "child-done").exists():
        time.sleep(0.01)
    later = processes.start("session", "resume", "put", "5")
    go(later)
    assert rest(later)[-1].startswith("finished")
    assert [arrival.attempt for arrival in effects.arrivals()] == [2]
    assert waits(tmp_path) == [], "nothing is left to answer"


def waits(folder):
    async def read():
        ledger = SqliteLedger(folder / "state" / "ledger.db")
        try:
            return list(await ledger.waits())
        finally:
            await ledger.aclose()

    return asyncio.run(read())


@pytest.mark.requirement("RECO-01")
@pytest.mark.parametrize(("tool", "attempts"), [("put", [1, 2]), ("ask", [1])])
def test_a_request_that_may_still_arrive_is_waited_for(processes, effects, log, tool, attempts):
    """Case 41: neither probe nor repeat before the tool's quiet period has passed."""
    killed(processes, "die-remote", tool, "effect.after", "1.0")
    successor = processes.start("session", "resume", tool, "5", "1.0")
    assert said(successor) == "ready"
    go(successor)
    lines = rest(successor)
    began = log(RunStarted)[-1].at / 1000
    assert lines[-1].startswith("finished")
    assert float(lines[0].split()[1]) >= began + 1.0
    assert [arrival.attempt for arrival in effects.arrivals()] == attempts


@pytest.mark.requirement("RECO-03")
def test_a_result_that_was_committed_is_shown_once(processes, effects, log, tmp_path):
    """Case 27: killed between T2 and the next request; the words once, the result once, no second effect."""
    from callslip.core.message import ToolResults, UserText
    from callslip.runtime.parts import Parts
    from callslip.sessions.project import project
    from callslip.testing.clock import FakeClock

    killed(processes, "die", "pay", "settle.after")
    successor = processes.start("session", "resume", "pay")
    go(successor)
    assert rest(successor)[-1] == "finished Done."
    assert len(effects.arrivals()) == 1

    async def messages():
        from callslip import Runtime

        async with Runtime(state=tmp_path / "state", clock=FakeClock()) as runtime:
            parts: Parts = runtime.parts
            return await project(parts, await runtime.state("s"))

    shown = asyncio.run(messages())
    assert sum(isinstance(message, UserText) for message in shown) == 1
    assert [message.results[0].content for message in shown if isinstance(message, ToolResults)] == ["a"]
