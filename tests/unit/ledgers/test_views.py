"""Two views of one log: the facts as they arrived, and what the model is shown."""

from __future__ import annotations

import asyncio

import pytest

from callslip import Runtime, tool
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.providers.scripted import Scripted, calling

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-07")]


@pytest.mark.parametrize("stored", [False, True])
async def test_arrival_order_in_the_log_and_the_models_order_in_the_request(tmp_path, stored):
    gates = [asyncio.Event() for _ in range(3)]

    @tool(risk="read")
    async def wait(n: int) -> int:
        """Wait for the one after."""
        if n < 2:
            await gates[n].wait()
        if n:
            gates[n - 1].set()
        return n

    model = Scripted([calling(*[("wait", {"n": n}) for n in range(3)]), "done"])
    async with Runtime(tools=[wait], model=model, state=tmp_path / "s" if stored else None) as runtime:
        await runtime.run("go", session="s")
        log = [s.record.event for s in await runtime.parts.ledger.read("s")]
        again = [s.record.event for s in await runtime.parts.ledger.read("s")]
    arrived = [event.structured.value() for event in log if isinstance(event, FunctionResponse)]
    assert arrived == [2, 1, 0]
    shown = [result.content for result in model.requests[1].messages[-1].results]
    assert shown == ["0", "1", "2"]
    assert log == again


@pytest.mark.requirement("LEDG-02")
async def test_every_result_that_a_model_is_shown_was_durable_before(tmp_path):
    from callslip.ledgers.sqlite import SqliteLedger

    durable = []

    class Model(Scripted):
        async def reply(self, request, on_delta=None):
            other = SqliteLedger(tmp_path / "s" / "ledger.db")
            durable.append([s.record.event for s in await other.read("s")])
            other.close()
            return await super().reply(request, on_delta)

    @tool(risk="read")
    async def look(n: int) -> int:
        """Look, seeing its own dispatch in the log."""
        other = SqliteLedger(tmp_path / "s" / "ledger.db")
        log = [s.record.event for s in await other.read("s")]
        other.close()
        assert [t1.arguments.value() for t1 in log if isinstance(t1, ToolDispatch)][-1] == {"n": n}
        return n

    model = Model([calling(("look", {"n": 1})), calling(("look", {"n": 2})), "done"])
    async with Runtime(tools=[look], model=model, state=tmp_path / "s") as runtime:
        assert (await runtime.run("go", session="s")).text == "done"
    settled = [[e.structured.value() for e in log if isinstance(e, FunctionResponse)] for log in durable]
    assert settled == [[], [1], [1, 2]]
