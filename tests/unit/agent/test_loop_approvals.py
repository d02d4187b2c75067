"""The loop around a person's word: it rests, goes on, tells the model, and lets a steer or a stop take the call back."""

from __future__ import annotations

import pytest

from callslip import Runtime
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.message import ToolResults
from callslip.errors import WaitConflict
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

PAY = ("pay", {"cents": 100})
ADD = ("add", {"a": 1, "b": 2})


def made(world, *replies, **more):
    return Runtime(tools=world.tools(), model=Scripted(list(replies)), policy={"write": "ask"}, **more)


def told(runtime):
    """What the model was told last, one text a call."""
    results = [message for message in runtime.settings.model.requests[-1].messages if isinstance(message, ToolResults)]
    return [result.content for result in results[-1].results]


@pytest.mark.requirement("APPR-01")
async def test_a_run_rests_and_goes_on_after_the_answer(world):
    async with made(world, calling(PAY, ADD), "Done.") as runtime:
        out = await runtime.run("Pay.", session="s")
        assert (out.status, out.reason) == ("waiting", "approval")
        (wait,) = out.waits
        assert world.effects == {"add": 1}
        (head,) = await runtime.parts.ledger.heads("s")
        assert head.owner is None
        out = await runtime.resume("s")
        assert out.status == "waiting"
        await runtime.approve(wait.id)
        out = await runtime.resume("s")
        assert (out.status, out.text) == ("finished", "Done.")
        assert world.effects == {"add": 1, "pay": 1}
        assert told(runtime) == ["paid 100", "3"]


@pytest.mark.requirement("APPR-05")
async def test_the_model_sees_both_outcomes_in_its_order(world):
    async with made(world, calling(PAY, ("pay", {"cents": 7})), "Done.") as runtime:
        out = await runtime.run("Pay.", session="s")
        await runtime.approve(out.waits[1].id)
        await runtime.deny(out.waits[0].id, reason="too much")
        await runtime.resume("s")
        first, second = told(runtime)
        assert "too much" in first
        assert second == "paid 7"


@pytest.mark.requirement("APPR-04")
async def test_the_model_is_told_of_an_edit(world):
    async with made(world, calling(PAY), "Done.") as runtime:
        out = await runtime.run("Pay.", session="s")
        await runtime.edit(out.waits[0].id, {"cents": 50})
        await runtime.resume("s")
        assert told(runtime) == ["A person changed the arguments before this call was made: cents: 100 → 50.\npaid 50"]


@pytest.mark.requirement("APPR-06")
async def test_the_model_may_ask_again_after_an_expiry(world):
    clock = FakeClock(auto=60)
    limits = Limits(approval_expires=60)
    async with made(world, calling(PAY), calling(PAY), "Done.", clock=clock, limits=limits) as runtime:
        await runtime.run("Pay.", session="s")
        clock.advance(61)
        assert await runtime.sweep() == 1
        out = await runtime.resume("s")
        assert out.status == "waiting"
        assert "asks again" in told(runtime)[0]
        await runtime.approve(out.waits[0].id)
        assert (await runtime.resume("s")).status == "finished"
        assert world.effects["pay"] == 1


async def test_a_message_waits_and_a_steer_takes_the_call_back(world):
    async with made(world, calling(PAY), "As you like.", "I see.") as runtime:
        out = await runtime.run("Pay.", session="s")
        await runtime.send("s", "By the way …")
        assert (await runtime.resume("s")).status == "waiting"
        await runtime.send("s", "Don't.", steer=True)
        with pytest.raises(WaitConflict, match="steer"):
            await runtime.approve(out.waits[0].id)
        assert (await runtime.resume("s")).status == "finished"
        with pytest.raises(WaitConflict, match="withdrawn"):
            await runtime.approve(out.waits[0].id)
        assert not world.effects


async def test_a_stop_takes_the_call_back(world):
    async with made(world, calling(PAY), "Never.") as runtime:
        await runtime.run("Pay.", session="s")
        await runtime.stop("s")
        assert (await runtime.resume("s")).status == "stopped"
        assert not await runtime.waits()
        assert not world.effects


@pytest.mark.requirement("APPR-03")
async def test_nobody_is_asked_twice_for_a_reason_that_is_none(world):
    async with made(world, calling(PAY), "Done.") as runtime:
        out = await runtime.run("Pay.", session="s")
        for _ in range(3):
            await runtime.resume("s")
        await runtime.approve(out.waits[0].id)
        await runtime.resume("s")
        events = [one.record.event for one in await runtime.parts.ledger.read("s")]
        assert sum(isinstance(event, ApprovalRequested) for event in events) == 1
