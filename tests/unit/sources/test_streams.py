"""A tool that gives its result in pieces: seen live, and one fact in the end."""

from __future__ import annotations

import asyncio

import pytest

from callslip import Context, Runtime, tool
from callslip.core.events.function_response import FunctionResponse
from callslip.core.result import Status
from callslip.runtime.live import Partial, Progress, Recorded

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RSLT-06")]


async def dispatched(watch, made, **arguments):
    async with Runtime(tools=[made], watch=watch) as runtime:
        batch = await runtime.dispatch([{"name": made.spec.name, "input": arguments}], session="s", step="1")
        log = await runtime.parts.ledger.read("s")
    return batch.results[0], [stored.record.event for stored in log]


async def test_pieces_are_seen_as_they_come_and_only_the_whole_is_a_fact():
    seen, gate = [], asyncio.Event()

    def watch(live):
        if isinstance(live, Partial):
            seen.append(live.text)
            gate.set()  # the second piece is made only because the first was seen
        elif isinstance(live, Recorded) and isinstance(live.record.event, FunctionResponse):
            seen.append("settled")

    @tool(risk="read")
    async def tell(name: str):
        """Tell a story."""
        yield "Once "
        await gate.wait()
        yield f"there was {name}."

    outcome, log = await dispatched(watch, tell, name="a fox")
    assert outcome.result.structured == "Once there was a fox."
    assert seen == ["Once ", "there was a fox.", "settled"]
    responses = [event for event in log if isinstance(event, FunctionResponse)]
    assert [response.structured.value() for response in responses] == ["Once there was a fox."]
    assert not any(b'"Once "' in repr(event).encode() for event in log if not isinstance(event, FunctionResponse))


async def test_pieces_that_are_no_text_become_a_list():
    seen = []

    @tool(risk="read")
    async def count(most: int):
        """Count."""
        for number in range(most):
            yield {"n": number}

    outcome, _ = await dispatched(seen.append, count, most=2)
    assert outcome.result.structured == [{"n": 0}, {"n": 1}]
    assert [live.text for live in seen if isinstance(live, Partial)] == ["{'n': 0}", "{'n': 1}"]


async def test_a_stream_that_breaks_settles_as_a_failure_and_its_pieces_are_no_result():
    seen = []

    @tool(risk="read")
    async def tell():
        """Tell."""
        yield "half"
        raise RuntimeError("cut")

    outcome, log = await dispatched(seen.append, tell)
    assert (outcome.status, outcome.result) == (Status.FATAL_ERROR, None)
    assert [live.text for live in seen if isinstance(live, Partial)] == ["half"]
    assert not any("half" in repr(event) for event in log)


async def test_any_tool_may_show_pieces_and_progress():
    seen = []

    @tool(risk="read")
    def work(context: Context) -> str:
        """Work."""
        context.progress("half way", 0.5)
        context.partial("so far")
        return "done"

    outcome, log = await dispatched(seen.append, work)
    assert outcome.result.structured == "done"
    shown = [live for live in seen if isinstance(live, Partial | Progress)]
    assert [(live.session, live.call_id) for live in shown] == [("s", outcome.call_id)] * 2
    assert (shown[0].message, shown[0].fraction, shown[1].text) == ("half way", 0.5, "so far")
    assert not any("so far" in repr(event) or "half way" in repr(event) for event in log)
