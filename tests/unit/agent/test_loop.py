"""The loop: turns, steps, cut replies, steering, stopping, resuming."""

from __future__ import annotations

import asyncio

import pytest

from callslip import Runtime, tool
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.run_started import RunStarted
from callslip.core.events.user_message import UserMessage
from callslip.core.message import AssistantReply, Notice, ToolResults, UserText
from callslip.errors import Busy, EmptyReply, IncompleteReply, ModelUnavailable, NotFound, UsageError
from callslip.ports.model import Proposal, Reply
from callslip.providers.scripted import Scripted
from callslip.runtime.parts import Limits

pytestmark = pytest.mark.anyio


def calls(*proposals: tuple[str, str], text: str = "") -> Reply:
    made = tuple(Proposal(tool=name, arguments=arguments, provider_id=f"p{n}")
                 for n, (name, arguments) in enumerate(proposals))  # fmt: skip
    return Reply(text=text, proposals=made, finish="calls")


def cut(finish: str) -> Reply:
    return Reply(text="I will now", proposals=(), finish=finish)


async def log(runtime, kind, session="s"):
    return [r.record.event for r in await runtime.parts.ledger.read(session) if isinstance(r.record.event, kind)]


ADD = ("add", '{"a":1,"b":2}')


@pytest.mark.requirement("ORCH-01")
class TestTurns:
    async def test_an_answer_without_calls_ends_the_turn(self, world):
        model = Scripted(["Hello."])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            out = await runtime.run("Hi", session="s")
            assert (out.status, out.text, out.waits) == ("finished", "Hello.", ())
        assert model.requests[0].messages == (UserText(text="Hi"),)

    async def test_calls_are_answered_before_the_model_is_asked_again(self, world):
        model = Scripted([calls(ADD, ("nope", "{}"), text="Let me see."), "3."])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            out = await runtime.run("1+2?", session="s")
        assert out.text == "3."
        _, reply, results = model.requests[1].messages
        assert isinstance(reply, AssistantReply)
        assert (reply.text, [call.tool for call in reply.calls]) == ("Let me see.", ["add", "nope"])
        assert isinstance(results, ToolResults)
        assert [(r.provider_id, r.is_error) for r in results.results] == [("p0", False), ("p1", True)]
        assert [c.call_id for c in reply.calls] == [r.call_id for r in results.results]

    async def test_the_conversation_goes_on(self, world):
        model = Scripted(["One.", "Two."])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            await runtime.run("first", session="s")
            assert (await runtime.run("second", session="s")).text == "Two."
        assert [type(m) for m in model.requests[1].messages] == [UserText, AssistantReply, UserText]

    @pytest.mark.requirement("DEFR-01")
    async def test_only_visible_tools_are_shown(self, world):
        @tool(risk="read", deferred=True)
        async def rare() -> str:
            """Rarely needed."""
            return ""

        model = Scripted(["ok"])
        async with Runtime(tools=[*world.tools(), rare], model=model) as runtime:
            await runtime.run("x", session="s")
        names = [view.name for view in model.requests[0].tools]
        assert "rare" not in names
        assert "add" in names

    async def test_a_turn_has_a_budget_of_steps_and_can_be_resumed(self, world):
        model = Scripted([calls(ADD)] * 4 + ["done"])
        async with Runtime(tools=world.tools(), model=model, limits=Limits(steps_per_turn=2)) as runtime:
            out = await runtime.run("x", session="s")
            assert (out.status, world.effects["add"]) == ("stopped", 2)
            assert "2 steps" in out.reason
            await runtime.resume("s")
            assert (await runtime.resume("s")).text == "done"
        assert world.effects["add"] == 4

    async def test_without_a_model_nothing_is_asked(self, world):
        async with Runtime(tools=world.tools()) as runtime:
            with pytest.raises(UsageError, match="no model"):
                await runtime.run("x", session="s")

    def test_run_sync(self, world):
        assert Runtime(tools=world.tools(), model=Scripted(["Hello."])).run_sync("Hi", session="s").text == "Hello."


@pytest.mark.requirement("CALL-05")
class TestIncompleteReplies:
    @pytest.mark.parametrize("finish", ["length", "cut", "filtered"])
    async def test_they_make_no_calls_and_the_next_request_says_so(self, world, finish):
        model = Scripted([cut(finish), "Short."])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            assert (await runtime.run("x", session="s")).text == "Short."
            assert not await log(runtime, FunctionCall)
        *_, reply, notice = model.requests[1].messages
        assert (reply.text, reply.calls) == ("I will now", ())
        assert isinstance(notice, Notice)
        assert "No tool was called" in notice.text

    async def test_again_and_again_fails_the_run(self, world):
        async with Runtime(tools=world.tools(), model=Scripted([cut("length")] * 4)) as runtime:
            with pytest.raises(IncompleteReply, match="3 times"):
                await runtime.run("x", session="s")


@pytest.mark.requirement("CALL-08")
async def test_an_empty_reply_fails_the_step_and_can_be_resumed(world):
    model = Scripted([Reply(text="", proposals=(), finish="empty"), "Better."])
    async with Runtime(tools=world.tools(), model=model) as runtime:
        with pytest.raises(EmptyReply, match="neither text nor calls"):
            await runtime.run("x", session="s")
        assert (await runtime.state("s")).last_status == "failed"
        assert (await runtime.resume("s")).text == "Better."


async def test_a_model_that_does_not_answer_leaves_a_session_that_can_be_resumed(world):
    class Down:
        name = "down"

        async def reply(self, request, on_delta=None):
            raise ModelUnavailable("The server refused the connection. Nothing was executed.")

    async with Runtime(tools=world.tools(), model=Down()) as runtime:
        with pytest.raises(ModelUnavailable):
            await runtime.run("x", session="s")
        runtime.settings.model = Scripted(["Back."])
        assert (await runtime.resume("s")).text == "Back."
        assert len(await log(runtime, UserMessage)) == 1


@pytest.mark.requirement("ORCH-04")
class TestFromOutside:
    async def test_a_message_meanwhile_begins_the_next_turn(self, world):
        model = Scripted([calls(("slow", '{"name":"x"}')), "first answer", "second answer"])
        async with Runtime(tools=world.tools(), model=model, limits=Limits(poll=0.01)) as runtime:
            running = asyncio.create_task(runtime.run("one", session="s"))
            await until(lambda: world.order)
            await runtime.send("s", "two")
            world.gate.set()
            assert (await running).text == "second answer"
        assert UserText(text="two") not in model.requests[1].messages
        assert model.requests[2].messages[-1] == UserText(text="two")

    @pytest.mark.requirement("PARA-05")
    async def test_a_steer_is_read_at_the_next_step_and_closes_what_is_not_dispatched(self, world):
        @tool(risk="read", claims=["one"])
        async def first() -> str:
            """First."""
            world.order.append("first")
            await world.gate.wait()
            return "done"

        @tool(risk="write", claims=["one"])
        async def second() -> str:
            """Second."""
            world.effects["second"] += 1
            return "done"

        model = Scripted([calls(("first", "{}"), ("second", "{}")), "steered"])
        async with Runtime(tools=[first, second], model=model, limits=Limits(poll=0.01)) as runtime:
            running = asyncio.create_task(runtime.run("one", session="s"))
            await until(lambda: world.order)
            await runtime.send("s", "no, stop that", steer=True)
            world.gate.set()
            assert (await running).text == "steered"
            one, two = await log(runtime, FunctionResponse)
        assert (one.status, two.error_code, two.lane) == ("success", "cancelled", "refused")
        assert not world.effects
        assert model.requests[1].messages[-1] == UserText(text="no, stop that")

    async def test_stop_settles_what_runs_and_begins_nothing(self, world):
        model = Scripted([calls(("slow", '{"name":"x"}')), "never asked"])
        async with Runtime(tools=world.tools(), model=model, limits=Limits(poll=0.01, grace=0.05)) as runtime:
            running = asyncio.create_task(runtime.run("one", session="s"))
            await until(lambda: world.order)
            assert await runtime.stop("s", reason="enough")
            out = await running
            assert out.status == "stopped"
            (response,) = await log(runtime, FunctionResponse)
            assert not await runtime.stop("s")
        assert response.error_code == "cancelled"
        assert len(model.requests) == 1

    @pytest.mark.requirement("PARA-05")
    async def test_cancelling_the_caller_records_what_was_dispatched(self, world):
        model = Scripted([calls(("slow", '{"name":"x"}')), "after"])
        async with Runtime(tools=world.tools(), model=model, limits=Limits(grace=0.05)) as runtime:
            running = asyncio.create_task(runtime.run("one", session="s"))
            await until(lambda: world.order)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert len(await log(runtime, FunctionResponse)) == 1
            assert (await runtime.resume("s")).text == "after"

    async def test_one_session_is_driven_once_at_a_time(self, world):
        model = Scripted([calls(("slow", '{"name":"x"}')), "done"])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            running = asyncio.create_task(runtime.run("one", session="s"))
            await until(lambda: world.order)
            with pytest.raises(Busy, match="this very process"):
                await runtime.resume("s")
            world.gate.set()
            await running

    async def test_there_must_be_a_session_to_resume(self, world):
        async with Runtime(tools=world.tools(), model=Scripted(["x"])) as runtime:
            for act in (runtime.resume("none"), runtime.send("none", "x"), runtime.stop("none")):
                with pytest.raises(NotFound, match="no session 'none'"):
                    await act


@pytest.mark.requirement("RECO-02")
class TestParkedCalls:
    PAY = calls(("add", '{"a":1,"b":1}'), ("pay", '{"cents":13}'))

    async def waiting(self, runtime):
        out = await runtime.run("pay", session="s")
        assert (out.status, [wait.kind for wait in out.waits]) == ("waiting", ["parked"])
        return out.waits[0]

    async def test_siblings_settle_and_the_session_waits(self, world):
        async with Runtime(tools=world.tools(), model=Scripted([self.PAY, "ok"])) as runtime:
            wait = await self.waiting(runtime)
            assert (wait.tool, wait.arguments) == ("pay", {"cents": 13})
            (response,) = await log(runtime, FunctionResponse)
            assert response.status == "success"
            assert (await runtime.resume("s")).status == "waiting"
        assert world.effects == {"add": 1, "pay": 1}

    @pytest.mark.parametrize(
        ("verdict", "told", "effects"),
        [
            ("happened", "receipt 17", 1),
            ("give_up", "not known whether", 1),
            ("did_not_happen", "paid", 2),
        ],
    )
    async def test_verdicts(self, world, verdict, told, effects):
        model = Scripted([self.PAY, "ok"])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            wait = await self.waiting(runtime)
            if verdict == "did_not_happen":
                runtime.catalogue["pay"].executor.function = lambda cents: _paid(world)
            await runtime.resolve(wait.id, verdict, reason="I looked", result="receipt 17")
            assert (await runtime.resume("s")).text == "ok"
        assert told in model.requests[1].messages[-1].results[1].content
        assert world.effects["pay"] == effects

    async def test_the_second_operator_is_told(self, world):
        async with Runtime(tools=world.tools(), model=Scripted([self.PAY, "ok"])) as runtime:
            wait = await self.waiting(runtime)
            answers = [runtime.resolve(wait.id, verdict, reason="r") for verdict in ("happened", "give_up")]
            results = await asyncio.gather(*answers, return_exceptions=True)
        assert [type(result).__name__ for result in results].count("NoneType") == 1
        assert sum(isinstance(result, UsageError) for result in results) == 1

    async def test_a_verdict_needs_a_reason(self, world):
        async with Runtime(tools=world.tools(), model=Scripted([self.PAY, "ok"])) as runtime:
            wait = await self.waiting(runtime)
            with pytest.raises(UsageError, match="reason"):
                await runtime.resolve(wait.id, "happened", reason=" ")

    async def test_an_answer_while_a_sibling_still_runs_is_acted_upon_at_once(self, world):
        model = Scripted([calls(("slow", '{"name":"x"}'), ("pay", '{"cents":13}')), "ok"])
        async with Runtime(tools=world.tools(), model=model, limits=Limits(poll=0.01)) as runtime:
            running = asyncio.create_task(runtime.run("x", session="s"))
            await until_async(runtime.waits)
            await runtime.resolve((await runtime.waits())[0].id, "happened", reason="r", result=1)
            await until_async(lambda: log(runtime, FunctionResponse))
            assert not world.gate.is_set()
            world.gate.set()
            assert (await running).text == "ok"


async def _paid(world):
    world.effects["pay"] += 1
    return "paid"


@pytest.mark.requirement("RECO-03")
class TestResume:
    async def test_a_new_run_from_the_prefix(self, tmp_path, world):
        model = Scripted([calls(("pay", '{"cents":13}')), "ok"])
        async with Runtime(tools=world.tools(), model=model, state=tmp_path / "s") as runtime:
            await runtime.run("pay", session="s")
        async with Runtime(tools=world.tools(), model=model, state=tmp_path / "s") as runtime:
            await runtime.resolve((await runtime.waits())[0].id, "happened", reason="r", result="R")
            assert (await runtime.resume("s")).text == "ok"
            first, second = await log(runtime, RunStarted)
            assert second.parent is not None
            assert second.anchor_seq > 0
            assert len(second.anchor_digest) == 64
            assert (first.parent_ended, second.parent_ended) == ("first", "released")
            assert len(await log(runtime, UserMessage)) == 1
        assert world.effects["pay"] == 1
        assert [type(m) for m in model.requests[-1].messages] == [UserText, AssistantReply, ToolResults]

    async def test_a_final_answer_already_given_is_not_asked_for_again(self, world):
        model = Scripted(["Hello."])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            await runtime.run("Hi", session="s")
            assert (await runtime.resume("s")).text == "Hello."
            assert len(await log(runtime, ModelReplied)) == 1


@pytest.mark.requirement("RECO-04")
class TestBeforeTheModelIsAsked:
    async def test_another_workspace_parks_the_session_until_it_is_accepted(self, tmp_path, world):
        here, there = tmp_path / "here", tmp_path / "there"
        here.mkdir()
        there.mkdir()
        model = Scripted(["one", "two"])
        state = tmp_path / "state"
        async with Runtime(tools=world.tools(), model=model, state=state, workspace=here) as runtime:
            await runtime.run("x", session="s")
        async with Runtime(tools=world.tools(), model=model, state=state, workspace=there) as runtime:
            out = await runtime.run("y", session="s")
            assert (out.status, out.waits[0].kind) == ("waiting", "workspace")
            assert len(model.requests) == 1
            assert len((await runtime.resume("s")).waits) == 1
            await runtime.accept_workspace(out.waits[0].id)
            assert (await runtime.resume("s")).text == "two"
        async with Runtime(tools=world.tools(), model=model, state=state, workspace=here) as runtime:
            assert (await runtime.resume("s")).status == "waiting"

    async def test_a_tool_that_has_gone_is_not_found_and_one_that_changed_is_judged_anew(self, tmp_path, world):
        state = tmp_path / "state"

        @tool(risk="write", name="pay")
        async def stricter(cents: int, currency: str) -> str:
            """Pay."""
            world.effects["stricter"] += 1
            return ""

        for tools, code in (([], "tool_gone"), ([stricter], "invalid_arguments")):
            session = f"s-{code}"
            model = Scripted([calls(("pay", '{"cents":1}')), "ok"])
            async with Runtime(tools=world.tools(), model=model, state=state) as runtime:
                await open_step_only(runtime, session)
            async with Runtime(tools=tools, model=Scripted(["ok"] * 3), state=state) as runtime:
                await runtime.resume(session)
                (response,) = await log(runtime, FunctionResponse, session)
                assert (response.error_code, response.lane) == (code, "refused")
        assert not world.effects


async def open_step_only(runtime, session):
    """Stop between the reply and the first T1, as a crash there would."""

    async def nothing(drive):
        raise KeyError

    from callslip.runtime import batch

    real, batch.settle_step = batch.settle_step, batch.settle_step
    count = 0

    async def once(drive):
        nonlocal count
        count += 1
        return await nothing(drive) if count > 1 else await real(drive)

    batch.settle_step = once
    try:
        with pytest.raises(KeyError):
            await runtime.run("x", session=session)
    finally:
        batch.settle_step = real


async def until(condition):
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came")


async def until_async(ask):
    for _ in range(1000):
        if await ask():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came")
