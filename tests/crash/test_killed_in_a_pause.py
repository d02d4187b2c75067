"""kill -9 while something waits to be tried again: the next process waits the rest of it, and counts on from the log."""

import asyncio
import signal

import pytest

from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.ledgers.sqlite import SqliteLedger
from callslip.testing.chat_server import ChatServer, Says, Sends

BUSY = Sends(status=503, body={"error": {"message": "busy"}})


@pytest.mark.requirement("RESI-01")
@pytest.mark.requirement("RESI-02")
@pytest.mark.requirement("WIRE-06")
@pytest.mark.parametrize("what", ["tool", "model"])
@pytest.mark.timeout(120)
def test_the_pause_and_the_count_outlive_the_process(processes, tmp_path, what):
    with ChatServer([BUSY, BUSY, Says("Done.")]) as server:
        victim = processes.start("pausing", what, server.base_url, "first")
        said = victim.stdout.readline().split()
        assert said[:2] == ["failed", "1"]
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        assert len(server.requests) == 1
        successor = processes.start("pausing", what, server.base_url, "again")
        lines = successor.stdout.read().strip().splitlines()
        assert successor.wait() == 0
        assert len(server.requests) == 3, "once for each attempt, in whatever process"
    assert lines[0].split()[:2] == ["failed", "2"]
    assert lines[-1] == "finished Done."
    log = asyncio.run(_log(tmp_path))
    failed = [
        (one.record.at, one.record.event) for one in log if isinstance(one.record.event, AttemptFailed | ModelFailed)
    ]
    assert [event.attempt for _, event in failed] == [1, 2]
    first, second = [event.retry_at - at for at, event in failed]
    assert 0 < first <= 2000 < second <= 4000
    assert failed[1][0] >= failed[0][1].retry_at, "the rest of the pause was waited for"
    kinds = [type(one.record.event) for one in log]
    assert kinds.count(ToolDispatch) == (3 if what == "tool" else 0)
    assert kinds.count(ModelRequested) == (2 if what == "tool" else 1), "the model is not asked for a retry"


async def _log(folder):
    ledger = SqliteLedger(folder / "state" / "ledger.db")
    try:
        return await ledger.read("s")
    finally:
        await ledger.aclose()
