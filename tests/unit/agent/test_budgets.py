"""Runs that use up what they may: they end in a way that can be gone on from, and nothing is forgotten meanwhile."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from callslip import Runtime, tool
from callslip.core.budget import Budget, Budgets, DailyBudget, SessionBudget, Use
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import Usage
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.retry import Retry
from callslip.errors import ModelUnavailable
from callslip.notify.from_log import notices_of
from callslip.ports.model import Reply
from callslip.ports.trust import Identity
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RESI-06")]

ADD = ("add", {"a": 1, "b": 2})


def asks(*calls, tokens=100, micros=200_000) -> Reply:
    """A reply with calls, which costs so much."""
    usage = Usage(input_tokens=tokens - 10, output_tokens=10, cost_micros=micros)
    made = calling(*calls) if calls else Reply(text="Done.", proposals=(), finish="stop")
    return msgspec.structs.replace(made, usage=usage)


def reads(number: int):
    """A call that no other is like."""
    return "add", {"a": number, "b": 0}


def many(count: int, **costs) -> list[Reply]:
    return [*(asks(reads(number), **costs) for number in range(count)), asks(**costs)]


async def events(runtime, kind, session="s"):
    return [one.record.event for one in await runtime.parts.ledger.read(session) if isinstance(one.record.event, kind)]


def turn(**budget) -> Budgets:
    return Budgets(turn=Budget(**budget))


def whole(**budget) -> Budgets:
    return Budgets(session=SessionBudget(**budget))


class TestATurn:
    @pytest.mark.parametrize(
        ("budget", "limit", "says"),
        [
            ({"tokens": 250}, "turn.tokens", "the turn used 300 of 250 tokens; resume to allow as many again"),
            ({"money": 0.5}, "turn.money", "the turn used $0.6000 of $0.5000; resume to allow as many again"),
            ({"log_bytes": 6_000}, "turn.log_bytes", "bytes of log; resume to allow as many again"),
        ],
    )
    async def test_it_ends_before_the_model_is_asked_again_and_goes_on_when_resumed(self, world, budget, limit, says):
        model = Scripted(many(9))
        async with Runtime(tools=world.tools(), model=model, budgets=turn(**budget)) as runtime:
            out = await runtime.run("Go", session="s")
            assert (out.status, out.limit) == ("stopped", limit)
            assert says in out.reason
            asked = len(model.requests)
            assert asked == world.effects["add"], "what was asked for was done"
            assert (await events(runtime, RunEnded))[-1].limit == limit
            assert not (await runtime.state("s")).open_calls()
            again = await runtime.resume("s")
            assert again.limit == limit
            assert len(model.requests) > asked
            while again.status == "stopped":
                again = await runtime.resume("s")
            assert (again.status, again.text) == ("finished", "Done.")
            assert world.effects["add"] == 9

    async def test_the_next_turn_has_all_of_it(self, world):
        model = Scripted([*many(1), *many(1), *many(1)])
        async with Runtime(tools=world.tools(), model=model, budgets=turn(tokens=250)) as runtime:
            for text in ("one", "two", "three"):
                assert (await runtime.run(text, session="s")).status == "finished"
            assert (await runtime.state("s")).counts.session.tokens == 600

    async def test_an_answer_is_given_even_if_it_went_beyond(self, world):
        model = Scripted([asks(tokens=10_000)])
        async with Runtime(tools=world.tools(), model=model, budgets=turn(tokens=250)) as runtime:
            assert (await runtime.run("Go", session="s")).status == "finished"

    async def test_of_the_calls_of_one_reply_the_first_are_made(self, world):
        model = Scripted([asks(*(reads(number) for number in range(5))), asks()])
        async with Runtime(tools=world.tools(), model=model, budgets=turn(calls=3)) as runtime:
            out = await runtime.run("Go", session="s")
            assert (out.status, out.text) == ("finished", "Done."), "told so, the model can still answer"
            responses = {one.call_id: one for one in await events(runtime, FunctionResponse)}
            proposed = [one.call_id for one in await events(runtime, FunctionCall)]
            assert sorted(one.call_id for one in await events(runtime, ToolDispatch)) == sorted(proposed[:3])
            refused = [responses[call_id] for call_id in proposed[3:]]
            assert {(one.error_code, one.rules, one.lane) for one in refused} == {
                ("budget_spent", ("turn.calls",), "refused")
            }
            assert "budget of 3 calls for this turn is used up" in refused[0].error_message
        assert world.effects["add"] == 3

    async def test_a_model_that_goes_on_calling_is_stopped_and_a_resume_grants_as_many_again(self, world):
        model = Scripted(many(9))
        async with Runtime(tools=world.tools(), model=model, budgets=turn(calls=2)) as runtime:
            out = await runtime.run("Go", session="s")
            assert (out.status, out.limit) == ("stopped", "turn.calls")
            assert out.reason == "the turn used 4 of 2 calls; resume to allow as many again"
            assert world.effects["add"] == 2
            await runtime.resume("s")
            assert world.effects["add"] == 4

    async def test_searches_alone_are_refused(self, world):
        @tool(risk="read", name="tool_search")
        async def search(query: str) -> str:
            """Search."""
            return query

        queries = [("tool_search", {"query": f"{number}"}) for number in range(3)]
        model = Scripted([asks(*queries), asks(ADD), asks()])
        async with Runtime(tools=[*world.tools(), search], model=model, budgets=turn(searches=2)) as runtime:
            assert (await runtime.run("Go", session="s")).status == "finished"
            responses = await events(runtime, FunctionResponse)
            assert [one.rules for one in responses if one.error_code] == [("turn.searches",)]

    async def test_a_cost_nobody_knows_is_not_taken_for_nothing(self, world):
        model = Scripted(many(3, micros=None))
        async with Runtime(tools=world.tools(), model=model, budgets=turn(money=5.0)) as runtime:
            out = await runtime.run("Go", session="s")
            assert (out.status, out.limit) == ("stopped", "turn.money")
            assert "what a reply cost is not known; give the model's price" in out.reason
            assert len(model.requests) == 1

    async def test_wake_ups(self, world):
        model = Scripted([calling(("ask_client", {"question": "?"})), calling(("ask_client", {"question": "!"})), "ok"])
        async with Runtime(tools=world.tools(), model=model, budgets=turn(wakeups=1)) as runtime:
            out = await runtime.run("Go", session="s")
            await runtime.submit(out.waits[0].id, "a")
            out = await runtime.resume("s")
            await runtime.submit(out.waits[0].id, "b")
            out = await runtime.resume("s")
            assert (out.status, out.limit) == ("stopped", "turn.wakeups")
            assert out.reason == "the turn used 2 of 1 wake-ups; resume to allow as many again"
            assert (await runtime.resume("s")).status == "finished"


class TestASession:
    @pytest.mark.parametrize(
        ("budget", "limit"),
        [
            ({"tokens": 250}, "session.tokens"),
            ({"money": 0.5}, "session.money"),
            ({"log_bytes": 6_000}, "session.log_bytes"),
            ({"calls": 1}, "session.calls"),
        ],
    )
    async def test_only_a_higher_budget_lets_it_go_on(self, world, budget, limit, tmp_path):
        replies = many(5)
        async with Runtime(
            tools=world.tools(), model=Scripted(replies), budgets=whole(**budget), state=tmp_path / "s"
        ) as runtime:
            out = await runtime.run("Go", session="s")
            assert (out.status, out.limit) == ("stopped", limit)
            assert f"raise {limit[8:]} in [budgets.session], then resume" in out.reason
            made = world.effects["add"]
            again = await runtime.resume("s")
            assert (again.status, again.limit) == ("stopped", limit)
            assert world.effects["add"] == made
        more = {name: value * 100 for name, value in budget.items()}
        async with Runtime(
            tools=world.tools(), model=Scripted(replies), budgets=whole(**more), state=tmp_path / "s"
        ) as runtime:
            assert (await runtime.resume("s")).status == "finished"

    async def test_it_holds_for_all_turns(self, world):
        model = Scripted([*many(1), *many(1), *many(1)])
        async with Runtime(tools=world.tools(), model=model, budgets=whole(tokens=350)) as runtime:
            assert (await runtime.run("one", session="s")).status == "finished"
            assert (await runtime.run("two", session="s")).status == "finished"
            out = await runtime.run("three", session="s")
            assert (out.status, out.limit) == ("stopped", "session.tokens")
            assert [message.text for message in (await runtime.state("s")).queued] == ["three"], "kept for later"

    async def test_time(self, world):
        clock = FakeClock()

        @tool(risk="read")
        async def think(thought: str) -> str:
            """Think."""
            clock.advance(10)
            return thought

        model = Scripted([asks(("think", {"thought": "a"})), asks(("think", {"thought": "b"})), asks()])
        async with Runtime(tools=[think], model=model, budgets=whole(seconds=15), clock=clock) as runtime:
            out = await runtime.run("Go", session="s")
            assert out.reason == "the session used 20.0 of 15 seconds; raise seconds in [budgets.session], then resume"

    async def test_no_more_questions_to_people_than_they_can_answer(self, world, tmp_path):
        model = Scripted([calling(*[("explode", {})] * 5), "ok"])
        # Where commits take a while, so that siblings are asked about side by side.
        settings = {"model": model, "budgets": whole(approvals=2), "state": tmp_path / "s"}
        async with Runtime(tools=world.tools(), **settings) as runtime:
            out = await runtime.run("Go", session="s")
            assert len(out.waits) == 2
            refused = await events(runtime, FunctionResponse)
            assert [one.rules for one in refused] == [("session.approvals",)] * 3
            for wait in out.waits:
                await runtime.approve(wait.id)
            assert (await runtime.resume("s")).status == "finished"
        assert world.effects["explode"] == 2

    async def test_a_dispatchers_session_has_one_too(self, world):
        budgets = Budgets(turn=Budget(calls=1), session=SessionBudget(calls=3))
        async with Runtime(tools=world.tools(), budgets=budgets) as runtime:
            codes = []
            for step in range(5):
                name, arguments = reads(step)
                batch = await runtime.dispatch([{"name": name, "input": arguments}], session="s", step=f"{step}")
                codes.append(batch.results[0].error_code)
        assert codes == [None, None, None, "budget_spent", "budget_spent"]


class TestARequester:
    async def test_all_sessions_of_a_day(self, world):
        clock = FakeClock()
        budgets = Budgets(requester_day=DailyBudget(tokens=350))
        model = Scripted(many(1))
        async with Runtime(tools=world.tools(), model=model, budgets=budgets, clock=clock) as runtime:
            assert (await runtime.run("one", session="a")).status == "finished"
            out = await runtime.run("two", session="b")
            assert (out.status, out.limit) == ("finished", "")
            out = await runtime.run("three", session="c")
            assert (out.status, out.limit) == ("stopped", "requester_day.tokens")
            assert "its requester today used 400 of 350 tokens" in out.reason
            clock.advance(86_400)
            assert (await runtime.resume("c")).status == "finished"

    async def test_what_others_use_is_not_theirs(self, world):
        budgets = Budgets(requester_day=DailyBudget(calls=1))
        model = Scripted([*many(1), *many(1)])
        settings = {"tools": world.tools(), "model": model, "budgets": budgets, "clock": FakeClock()}
        async with Runtime(**settings) as runtime:
            ledger = runtime.parts.ledger
            out = await runtime.run("one", session="mine")
            assert (out.status, out.limit) == ("stopped", "requester_day.calls")
        async with Runtime(**settings, identity=Identity(name="somebody else", uid=None)) as runtime:
            runtime.parts.ledger = ledger
            out = await runtime.run("one", session="theirs")
            assert (out.status, out.limit) == ("stopped", "requester_day.calls"), "of their own one"
            assert world.effects["add"] == 2
            assert set(runtime.parts.used_today) == {"mine"}, "it was looked at"


@pytest.mark.requirement("RESI-07")
async def test_operators_hear_of_it(world):
    async with Runtime(tools=world.tools(), model=Scripted(many(5)), budgets=turn(tokens=150)) as runtime:
        await runtime.run("Go", session="s")
        told = notices_of("s", await runtime.parts.ledger.read("s"))
    assert [(one.kind.value, one.details["limit"]) for one in told] == [("limit_reached", "turn.tokens")]
    assert "the turn used 200 of 150 tokens" in told[0].sentence


async def test_what_was_used_is_told(world):
    budgets = Budgets(turn=Budget(tokens=1000), session=SessionBudget(money=1.0))
    async with Runtime(tools=world.tools(), model=Scripted(many(1)), budgets=budgets) as runtime:
        out = await runtime.run("Go", session="s")
        used = {use.name: use for use in out.spent}
        assert (used["turn.tokens"].used, used["turn.tokens"].of) == (200, 1000)
        assert (used["session.money"].used, used["session.money"].of) == (0.4, 1.0)
        assert used["session.calls"].of is None
        assert (await runtime.spent("s"))[:7] == out.spent[:7]


async def test_a_resume_in_another_process_goes_on_counting(world, tmp_path):
    replies = many(9)
    budgets = turn(tokens=450)
    async with Runtime(tools=world.tools(), model=Scripted(replies), budgets=budgets, state=tmp_path / "s") as one:
        task = asyncio.ensure_future(one.run("Go", session="s"))
        while world.effects["add"] < 2:
            await asyncio.sleep(0)
        one.pause("s")
        out = await task
        assert (out.status, out.limit) == ("stopped", "")
        asked = (await one.state("s")).counts.turn.tokens
    async with Runtime(tools=world.tools(), model=Scripted(replies), budgets=budgets, state=tmp_path / "s") as other:
        out = await other.resume("s")
        assert out.reason == "the turn used 500 of 450 tokens; resume to allow as many again"
        assert 200 <= asked < 500


async def test_no_clock_grants_anew(world):
    """A wait by which a worker would go on is over when a budget ends the run: only a person resumes."""
    clock = FakeClock()
    limits = Limits(retry=Retry(base=100, cap=100), patience=0.5)

    class Failing(Scripted):
        down = True

        async def reply(self, request, on_delta=None):
            if self.down and len(request.messages) > 1:
                raise ModelUnavailable("busy", retryable=True)
            return await super().reply(request, on_delta)

    model = Failing(many(3))
    async with Runtime(
        tools=world.tools(), model=model, clock=clock, limits=limits, budgets=turn(tokens=50_000)
    ) as runtime:
        runtime.parts.draw = lambda: 1.0
        assert (await runtime.run("Go", session="s")).status == "waiting"
        assert await runtime.parts.ledger.waits("s")
        runtime.parts.budgets = turn(tokens=50)
        out = await runtime.resume("s")
        assert (out.status, out.limit) == ("stopped", "turn.tokens")
        assert not await runtime.parts.ledger.waits("s")


@pytest.mark.parametrize("name", ["tokens", "money", "log_bytes", "blob_bytes"])
def test_a_turn_with_nothing_at_all_is_refused_where_it_is_set(name):
    """It would ask the model once and end, and a resume would do the same."""
    with pytest.raises(ValueError, match=f"{name} of a turn is more than 0"):
        Budget(**{name: 0})
    assert Budget(calls=0, searches=0, wakeups=0)
    assert SessionBudget(**{name: 0}), "which forbids to ask at all, and says so"


@pytest.mark.parametrize(
    ("name", "of", "used", "said"),
    [
        ("turn.calls", 1, 1, "1 of 1 call"),
        ("turn.calls", 3, 1, "1 of 3 calls"),
        ("session.log_bytes", None, 1, "1 byte of log"),
        ("turn.searches", 1, 2, "2 of 1 searches"),
        ("turn.wakeups", None, 2, "2 wake-ups"),
        ("turn.money", 1.0, 1.0, "$1.00 of $1.00"),
    ],
)
def test_one_is_one(name, of, used, said):
    assert Use(name=name, used=used, of=of).amount == said
