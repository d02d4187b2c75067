"""Measures one dispatch of a no-op tool by Callslip: the dispatch record (T1), the effect, the outcome record (T2).

Unlike the peers it commits twice for each step, once before the effect and once after it. The main figure has just
that: the calls of a model's reply that claim the same resource run one after the other, so between two consecutive
effects lie the T2 of one call and the gates and the T1 of the next; a reply has 25 calls, and its own commit comes once
for all of them. `full_step` has one call a reply and hence the reply's commit in every step: three. `one_call_us` is
the part of a full step from the moment its call is in the log until its outcome is: T1, effect, T2, nothing else.
`in_thread` is the main figure with a synchronous tool, which runs in a worker thread so that it can't stop the event
loop.

In the crash check the tool has a probe that looks whether its effect is there, so the effect is not repeated.
"""

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

import peer_common

from callslip import Context, Runtime, Tool, tool
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.result import Status
from callslip.ports.model import Proposal
from callslip.runtime.live import Live, Recorded

WIDTH = 25
SESSION = "bench"


class Calls:
    """Times each call from its proposal's record to its outcome's."""

    def __init__(self) -> None:
        self.took: list[float] = []
        self._proposed: dict[str, float] = {}

    def watch(self, live: Live) -> None:
        event = live.record.event if isinstance(live, Recorded) else None
        if isinstance(event, FunctionCall):
            self._proposed[event.call_id] = time.perf_counter()
        elif isinstance(event, FunctionResponse):
            self.took.append((time.perf_counter() - self._proposed[event.call_id]) * 1e6)


async def dispatch_all(state: Path, one: Tool, total: int, width: int, calls_seen: Calls) -> dict[str, str]:
    """Dispatch so many calls, in steps of so many; gives what the ledger's writing connection says of its syncs."""
    async with Runtime(tools=[one], state=state, watch=calls_seen.watch) as runtime:
        for number in range(0, total, width):
            count = min(width, total - number)
            calls = [Proposal(tool=one.spec.name, arguments="{}")] * count
            await runtime.dispatch(calls, session=SESSION, step=f"step-{number}")
        connection: Any = runtime.parts.ledger.behind._writer._connection  # type: ignore[attr-defined]
        return {
            f"sqlite_{name}": str(connection.execute(f"pragma {name}").fetchone()[0])
            for name in ("journal_mode", "synchronous")
        }


def asynchronous(meter: peer_common.Meter) -> Tool:
    @tool(claims=["one at a time"], risk="write")
    async def noop() -> int:
        """Does nothing."""
        return meter.effect()

    return noop


def in_thread(meter: peer_common.Meter) -> Tool:
    @tool(claims=["one at a time"], risk="write")
    def noop() -> int:
        """Does nothing."""
        return meter.effect()

    return noop


def step(folder: Path, meter: peer_common.Meter, _server: peer_common.Server) -> dict[str, Any]:
    durability = asyncio.run(dispatch_all(folder / "main", asynchronous(meter), meter.total, WIDTH, Calls()))
    report = meter.report("callslip", ["callslip"], durability)
    for name, make, width in (("full_step", asynchronous, 1), ("in_thread", in_thread, WIDTH)):
        other = peer_common.Meter(meter.steps, meter.warmup)
        calls = Calls()
        asyncio.run(dispatch_all(folder / name, make(other), other.total, width, calls))
        figures = other.report("callslip", ["callslip"], durability)
        report[name] = {key: figures[key] for key in ("median_us", "p99_us", "mean_us", "cpu_us_per_step")}
        if width == 1:
            report[name]["one_call_us"] = round(statistics.median(calls.took[meter.warmup :]), 1)
    return report


def worker(folder: Path, _url: str) -> None:
    """Dispatches a call that kills the process after its effect; run again, dispatches the same and is given its
    outcome.
    """

    def look(context: Context) -> int | None:
        effects = folder / "effects"
        return effects.read_bytes().count(b"\n") if effects.exists() else None

    @tool(risk="write", recovery="probe", probe=look, local_effect=True)
    def crash() -> int:
        """Has one durable effect."""
        return peer_common.crash_once(folder)

    async def run() -> None:
        async with Runtime(tools=[crash], state=folder / "kill") as runtime:
            batch = await runtime.dispatch([Proposal(tool="crash", arguments="{}")], session=SESSION, step="one")
        if batch.results[0].status is not Status.SUCCESS:
            raise SystemExit(f"not recovered: {batch.results[0]}")

    asyncio.run(run())


if __name__ == "__main__":
    peer_common.main("callslip", step, worker)
