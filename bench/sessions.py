"""How long sessions are taken up again, how quickly their chain is verified, and what large payloads take on disk.

    python bench/sessions.py [--sizes 1000 10000 100000] [--rounds 5] [--data-dir DIR]

Sessions of each size are written through the real ledger (bench/made_session.py), once; the last checkpoint of each
leaves the same tail, and the last run of each broke off with a call dispatched. Each round copies the state folder,
opens a runtime on the copy and resumes. Three instants are noted: the session is acquired (read, folded, claimed, the
new run recorded), settled (the open call has its answer: ready to continue), asked (the whole conversation is projected
and handed to the model). Beside it the same without the checkpoint, where the whole log is read and folded.

Verifying reads the stored bytes and checks every link of the chain; beside it the whole report, which also decodes
and folds every record. Payloads: a session whose tool returned 1 MB of
made-up orders, and what ledger and blobs then take, beside the bytes returned.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import sqlite3
import string
import time
from pathlib import Path
from typing import Any

from callslip import Runtime, tool
from callslip.core.event import genesis
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.run_started import RunStarted
from callslip.ledgers.sqlite import SqliteLedger
from callslip.ports.model import OnDelta, Proposal, Reply, Request
from callslip.providers.scripted import saying
from callslip.runtime.live import Live, Recorded
from callslip.sessions.verify import PAGE, broken_links, verify
from made_session import SESSION, look_up, make_session
from measure import Cpu, Figures, at_least, at_most, middle, scratch

TAIL = 500
"""Records after the checkpoint: a run that ends keeps one when there are more."""
LEDGER = "ledger.db"
INSTANTS = ("acquired", "settled", "asked")


class Instants:
    """When things happened, in milliseconds of wall time and of CPU since the beginning. Also the model."""

    name = "made:up"

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}
        self.messages = 0
        self._began = time.perf_counter(), time.process_time()

    def note(self, instant: str) -> None:
        self.wall.setdefault(instant, (time.perf_counter() - self._began[0]) * 1000)
        self.cpu.setdefault(instant, (time.process_time() - self._began[1]) * 1000)

    def watch(self, live: Live) -> None:
        event = live.record.event if isinstance(live, Recorded) else None
        if isinstance(event, RunStarted):
            self.note("acquired")
        elif isinstance(event, FunctionResponse):
            self.note("settled")

    async def reply(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        self.note("asked")
        self.messages = len(request.messages)
        return saying("Done.")


async def resume(state: Path) -> Instants:
    """Open the state folder as a new process would, and go on with the session."""
    instants = Instants()
    async with Runtime(tools=[look_up], state=state, model=instants, watch=instants.watch) as runtime:
        await runtime.resume(SESSION)
    return instants


def resumed(made: Path, folder: Path, rounds: int, *, checkpoint: bool) -> Figures:
    """Medians over rounds, each on a copy of its own."""
    seen: list[Instants] = []
    for number in range(rounds):
        copy = folder / f"copy-{number}"
        shutil.copytree(made, copy)
        if not checkpoint:
            with contextlib.closing(sqlite3.connect(copy / LEDGER)) as connection, connection:
                connection.execute("delete from checkpoints")
        sync(copy / LEDGER)
        seen.append(asyncio.run(resume(copy)))
        shutil.rmtree(copy)
    return {
        "wall_ms": {name: middle([one.wall[name] for one in seen]) for name in INSTANTS},
        "cpu_ms": {name: middle([one.cpu[name] for one in seen]) for name in INSTANTS},
        "messages": seen[0].messages,
    }


def sync(file: Path) -> None:
    """Write the copy out now, and not within the measured commits."""
    handle = os.open(file, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


async def chain(state: Path) -> tuple[int, float]:
    """Read the stored bytes and check every link; the records, and the CPU seconds it took."""
    ledger = SqliteLedger(state / LEDGER)
    try:
        cpu, count, previous = Cpu(), 0, genesis(SESSION)
        while rows := await ledger.raw(SESSION, after=count, limit=PAGE):
            faults, previous = broken_links(rows, count, previous)
            assert not faults
            count += len(rows)
        return count, cpu.per(1) / 1e6
    finally:
        await ledger.aclose()


async def whole_report(state: Path) -> tuple[int, float]:
    """What `callslip verify` does: the chain, and every record decoded and folded, payloads looked for."""
    async with Runtime(tools=[look_up], state=state) as runtime:
        cpu = Cpu()
        report = await verify(runtime.parts, SESSION)
        assert report.ok, report.problems
        return report.records, cpu.per(1) / 1e6


def verified(state: Path, rounds: int) -> Figures:
    chains, reports, count = [], [], 0
    for _ in range(rounds):
        count, seconds = asyncio.run(chain(state))
        chains.append(count / seconds)
        reports.append(count / asyncio.run(whole_report(state))[1])
    return at_least(middle(chains), 200_000) | {"records": count, "whole_report_by_cpu_second": middle(reports)}


def orders(count: int) -> list[dict[str, Any]]:
    """Made-up orders with random ids and notes, which nothing can compress much: the worst realistic case."""
    made = random.Random(11)
    letters = string.ascii_letters + string.digits
    return [
        {
            "id": "".join(made.choices(letters, k=16)),
            "status": made.choice(["open", "paid", "shipped"]),
            "amount": made.randrange(100, 100_000),
            "note": "".join(made.choices(letters, k=100)),
        }
        for _ in range(count)
    ]


async def _payload_session(state: Path, rows: list[dict[str, Any]]) -> None:
    @tool(risk="read")
    async def fetch_orders() -> list[dict[str, Any]]:
        """Fetches all orders."""
        return rows

    async with Runtime(tools=[fetch_orders], state=state) as runtime:
        for step in ("first", "again"):
            await runtime.dispatch([Proposal(tool="fetch_orders", arguments="{}")], session=SESSION, step=step)


def payload_sizes(folder: Path, count: int = 6000) -> Figures:
    """The same large result twice; the second one is the same blob."""
    rows = orders(count)
    state = folder / "payloads"
    asyncio.run(_payload_session(state, rows))
    raw = len(json.dumps(rows, separators=(",", ":")).encode())
    kept = sum(path.stat().st_size for path in state.rglob("*") if path.is_file())
    return {
        "raw_bytes_of_one": raw,
        "log_and_blobs_bytes": kept,
        "ratio_to_one": at_most(round(kept / raw, 3), 1),
        "ratio_to_both": round(kept / raw / 2, 3),
    }


def document(folder: Path, *, sizes: list[int], rounds: int, rows: int) -> Figures:
    sessions: list[Figures] = []
    for size in sizes:
        made = folder / f"made-{size}"
        began = time.perf_counter()
        records = asyncio.run(make_session(made, events=size, tail=TAIL))
        took = time.perf_counter() - began
        sessions.append(
            {
                "records": records,
                "made_in_s": round(took, 1),
                "ledger_mb": round((made / LEDGER).stat().st_size / 1e6, 1),
                "with_checkpoint": resumed(made, folder, rounds, checkpoint=True),
                "without_checkpoint": resumed(made, folder, rounds, checkpoint=False),
            }
        )
    first, last = sessions[0]["with_checkpoint"], sessions[-1]["with_checkpoint"]
    return {
        "sessions": sessions,
        "ready_ms_with_checkpoint": at_most(last["wall_ms"]["settled"], 1000),
        "ready_cpu_largest_by_smallest": round(last["cpu_ms"]["settled"] / first["cpu_ms"]["settled"], 2),
        "records_largest_by_smallest": round(sessions[-1]["records"] / sessions[0]["records"], 1),
        "verified_records_by_cpu_second": verified(folder / f"made-{sizes[-1]}", rounds),
        "payloads": payload_sizes(folder, rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long sessions are taken up again.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=6000, help="orders in the large payload")
    parser.add_argument("--data-dir", type=Path, help="on a real disk, not in memory; default: /var/tmp")
    args = parser.parse_args()
    with scratch(args.data_dir) as folder:
        figures = document(folder, sizes=args.sizes, rounds=args.rounds, rows=args.rows)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
