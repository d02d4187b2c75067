"""A thousand answers to one question from eight processes: one is taken, the effect comes once."""

import asyncio

import pytest

from callslip import Runtime, tool
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.tool_dispatch import ToolDispatch

PROCESSES, ANSWERS = 8, 125


@pytest.mark.requirement("APPR-02")
@pytest.mark.requirement("LEDG-03")
@pytest.mark.timeout(240)
def test_a_thousand_racing_answers_to_one_question(processes, tmp_path):
    paid = []

    @tool(risk="write", recovery="never", local_effect=True)
    async def pay(cents: int) -> str:
        """Pay."""
        paid.append(cents)
        return "paid"

    call = [{"name": "pay", "arguments": {"cents": 100}}]

    def runtime():
        return Runtime(tools=[pay], policy={"tool.pay": "ask"}, state=tmp_path / "state")

    async def ask():
        async with runtime() as asking:
            (wait,) = (await asking.dispatch(call, session="s", step="1")).waits
        return wait.id

    async def drive():
        async with runtime() as driving:
            batch = await driving.dispatch(call, session="s", step="1")
            return batch.results[0], [one.record.event for one in await driving.parts.ledger.read("s")]

    wait = asyncio.run(ask())
    everybody = [processes.start("answerer", wait, str(ANSWERS)) for _ in range(PROCESSES)]
    assert [process.stdout.readline().strip() for process in everybody] == ["ready"] * PROCESSES
    for process in everybody:
        process.stdin.write("\n")
        process.stdin.flush()
    taken = [int(process.stdout.read()) for process in everybody]
    assert [process.wait() for process in everybody] == [0] * PROCESSES
    assert sum(taken) == 1
    result, events = asyncio.run(drive())
    assert result.ok
    (decided,) = [event for event in events if isinstance(event, ApprovalDecided)]
    (t1,) = [event for event in events if isinstance(event, ToolDispatch)]
    assert t1.approval == decided.approval_id == wait
    assert paid == [1 if decided.edited is not None else 100]
