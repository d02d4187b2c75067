"""What calls side by side cost: as long as the slowest of them, and no more commits than one step needs.

    python bench/parallel.py [--rounds 5] [--calls 50] [--milliseconds 200] [--cold 5] [--data-dir DIR]

Wall time is judged within one round only: a step of so many calls, by the slowest of its calls as the tools
themselves saw it. Half of the rounds wait on the event loop, half in worker threads; each with one call that runs in
the other. Commits are counted by the ledger, as bench/dispatch.py does. What a tool's own process costs is shown beside
a bare interpreter that is started in the same round, and not judged.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

from callslip import Runtime, Tool, tool
from callslip.ports.model import Proposal
from dispatch import WIDTH, count_commits
from measure import Figures, at_most, middle, noop, noop_in_thread, proposals, scratch

_TOOK: list[float] = []
"""How long each call took, in seconds, as its tool saw it."""


@tool(risk="read")
async def wait_here(number: int) -> int:
    """Waits so many milliseconds on the event loop."""
    began = time.monotonic()
    await asyncio.sleep(number / 1000)
    _TOOK.append(time.monotonic() - began)
    return number


@tool(risk="read")
def wait_in_thread(number: int) -> int:
    """Waits so many milliseconds in a worker thread."""
    began = time.monotonic()
    time.sleep(number / 1000)
    _TOOK.append(time.monotonic() - began)
    return number


@tool(risk="read", process=True)
def noop_in_process(number: int) -> int:
    """Does nothing, in a process of its own."""
    return number


async def side_by_side(state: Path, most: Tool, other: Tool, calls: int, milliseconds: int) -> float:
    """A step's wall time by that of its slowest call."""
    wanted = [
        Proposal(tool=(other if number == 0 else most).spec.name, arguments=json.dumps({"number": milliseconds}))
        for number in range(calls)
    ]
    async with Runtime(tools=[most, other], state=state) as runtime:
        await runtime.dispatch(proposals(1, most), session="parallel", step="warm")
        _TOOK.clear()
        began = time.monotonic()
        batch = await runtime.dispatch(wanted, session="parallel", step="measured")
        took = time.monotonic() - began
        assert all(one.ok for one in batch.results)
    return took / max(_TOOK)


async def cold_start(calls: int) -> list[float]:
    """Milliseconds of single calls that each start a process."""
    took = []
    async with Runtime(tools=[noop_in_process]) as runtime:
        for number in range(calls):
            began = time.monotonic()
            await runtime.dispatch(proposals(1, noop_in_process), session="cold", step=str(number))
            took.append((time.monotonic() - began) * 1000)
    return took


def bare_start() -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
    return (time.monotonic() - began) * 1000


def document(folder: Path, *, rounds: int, calls: int, milliseconds: int, cold: int, times: int) -> Figures:
    here: list[float] = []
    threads: list[float] = []
    for number in range(rounds):
        for name, into, most, other in (
            ("here", here, wait_here, wait_in_thread),
            # Worker threads are 40; more calls than that wait for one another.
            ("threads", threads, wait_in_thread, wait_here),
        ):
            width = calls if most is wait_here else min(calls, 40)
            state = folder / f"{name}-{number}"
            into.append(asyncio.run(side_by_side(state, most, other, width, milliseconds)))
    bare = [bare_start() for _ in range(cold)]
    return {
        "slowest_by_wall": {
            "calls": calls,
            "milliseconds": milliseconds,
            "on_the_event_loop": at_most(round(middle_of(here), 3), 1.3) | {"seen": [round(one, 3) for one in here]},
            "in_threads": at_most(round(middle_of(threads), 3), 1.3) | {"seen": [round(one, 3) for one in threads]},
        },
        "commits": {
            "parallel_32_in_one_pass": at_most(max(asyncio.run(count_commits(folder / "held", WIDTH, noop, times))), 3),
            "parallel_32_in_threads": at_most(
                max(asyncio.run(count_commits(folder / "spread", WIDTH, noop_in_thread, times))), 6
            ),
        },
        "own_process": {
            "cold_call_ms": middle(asyncio.run(cold_start(cold))),
            "bare_interpreter_ms": middle(bare),
        },
    }


def middle_of(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure calls side by side.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=50, help="calls of a step")
    parser.add_argument("--milliseconds", type=int, default=200, help="how long each of them waits")
    parser.add_argument("--cold", type=int, default=5, help="calls that each start a process")
    parser.add_argument("--times", type=int, default=20, help="steps whose commits are counted, of each kind")
    parser.add_argument("--data-dir", type=Path, help="on a real disk, not in memory; default: /var/tmp")
    args = parser.parse_args()
    with scratch(args.data_dir) as folder:
        figures = document(
            folder, rounds=args.rounds, calls=args.calls, milliseconds=args.milliseconds, cold=args.cold,
            times=args.times,
        )  # fmt: skip
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
