"""Answers, verdicts, stops and messages from a process that does not own the session."""

from __future__ import annotations

import asyncio

import pytest

from callslip import build
from callslip.core.event import draft
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.user_message import UserMessage
from callslip.core.result import Effect, Status
from callslip.errors import Busy, Moved, NotFound, WaitConflict
from callslip.providers.scripted import Scripted, calling

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-03")]

ASK = calling(("ask_client", {"question": "?"}))


async def log(runtime, kind, session="s"):
    return [s.record for s in await runtime.parts.ledger.read(session) if isinstance(s.record.event, kind)]


async def until(condition):
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came")


async def test_a_client_answers_without_owning_the_session(process):
    owner, client = process(), process()
    step = [{"name": "ask_client", "input": {"question": "?"}, "id": "p1"}]
    batch = await owner.dispatch(step, session="s", step="1")
    assert (batch.results[0].status, batch.results[0].error_code) == (Status.PENDING_APPROVAL, "client")
    (wait,) = await client.waits("s")
    assert (wait.call_id, wait.tool, wait.arguments) == (batch.results[0].call_id, "ask_client", {"question": "?"})
    epoch = (await client.sessions())[0].epoch
    await client.submit(wait.id, {"said": "yes"})
    batch = await owner.dispatch(step, session="s", step="1")
    assert batch.results[0].result.structured == {"said": "yes"}
    assert batch.messages("openai_chat")[0]["tool_call_id"] == "p1"
    (record,) = await log(client, FunctionResponse)
    assert record.epoch == 0
    assert (await client.sessions())[0].epoch == epoch


async def test_the_run_that_is_under_way_takes_the_answer_at_once(process, world):
    model = Scripted([calling(("slow", {"name": "x"}), ("ask_client", {"question": "?"})), "done"])
    owner, client = process(model), process()
    running = asyncio.create_task(owner.run("hello", session="s"))
    await until(world.begun.is_set)
    waits: list = []
    while not waits:
        waits = await client.waits()
        await asyncio.sleep(0.005)
    await client.submit(waits[0].id, "yes")
    world.gate.set()
    assert (await running).text == "done"


async def test_of_many_clients_one_is_heard_and_the_others_are_told(process):
    owner, clients = process(), [process() for _ in range(4)]
    await owner.dispatch([{"name": "ask_client", "input": {"question": "?"}}], session="s", step="1")
    (wait,) = await owner.waits()
    answers = await asyncio.gather(
        *[client.submit(wait.id, n) for n, client in enumerate(clients)], return_exceptions=True
    )
    assert sum(answer is None for answer in answers) == 1
    assert all(isinstance(answer, NotFound | WaitConflict) for answer in answers if answer is not None)
    (record,) = await log(owner, FunctionResponse)
    assert record.event.structured.value() == answers.index(None)


@pytest.mark.requirement("RECO-02")
async def test_a_verdict_from_elsewhere_keeps_actor_and_reason(process):
    owner, operator = process(), process()
    batch = await owner.dispatch([{"name": "lose", "input": {}}], session="s", step="1")
    assert batch.results[0].error_code == "parked"
    (wait,) = await operator.waits()
    await operator.resolve(wait.id, "happened", reason="The bank shows it.", result={"receipt": 17})
    (record,) = await log(operator, CallResolved)
    assert (record.epoch, record.event.reason, record.event.actor) == (0, "The bank shows it.", build.requester().name)
    batch = await owner.dispatch([{"name": "lose", "input": {}}], session="s", step="1")
    assert (batch.results[0].effect, batch.results[0].result.structured) == (Effect.DONE, {"receipt": 17})


async def test_a_wait_takes_only_the_answer_of_its_kind(process):
    owner, other = process(), process()
    await owner.dispatch([{"name": "ask_client", "input": {"question": "?"}}], session="s", step="1")
    (wait,) = await other.waits()
    with pytest.raises(WaitConflict, match=r"kind client, which can't be answered this way. Nothing was written"):
        await other.resolve(wait.id, "happened", reason="I think so")
    with pytest.raises(WaitConflict):
        await other.accept_workspace(wait.id)
    assert await log(other, CallResolved) == []
    await other.submit(wait.id, error="No.", effect="done")
    (record,) = await log(other, FunctionResponse)
    assert (record.event.error_code, record.event.effect) == ("client_failed", Effect.DONE)


async def test_nobody_else_drives_a_session_that_is_driven(process, world):
    owner, other = process(Scripted([calling(("slow", {"name": "x"})), "done"])), process(Scripted([]))
    running = asyncio.create_task(owner.run("hello", session="s"))
    await until(world.begun.is_set)
    with pytest.raises(Busy, match="is driven by process"):
        await other.resume("s")
    with pytest.raises(Busy):
        await other.run("me too", session="s")
    assert await other.stop("s", reason="enough")
    assert (await running).status == "stopped"
    assert not (await other.state("s")).queued


async def test_a_session_that_was_let_go_can_be_taken(process):
    first, second = process(), process()
    step = [{"name": "put", "input": {"text": "a"}}]
    batch = await first.dispatch(step, session="s", step="1")
    with pytest.raises(Busy):
        await second.dispatch(step, session="s", step="1")
    await first.release("s")
    assert await second.dispatch(step, session="s", step="1") == batch
    with pytest.raises(Busy):
        await first.dispatch(step, session="s", step="1")


async def test_an_answer_judged_by_what_has_passed_is_not_written(process):
    owner, client = process(), process()
    await owner.dispatch([{"name": "ask_client", "input": {"question": "?"}}], session="s", step="1")
    (head,) = await client.sessions()
    late = draft(UserMessage(text="I saw less than there is"), at=1, by="x", epoch=0, run="")
    for position in (head.seq - 1, head.seq + 1):
        with pytest.raises(Moved):
            await client.parts.ledger.decide("s", [late], expected=position)
    assert await client.sessions() == [head]
    await client.parts.ledger.decide("s", [late], expected=head.seq)
    assert (await owner.sessions())[0].seq == head.seq + 1
