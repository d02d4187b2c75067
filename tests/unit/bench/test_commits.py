"""How often a step syncs the disk: the promise that T1 is durable before the effect must not cost more."""

import asyncio

import pytest

from callslip import Runtime, tool
from callslip.ports.model import Proposal
from callslip.runtime.live import Recorded

pytestmark = pytest.mark.requirement("LEDG-03")
WIDTH = 32


@tool(risk="read")
async def on_the_loop(number: int) -> int:
    return number


@tool(risk="read")
def in_a_thread(number: int) -> int:
    return number


def calls(one, width):
    return [Proposal(tool=one.spec.name, arguments={"number": number}) for number in range(width)]


async def count(runtime, one, width, session="s"):
    """The second step of a session, whose first one has begun its run."""
    await runtime.dispatch(calls(one, 1), session=session, step="first")
    before = runtime.parts.ledger.commits
    batch = await runtime.dispatch(calls(one, width), session=session, step="second")
    assert [outcome.result.structured for outcome in batch.results] == list(range(width))
    return runtime.parts.ledger.commits - before


@pytest.mark.parametrize("width", [1, 2, WIDTH])
def test_a_step_takes_three_commits_when_its_calls_are_queued_together(tmp_path, width):
    async def main():
        async with Runtime(tools=[on_the_loop], state=tmp_path / "state") as runtime:
            return [await count(runtime, on_the_loop, width, f"s{number}") for number in range(5)]

    assert asyncio.run(main()) == [3] * 5


def test_thirty_two_calls_in_threads_take_at_most_six_commits(tmp_path):
    async def main():
        async with Runtime(tools=[in_a_thread], state=tmp_path / "state") as runtime:
            await count(runtime, in_a_thread, WIDTH, "first")  # the threads are there from now on
            return sorted([await count(runtime, in_a_thread, WIDTH, f"s{number}") for number in range(9)])

    counts = asyncio.run(main())
    assert counts[0] >= 3
    # Threads end when they end, and a busy machine spreads them: the median is judged, and nothing is near one a call.
    assert counts[4] <= 6, counts
    assert counts[-1] < WIDTH, counts


def test_a_call_in_memory_counts_alike():
    async def main():
        async with Runtime(tools=[on_the_loop]) as runtime:
            return await count(runtime, on_the_loop, 1)

    assert asyncio.run(main()) == 3


def test_a_single_reply_is_one_commit_however_many_calls_it_has(tmp_path):
    """Request, reply and proposals together; T1 of all; T2 of all: told apart by what was recorded when."""
    seen = []

    async def main():
        state = tmp_path / "state"
        async with Runtime(tools=[on_the_loop], state=state, watch=seen.append) as runtime:
            await count(runtime, on_the_loop, 3)

    asyncio.run(main())
    kinds = [live.record.event.__struct_config__.tag for live in seen if isinstance(live, Recorded)]
    assert kinds[-12:] == [
        "model_requested", "model_replied", *["function_call"] * 3, *["tool_dispatch"] * 3, *["function_response"] * 3,
        "run_ended",
    ]  # fmt: skip
