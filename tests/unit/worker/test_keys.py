"""The idempotency key of a call, as its service sees it: one over every attempt, by whomever it is made."""

from __future__ import annotations

import asyncio

import pytest

from callslip import Context, Runtime, tool
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RECO-06")]

STEP = [{"name": "pay", "input": {"cents": 5}}]


class Service:
    """Asked with keys, and remembers them."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.probed: list[str] = []
        self.failing = True

    def tools(self, recovery: str):
        def probe(context: Context, cents: int) -> None:
            self.probed.append(context.idempotency_key)

        @tool(risk="write", recovery=recovery, probe=probe, quiet=0)
        async def pay(cents: int, context: Context) -> str:
            """Pay."""
            self.keys.append(context.idempotency_key)
            if self.failing:
                raise ConnectionError("the line is dead")
            return "paid"

        return [pay]


async def t1s(runtime):
    return [s.record.event for s in await runtime.parts.ledger.read("s") if isinstance(s.record.event, ToolDispatch)]


@pytest.mark.parametrize("recovery", ["probe", "idempotent"])
async def test_it_is_copied_from_t1_and_never_made_again(tmp_path, recovery):
    """Even where it could not be made again: here the installation has another key by then."""
    service = Service()
    first = Runtime(tools=service.tools(recovery), state=tmp_path / "s")
    append = first.parts.ledger.append

    async def dies(session, drafts, **how):
        if not any(isinstance(draft.record.event, ToolDispatch) for draft in drafts) and service.keys:
            raise asyncio.CancelledError
        return await append(session, drafts, **how)

    first.parts.ledger.append = dies
    with pytest.raises(asyncio.CancelledError):
        await first.dispatch(STEP, session="s", step="1")
    first._sessions.held.clear()
    await first.aclose()
    service.failing = False
    async with Runtime(tools=service.tools(recovery), state=tmp_path / "s") as second:
        second.parts.key = b"another installation's key, 32 b"
        batch = await second.dispatch(STEP, session="s", step="1")
        assert (batch.results[0].result.structured, batch.results[0].attempt) == ("paid", 2)
        made = await t1s(second)
    assert len(service.keys) == 2
    assert {*service.keys, *service.probed} == {t1.idempotency_key for t1 in made} == {service.keys[0]}
    assert len(service.probed) == (recovery == "probe")


async def test_the_same_call_in_another_session_step_or_place_has_another(tmp_path):
    service = Service()
    service.failing = False
    async with Runtime(tools=service.tools("idempotent"), state=tmp_path / "s") as runtime:
        await runtime.dispatch(STEP * 2, session="s", step="1")
        await runtime.dispatch(STEP, session="s", step="2")
        await runtime.dispatch(STEP, session="t", step="1")
        log = [s.record.event for s in await runtime.parts.ledger.read("s")]
    assert len(set(service.keys)) == len(service.keys) == 4
    assert sum(isinstance(event, FunctionResponse) for event in log) == 3
