"""What sessions that wait cost while they wait: CPU of a worker's sweep, and its memory.

    python bench/waits.py [--sessions 10000] [--rounds 20] [--data-dir DIR]

A worker process opens an empty state folder and sweeps. Then the sessions are made beside it (bench/made_waits.py:
half wait for a client, half for an approval), and it sweeps as often again: that fills the page caches of its
databases, which have a size of their own. Then as many again are made; what it grows by now is what sessions that wait
cost.

A sweep is what a worker does every two seconds: it asks the ledger what might go on. Its CPU, all threads, is the
median over rounds, with nothing due and with one session due; that one counts up to where its drive begins. Beside it
stands what reading the list of all sessions and waits takes, which is what a sweep without the ledger's indexes would
do. The wait that somebody answers is looked up by its id. Time is the measuring clock's, which stands still.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from callslip import Runtime
from callslip.ledgers.sqlite import SqliteLedger
from callslip.ports.ledger import Ledger
from callslip.testing.clock import FakeClock
from callslip.worker import Worker
from made_waits import TOOLS, make_waiting
from measure import Cpu, Figures, at_most, middle, scratch

LEDGER = "ledger.db"
LOOK_UPS = 200
HOUR_MS = 3_600_000


class Told:
    """What the worker says of sessions, and the CPU time at which the first drive began."""

    def __init__(self) -> None:
        self.cpu = Cpu()
        self.began = 0.0
        self.statuses: list[str] = []

    def __call__(self, _session: str, what: str) -> None:
        if what == "driving":
            self.began = self.began or self.cpu.per(1)
        else:
            self.statuses.append(what)


async def sweep(runtime: Runtime) -> float:
    """CPU milliseconds of one sweep that finds nothing to do."""
    cpu = Cpu()
    drives = await Worker(runtime).serve(asyncio.Event(), once=True)
    assert drives == 0
    return cpu.per(1) / 1000


async def sweep_one_due(runtime: Runtime) -> float:
    """CPU milliseconds of one sweep, up to the drive of the one session that is due."""
    told = Told()
    await Worker(runtime, on_session=told).serve(asyncio.Event(), once=True)
    assert told.statuses == ["waiting"], told.statuses
    return told.began / 1000


async def look_up(ledger: Ledger, ids: list[str]) -> float:
    """CPU microseconds of finding a wait by its id."""
    cpu = Cpu()
    for wait in ids:
        (row,) = await ledger.waits(wait_id=wait)
        assert row.wait_id == wait
    return cpu.per(len(ids))


async def list_everything(ledger: Ledger) -> float:
    """CPU milliseconds of reading the head of each session and each wait."""
    cpu = Cpu()
    await ledger.heads()
    await ledger.waits()
    return cpu.per(1) / 1000


async def measured(state: Path, sessions: int, rounds: int) -> Figures:
    clock = FakeClock(now=time.time_ns() // 1_000_000, auto=1)
    async with Runtime(tools=TOOLS, state=state, clock=clock) as runtime:
        ledger = runtime.parts.ledger
        ids = [row.wait_id for row in await ledger.waits()]
        assert len(ids) == sessions
        await sweep(runtime)
        quiet = [await sweep(runtime) for _ in range(rounds)]
        whole = [await list_everything(ledger) for _ in range(min(rounds, 5))]
        found = await look_up(ledger, random.Random(5).choices(ids, k=LOOK_UPS))
        due = []
        for number in range(rounds):
            wake_at = clock.now() + HOUR_MS
            await make_waiting(ledger, [f"due-{number}"], at=clock.now(), wake_at=wake_at)
            await sweep(runtime)
            clock.advance(HOUR_MS / 1000)
            due.append(await sweep_one_due(runtime))
    return {
        "sweep_cpu_ms_nothing_due": at_most(round(middle([one * 1000 for one in quiet]) / 1000, 3), 20),
        "sweep_cpu_ms_one_due": at_most(round(middle([one * 1000 for one in due]) / 1000, 3), 20),
        "list_everything_cpu_ms": middle(whole),
        "find_a_wait_cpu_us": at_most(round(found, 1), 1000),
    }


# A worker process, asked over its standard input


async def work(state: Path, rounds: int) -> None:
    """At each line: so many sweeps, then say how much memory is resident."""
    async with Runtime(tools=TOOLS, state=state) as runtime:
        for _ in sys.stdin:
            for _ in range(rounds):
                await sweep(runtime)
            print(resident_kb(), flush=True)


def resident_kb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


class WorkerProcess:
    """Another process that sweeps when it is asked to."""

    def __init__(self, state: Path, rounds: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker", state, "--rounds", str(rounds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def resident_kb(self) -> int:
        """Of memory, after its sweeps."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("sweep\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0


async def made(state: Path, sessions: int, *, first: int = 0) -> float:
    """Make the sessions, numbered from ``first``; the seconds it took."""
    began = time.perf_counter()
    ledger = SqliteLedger(state / LEDGER)
    await make_waiting(
        ledger, [f"waits-{number}" for number in range(first, first + sessions)], at=time.time_ns() // 1_000_000
    )
    await ledger.aclose()
    return time.perf_counter() - began


def document(folder: Path, *, sessions: int, rounds: int) -> Figures:
    state = folder / "state"
    worker = WorkerProcess(state, rounds)
    try:
        empty = worker.resident_kb()  # everything is loaded that a sweep needs
        took = asyncio.run(made(state, sessions))
        before = worker.resident_kb()  # SQLite's page caches, of log and audit, are full
        asyncio.run(made(state, sessions, first=sessions))
        grown = worker.resident_kb() - before
    finally:
        worker.close()
    return {
        "sessions": 2 * sessions,
        "made_in_s": round(took, 1),
        "ledger_mb": round((state / LEDGER).stat().st_size / 1e6, 1),
        "caches_kb": max(before - empty, 0),
        "worker_grows_by_kb": at_most(max(grown, 0), 1024) | {"resident_kb": before},
        **asyncio.run(measured(state, 2 * sessions, rounds)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a worker spends on sessions that wait.")
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=20, help="sweeps of each kind")
    parser.add_argument("--data-dir", type=Path, help="on a real disk, not in memory; default: /var/tmp")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        asyncio.run(work(args.worker, args.rounds))
        return
    with scratch(args.data_dir) as folder:
        print(json.dumps(document(folder, sessions=args.sessions, rounds=args.rounds), indent=2))


if __name__ == "__main__":
    main()
