"""A run that uses up a budget, or goes round in circles, step by step. Arguments: folder, socket, what, first?

A line for each call that is answered, and one for how the run ended; it waits for a line before each request.
"""

import asyncio
import sys
from pathlib import Path

import msgspec

from callslip import Runtime, ToolFailed, tool
from callslip.core.budget import Budget, Budgets
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import Usage
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.live import Recorded

folder, _, what, mode = sys.argv[1:]
COST = Usage(input_tokens=90, output_tokens=10, cost_micros=5)


@tool(risk="read")
async def look(at: int) -> int:
    """Look."""
    return at


@tool(risk="read")
async def enter(door: str) -> str:
    """Enter."""
    raise ToolFailed("The door is locked.", code="locked")


class Waits(Scripted):
    async def reply(self, request, on_delta=None):
        await asyncio.to_thread(sys.stdin.readline)
        return msgspec.structs.replace(await super().reply(request, on_delta), usage=COST)


def watch(live):
    if isinstance(live, Recorded) and isinstance(live.record.event, FunctionResponse):
        print(f"answered {live.record.event.error_code}", flush=True)


async def main():
    calls = [("look", {"at": number}) if what == "budget" else ("enter", {"door": "1"}) for number in range(20)]
    model = Waits([calling(call) for call in calls])
    budgets = Budgets(turn=Budget(tokens=650))
    runtime = Runtime(
        tools=[look, enter], model=model, state=Path(folder) / "state", watch=watch,
        budgets=budgets if what == "budget" else None,
    )  # fmt: skip
    async with runtime:
        run = await (runtime.run("Go.", session="s") if mode == "first" else runtime.resume("s"))
        print(f"ended {run.limit}", flush=True)


asyncio.run(main())
