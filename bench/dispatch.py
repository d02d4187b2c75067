"""What one durable call costs: commits by count, everything else in CPU time.

    python bench/dispatch.py [--rounds 7] [--calls 300] [--batches 30] [--data-dir DIR]

Commits are counted by the ledger: a step with one call, a step of 32 calls on the event loop (they are queued in
one pass of it), and a step of 32 calls in worker threads, which end when they end.

CPU is measured in rounds, each with a bare SQLite commit, steps of one no-op call on the memory ledger, the same on
SQLite, and steps of 32 calls on SQLite, one after the other. A step goes the whole way: the reply and its calls into
the log, every gate with the policy, claims, T1, the tool, T2, the batch back to the caller. SQLite's share is judged by
the bare commit of the same round: at most three times as much for each commit a step takes.
"""

import argparse
import asyncio
import json
from pathlib import Path

from callslip import Runtime, Tool
from measure import (
    Cpu,
    Figures,
    at_least,
    at_most,
    bare_commits,
    commits,
    middle,
    noop,
    noop_in_thread,
    proposals,
    scratch,
)

WIDTH = 32
WARM_UP = 20


async def count_commits(state: Path | None, width: int, one: Tool, times: int) -> list[int]:
    """Commits of each of so many steps, each the second one of its session: the first one also begins a run, and
    a session that grows long keeps a checkpoint now and then.
    """
    counts = []
    async with Runtime(tools=[one], state=state) as runtime:
        for number in range(times):
            await runtime.dispatch(proposals(1, one), session=f"count-{number}", step="first")
            before = commits(runtime)
            await runtime.dispatch(proposals(width, one), session=f"count-{number}", step="second")
            counts.append(commits(runtime) - before)
    return counts


async def dispatch_cpu(state: Path | None, width: int, steps: int) -> float:
    """CPU microseconds of a step of so many calls, once everything is warm."""
    calls = proposals(width)
    async with Runtime(tools=[noop], state=state) as runtime:
        for number in range(min(WARM_UP, steps)):
            await runtime.dispatch(calls, session="cpu", step=f"warm-{number}")
        cpu = Cpu()
        for number in range(steps):
            await runtime.dispatch(calls, session="cpu", step=f"step-{number}")
        return cpu.per(steps)


def counted(folder: Path, times: int) -> Figures:
    one = asyncio.run(count_commits(folder / "one", 1, noop, times))
    held = asyncio.run(count_commits(folder / "held", WIDTH, noop, times))
    threads = asyncio.run(count_commits(folder / "threads", WIDTH, noop_in_thread, times))
    return {
        "one_call": at_most(max(one), 3),
        "parallel_32_in_one_pass": at_most(max(held), 3),
        "parallel_32_in_threads": at_most(max(threads), 6) | {"seen": threads},
    }


def measured(folder: Path, *, rounds: int, calls: int, batches: int) -> Figures:
    bare, memory, sqlite, wide = [], [], [], []
    for number in range(rounds):
        bare.append(bare_commits(folder, calls))
        memory.append(asyncio.run(dispatch_cpu(None, 1, calls)))
        sqlite.append(asyncio.run(dispatch_cpu(folder / f"single-{number}", 1, calls)))
        wide.append(asyncio.run(dispatch_cpu(folder / f"wide-{number}", WIDTH, batches)))
    commits_a_step = 3
    on_top = [slow - quick for slow, quick in zip(sqlite, memory, strict=True)]
    shares = [more / (commits_a_step * floor) for more, floor in zip(on_top, bare, strict=True)]
    share = at_most(round(sorted(shares)[len(shares) // 2], 2), 3)
    rate = at_least(middle([WIDTH / batch * 1e6 for batch in wide]), 2500)
    return {
        "bare_sqlite_commit_cpu_us": middle(bare),
        "memory_call_cpu_us": at_most(middle(memory), 350) | {"best": round(min(memory), 1)},
        "sqlite_call_cpu_us": middle(sqlite),
        "sqlite_on_top_cpu_us": middle(on_top),
        "sqlite_on_top_by_bare_commits": share | {"seen": [round(one, 2) for one in shares]},
        "wide_32_calls_by_cpu_second": rate | {"cpu_us_each": middle([batch / WIDTH for batch in wide])},
    }


def document(folder: Path, *, rounds: int, calls: int, batches: int, times: int) -> Figures:
    return {
        "commits": counted(folder, times),
        "cpu": measured(folder, rounds=rounds, calls=calls, batches=batches),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the commits of a durable call and measure its CPU.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=300, help="steps of one call in each round")
    parser.add_argument("--batches", type=int, default=30, help="steps of 32 calls in each round")
    parser.add_argument("--times", type=int, default=20, help="steps whose commits are counted, of each kind")
    parser.add_argument("--data-dir", type=Path, help="on a real disk, not in memory; default: /var/tmp")
    args = parser.parse_args()
    with scratch(args.data_dir) as folder:
        figures = document(folder, rounds=args.rounds, calls=args.calls, batches=args.batches, times=args.times)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
