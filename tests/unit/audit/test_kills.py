"""kill -9 amid a catch-up, at every instant it has: afterwards no gap, no entry twice, and the same book as without."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from callslip.audit.lines import lines
from callslip.failpoint import AUDIT

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("OBSV-01")]

PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path

from callslip import failpoint
from callslip.audit import book, catch_up
from callslip.audit.anchors import Anchors, FilePlace
from callslip.audit.follow import Follower
from callslip.blobs.memory import MemoryBlobs
from callslip.clocks.system import SystemClock
from callslip.ledgers.sqlite import SqliteLedger
from callslip.runtime.redact import Redactor

folder, name, hit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
book._PIECE, catch_up._BATCH = 700, 7  # lines are cut through, and there are several batches
met = 0


def listener(point):
    global met
    met += point == name
    if met == hit and point == name:
        os.kill(os.getpid(), signal.SIGKILL)


async def main():
    failpoint.listen(listener)
    one = book.Book(folder / "audit")
    anchors = Anchors(one, FilePlace(folder / "elsewhere" / "anchors"), SystemClock(), every=5)
    follower = Follower(SqliteLedger(folder / "ledger.db"), MemoryBlobs(), one, Redactor(), SystemClock(), anchors=anchors)
    await follower.catch_up()
    assert follower.failure() == "", follower.failure()
    print(met)


asyncio.run(main())
os._exit(0)
"""


async def follow(scene, name, hit):
    """Whether the process was killed; else how often it met that instant."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, str(scene.folder), name, str(hit), stdout=subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode in {0, -signal.SIGKILL}
    return "killed" if process.returncode else int(out)


@pytest.mark.parametrize("name", AUDIT)
async def test_at_every_instant(scene, paid, name):
    logs = [paid(f"s{number}") for number in range(4)]
    await scene.log(*logs)
    assert await follow(scene, "none", 1) == 0
    told, torn = len(scene.entries), 0
    for number, log in enumerate(logs):
        await scene.log(log.step("t", step="1.2").dispatch().settle(), paid(f"t{number}"))
    for hit in range(1, 100):
        if await follow(scene, name, hit) != "killed":
            break
        torn += any(not line.whole for line in lines(scene.path))
        size = os.path.getsize(scene.path)
        if name != "audit.writing":
            assert size > 0
    assert hit > 2, "it was killed several times"
    assert bool(torn) == (name == "audit.writing"), "lines were left half written, or the test shows nothing"
    entries = scene.entries
    assert len(entries) == told + 8 + 16
    assert len({(entry.session, entry.seq) for entry in entries}) == len(entries)
    report = await scene.verify()
    assert (report.problems, report.notices) == ([], [])
    assert report.anchors > 0


async def test_what_is_written_again_is_what_was_written(scene, paid):
    """The same log, told without a kill, gives the same entries, whatever their order over the sessions."""
    await scene.log(*[paid(f"s{number}") for number in range(3)])
    for hit in (1, 2, 3):
        assert await follow(scene, "audit.writing", hit) == "killed"
    await scene.catch_up()
    entries, details = scene.entries, scene.details()
    scene.path.unlink()
    scene.forget_index()
    await scene.catch_up()
    assert (scene.entries, scene.details()) == (entries, details)
