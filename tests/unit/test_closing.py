"""A runtime that is closed while something begins: what it does is recorded, or it is not done."""

import asyncio

import pytest

from callslip import Runtime, tool
from callslip.agent.batch import Batch
from callslip.errors import UsageError
from callslip.providers.scripted import Scripted

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-02")]


@pytest.fixture
def wrote():
    return []


@pytest.fixture
def runtime(tmp_path, wrote):
    @tool(risk="write")
    async def note(text: str) -> str:
        """Write it down."""
        wrote.append(text)
        return "done"

    return Runtime(tools=[note], state=tmp_path / "state", policy={"write": "allow"}, model=Scripted(["Hello."] * 9))


def call(text):
    return [{"id": "c", "type": "function", "function": {"name": "note", "arguments": f'{{"text": "{text}"}}'}}]


@pytest.mark.parametrize("passes", [*range(8), 12, 20, 40])
async def test_a_dispatch_is_refused_or_recorded_and_the_same_step_does_it_once(runtime, wrote, passes):
    await runtime.dispatch(call("first"), session="warm", step="1")
    late = asyncio.ensure_future(runtime.dispatch(call("late"), session="s", step="1"))
    for _ in range(passes):
        await asyncio.sleep(0)
    await runtime.aclose()
    (how,) = await asyncio.gather(late, return_exceptions=True)
    assert isinstance(how, Batch | UsageError)
    done = isinstance(how, Batch) and how.results[0].status == "success"
    assert done == ("late" in wrote)
    async with runtime:  # closed, it can be used again
        again = await runtime.dispatch(call("late"), session="s", step="1")
        assert (again.results[0].status, again.waits) == ("success", ())
    assert wrote == ["first", "late"]


async def test_a_run_that_ends_while_it_is_closed_opens_nothing_again(runtime):
    running = asyncio.ensure_future(runtime.run("Hi.", session="s"))
    while not runtime.is_active("s"):
        await asyncio.sleep(0)
    await runtime.aclose()
    await asyncio.gather(running, return_exceptions=True)
    assert runtime._parts is None
