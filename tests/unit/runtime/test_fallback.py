"""Something else answers for a tool that fails, and says so (RESI-05)."""

from __future__ import annotations

import os

import pytest

from callslip import Context, Runtime, ToolFailed, tool
from callslip.answering.question import question
from callslip.core.breaker import BreakerRules
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.instead import Fallback, Instead, disclosure
from callslip.core.result import Effect, Status
from callslip.core.retry import Retry
from callslip.core.wait import WaitKind
from callslip.errors import LedgerUnavailable, ToolDefinitionError
from callslip.ports.trust import Identity
from callslip.runtime.parts import Limits
from callslip.sessions.erase import erase_session
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RESI-05")]

ONCE = Limits(retry=Retry(attempts=1), poll=0.01)


class World:
    """Two ways to pay and two to look; what fails is said by the test."""

    def __init__(self):
        self.fails = {"pay", "look"}
        self.error = ToolFailed("The bank is closed.", code="closed", transient=True)
        self.done = []
        self.keys = []

    def end(self, name, context):
        self.keys.append((name, context.idempotency_key))
        if name in self.fails:
            raise self.error
        self.done.append(name)
        return {"by": name}

    def tools(self, *, cached=None, backup=None, **pay):
        world = self

        @tool(risk="write", local_effect=True, quiet=0, **{"fallback": "pay_slowly", **pay})
        async def pay(cents: int, context: Context) -> dict:
            """Pay."""
            return world.end("pay", context)

        @tool(risk="write", deferred=True, callable_from=(), local_effect=True, quiet=0, **(backup or {}))
        async def pay_slowly(cents: int, context: Context) -> dict:
            """Pay by letter."""
            return world.end("pay_slowly", context)

        @tool(risk="read", cached_fallback=cached)
        async def look(what: str, context: Context) -> dict:
            """Look."""
            return {**world.end("look", context), "what": what}

        return [pay, pay_slowly, look]


@pytest.fixture
def world():
    return World()


def opened(world, *, policy=None, limits=ONCE, clock=None, breakers=None, state=None, **declared):
    return Runtime(
        tools=world.tools(**declared), policy=policy or {"write": "allow"}, limits=limits, state=state,
        clock=clock or FakeClock(auto=1), breakers=breakers or BreakerRules(least=5),
    )  # fmt: skip


async def call(runtime, name="pay", step="1", session="s", **arguments):
    arguments = arguments or {"cents": 5}
    return await runtime.dispatch([{"name": name, "input": arguments}], session=session, step=step)


async def events(runtime, *kinds, session="s"):
    log = await runtime.parts.ledger.read(session)
    return [one.record.event for one in log if isinstance(one.record.event, kinds)]


class TestAnotherTool:
    async def test_it_answers_the_same_call_and_says_so(self, world):
        async with opened(world) as runtime:
            batch = await call(runtime)
            (outcome,) = batch.results
            assert (outcome.status, outcome.effect, outcome.tool) == (Status.SUCCESS, Effect.DONE, "pay")
            assert outcome.result.structured == {"by": "pay_slowly"}
            assert outcome.fallback == Fallback(source="pay_slowly", of="pay", why="closed")
            text = batch.texts[0].content
            assert text.startswith("Answered by pay_slowly because pay failed (closed). Say so to the user.\n")
            assert world.done == ["pay_slowly"]
            first, second = await events(runtime, ToolDispatch)
            (failed,) = await events(runtime, AttemptFailed)
            assert (first.tool, first.instead, first.attempt) == ("pay", None, 1)
            assert (second.tool, second.instead.of, second.instead.why, second.attempt) == (
                "pay_slowly",
                "pay",
                "closed",
                2,
            )
            assert (failed.instead, failed.effect) == (second.instead, Effect.NONE)
            assert len({key for _, key in world.keys}) == 2, "it must not be taken for a repeat"

    async def test_only_once_the_tool_itself_has_been_tried_often_enough(self, world):
        async with opened(world, limits=Limits(retry=Retry(attempts=3, base=0.1), poll=0.01)) as runtime:
            (outcome,) = (await call(runtime)).results
            assert outcome.fallback.source == "pay_slowly"
            assert [name for name, _ in world.keys] == ["pay", "pay", "pay", "pay_slowly"]

    async def test_while_the_tool_is_left_alone(self, world):
        async with opened(world) as runtime:
            for step in range(5):
                await call(runtime, step=str(step))
            (outcome,) = (await call(runtime, step="open")).results
            assert outcome.fallback == Fallback(source="pay_slowly", of="pay", why="breaker_open")
            assert [name for name, _ in world.keys][-1:] == ["pay_slowly"]
            assert [name for name, _ in world.keys].count("pay") == 5

    @pytest.mark.parametrize("effect", ["unknown", "done"])
    async def test_never_where_something_may_have_happened(self, world, effect):
        world.error = ToolFailed("The line broke.", code="broke", transient=True, effect=effect)
        async with opened(world) as runtime:
            await call(runtime)
            assert world.done == []
            assert len(await events(runtime, ToolDispatch)) == 1

    async def test_never_for_what_the_tool_says_of_the_call(self, world):
        world.error = ToolFailed("Not enough money.", code="no_money")
        async with opened(world) as runtime:
            (outcome,) = (await call(runtime)).results
            assert (outcome.error_code, outcome.fallback, world.done) == ("no_money", None, [])

    async def test_it_needs_an_approval_of_its_own(self, world):
        async with opened(world, policy={"tool.pay_slowly": "ask", "write": "allow"}) as runtime:
            (wait,) = (await call(runtime)).waits
            assert wait.kind is WaitKind.APPROVAL
            (asked,) = await events(runtime, ApprovalRequested)
            assert (asked.tool, asked.instead.of) == ("pay_slowly", "pay")
            (told,) = await runtime.waits()
            assert (told.tool, told.instead) == (wait.tool, wait.instead) == ("pay_slowly", asked.instead)
            shown = await question(runtime, wait.id)
            assert shown.instead == Instead(tool="pay_slowly", of="pay", why="closed")
            assert world.done == []
            world.fails = set()
            await runtime.approve(wait.id, note="fine")
            (outcome,) = (await call(runtime)).results
            assert (outcome.fallback.source, world.done) == ("pay_slowly", ["pay_slowly"])

    async def test_an_approval_of_the_tool_is_none_of_what_stands_in(self, world):
        async with opened(world, policy={"write": "ask"}) as runtime:
            (wait,) = (await call(runtime)).waits
            await runtime.approve(wait.id, note="fine")
            (second,) = (await call(runtime)).waits
            assert second.id != wait.id
            assert world.done == []
            await runtime.deny(second.id, reason="not by letter")
            (outcome,) = (await call(runtime)).results
            assert (outcome.status, outcome.error_code, world.done) == (Status.RETRYABLE_ERROR, "closed", [])
            assert "Its fallback pay_slowly was refused (approval_denied)." in outcome.error_message

    async def test_asked_while_the_tool_is_left_alone_it_stays_what_was_asked(self, world):
        async with opened(world, policy={"tool.pay_slowly": "ask", "write": "allow"}) as runtime:
            for step in range(5):
                (wait,) = (await call(runtime, step=str(step), session=f"s{step}")).waits
            (wait,) = (await call(runtime)).waits
            runtime.parts.breakers.reset(None)
            world.fails = set()
            await runtime.approve(wait.id, note="fine")
            (outcome,) = (await call(runtime)).results
            assert (outcome.fallback.why, world.done) == ("breaker_open", ["pay_slowly"])

    async def test_one_that_the_policy_denies_leaves_the_failure_as_it_was(self, world):
        async with opened(world, policy={"tool.pay_slowly": "deny", "write": "allow"}) as runtime:
            (outcome,) = (await call(runtime)).results
            assert (outcome.error_code, outcome.fallback) == ("closed", None)
            (response,) = await events(runtime, FunctionResponse)
            assert response.notes == ("its fallback pay_slowly can't answer: policy_denied",)

    async def test_one_that_fails_too_says_for_whom_and_nothing_stands_in_for_it(self, world):
        world.fails.add("pay_slowly")
        async with opened(world) as runtime:
            batch = await call(runtime)
            (outcome,) = batch.results
            assert (outcome.status, outcome.error_code) == (Status.RETRYABLE_ERROR, "closed")
            assert outcome.fallback == Fallback(source="pay_slowly", of="pay", why="closed")
            first, error = batch.texts[0].content.split("\n", 1)
            assert (
                first == "pay failed (closed), pay_slowly was tried in its place, and failed too. Say so to the user."
            )
            assert error.startswith('{"status":')
            assert len(await events(runtime, ToolDispatch)) == 2

    async def test_one_whose_outcome_is_unknown_is_judged_as_what_it_is(self, world):
        async with opened(world, backup={"recovery": "never"}) as runtime:
            world.fails = {"pay"}
            end = world.end

            def lost(name, context):
                result = end(name, context)
                if name == "pay_slowly":
                    raise RuntimeError("lost")
                return result

            world.end = lost
            batch = await call(runtime)
            (wait,) = batch.waits
            assert wait.kind is WaitKind.PARKED
            (told,) = await runtime.waits()
            assert (told.tool, told.instead) == (wait.tool, wait.instead)
            assert (wait.tool, wait.instead.of, wait.instead.why) == ("pay_slowly", "pay", "closed")
            await runtime.resolve(wait.id, "did_not_happen", reason="asked the post")
            world.end = end
            (outcome,) = (await call(runtime)).results
            assert outcome.fallback.source == "pay_slowly"
            assert [t1.tool for t1 in await events(runtime, ToolDispatch)] == ["pay", "pay_slowly", "pay_slowly"]

    @pytest.mark.parametrize(
        ("verdict", "said"),
        [
            ("happened", "Answered by pay_slowly because pay failed (closed)."),
            ("give_up", "pay failed (closed), pay_slowly was tried in its place, and nobody knows what came of that."),
        ],
    )
    async def test_so_it_is_said_where_a_person_has_found_out(self, world, verdict, said):
        async with opened(world, backup={"recovery": "never"}) as runtime:
            end = world.end

            def lost(name, context):
                if name == "pay_slowly":
                    raise RuntimeError("lost")
                return end(name, context)

            world.end = lost
            (wait,) = (await call(runtime)).waits
            await runtime.resolve(wait.id, verdict, reason="asked the post")
            batch = await call(runtime)
            assert batch.results[0].fallback == Fallback(source="pay_slowly", of="pay", why="closed")
            assert batch.texts[0].content.startswith(said)

    async def test_a_crash_between_the_two_goes_on_with_what_stands_in(self, world, tmp_path):
        """The log as a crash leaves it right after the failure was recorded."""
        state = tmp_path / "state"
        async with opened(world, state=state) as runtime:
            append = runtime.parts.ledger.append

            async def crashing(session, drafts, **more):
                if any(isinstance(one.record.event, ToolDispatch) and one.record.event.instead for one in drafts):
                    raise LedgerUnavailable("The power is gone.")
                return await append(session, drafts, **more)

            runtime.parts.ledger.append = crashing
            with pytest.raises(LedgerUnavailable):
                await call(runtime)
            records = await runtime.parts.ledger.read("s")
        assert records[-1].record.event.instead.tool == "pay_slowly"
        world.fails = set()
        async with opened(world, state=state) as runtime:
            (outcome,) = (await call(runtime)).results
            assert outcome.fallback == Fallback(source="pay_slowly", of="pay", why="closed")
        assert world.done == ["pay_slowly"]

    async def test_it_is_what_stood_in_that_has_succeeded(self, world):
        async with opened(world) as runtime:
            await call(runtime)
            assert (await runtime.state("s")).succeeded == {"pay_slowly"}


@pytest.mark.parametrize(
    ("declared", "backup", "why"),
    [
        ({"fallback": "nobody"}, {}, "no tool of that name"),
        ({"fallback": "pay"}, {}, "the tool itself"),
        ({"fallback": "pay_slowly", "risk": "read"}, {}, "may do more"),
        ({"fallback": "pay_slowly"}, {"client_owned": True}, "answered by a client"),
    ],
)
def test_what_cant_stand_in(declared, backup, why):
    @tool(**{"risk": "write", **declared})
    async def pay() -> None:
        """Pay."""

    @tool(risk="write", **backup)
    async def pay_slowly() -> None:
        """Pay by letter."""

    with pytest.raises(ToolDefinitionError, match=why):
        _ = Runtime(tools=[pay, pay_slowly]).catalogue


@pytest.mark.parametrize(
    ("declared", "why"), [({"risk": "write"}, "only read"), ({"risk": "read", "cached_fallback": 0}, "positive")]
)
def test_what_cant_be_kept(declared, why):
    with pytest.raises(ToolDefinitionError, match=why):

        @tool(**{"cached_fallback": 5, **declared})
        async def look() -> None:
            """Look."""


class TestAnEarlierAnswer:
    async def look(self, runtime, step, what="a", session="s"):
        batch = await call(runtime, "look", step=step, session=session, what=what)
        return batch.results[0], batch.texts[0].content

    @pytest.fixture
    def clock(self):
        return FakeClock(auto=1)

    async def test_it_is_given_with_its_age(self, world, clock):
        async with opened(world, clock=clock, cached=3600) as runtime:
            world.fails = set()
            await self.look(runtime, "1")
            world.fails = {"look"}
            clock.advance(720)
            outcome, text = await self.look(runtime, "2")
            assert (outcome.status, outcome.effect) == (Status.SUCCESS, Effect.NONE)
            assert outcome.result.structured == {"by": "look", "what": "a"}
            assert (outcome.fallback.source, outcome.fallback.why) == ("cache", "closed")
            assert 720_000 <= outcome.fallback.age_ms < 722_000
            assert text.startswith(
                "This is an earlier answer of look, 12 minutes old, because look fails now (closed)."
            )
            assert world.done == ["look"]

    async def test_while_the_tool_is_left_alone_it_needs_no_dispatch(self, world, clock):
        async with opened(world, clock=clock, cached=3600) as runtime:
            world.fails = set()
            await self.look(runtime, "good")
            world.fails = {"look"}
            for step in range(8):
                outcome, _ = await self.look(runtime, str(step))
            assert (outcome.ok, outcome.fallback.why, outcome.attempt) == (True, "breaker_open", None)
            last = (await events(runtime, FunctionResponse))[-1]
            assert (last.lane, last.effect) == ("refused", Effect.NONE)
            dispatched = await events(runtime, ToolDispatch)
            assert len(dispatched) < 9

    async def test_not_to_other_arguments_nor_when_it_is_too_old(self, world, clock):
        async with opened(world, clock=clock, cached=60) as runtime:
            world.fails = set()
            await self.look(runtime, "1")
            world.fails = {"look"}
            assert not (await self.look(runtime, "2", what="b"))[0].ok
            clock.advance(61)
            assert not (await self.look(runtime, "3"))[0].ok

    async def test_an_answer_out_of_the_store_is_no_new_one(self, world, clock):
        async with opened(world, clock=clock, cached=60) as runtime:
            world.fails = set()
            await self.look(runtime, "1")
            world.fails = {"look"}
            clock.advance(40)
            assert (await self.look(runtime, "2"))[0].ok
            clock.advance(40)
            assert not (await self.look(runtime, "3"))[0].ok

    async def test_not_unless_it_is_declared(self, world):
        async with opened(world) as runtime:
            world.fails = set()
            await self.look(runtime, "1")
            world.fails = {"look"}
            outcome, _ = await self.look(runtime, "2")
            assert (outcome.error_code, outcome.fallback) == ("closed", None)

    async def test_over_sessions_and_restarts(self, world, clock, tmp_path):
        async with opened(world, clock=clock, cached=3600, state=tmp_path / "state") as runtime:
            world.fails = set()
            await self.look(runtime, "1", session="one")
        async with opened(world, clock=clock, cached=3600, state=tmp_path / "state") as runtime:
            world.fails = {"look"}
            outcome, _ = await self.look(runtime, "1", session="two")
            assert outcome.fallback.source == "cache"

    async def test_what_was_erased_is_gone(self, world, clock, tmp_path):
        async with opened(world, clock=clock, cached=3600, state=tmp_path / "state") as runtime:
            world.fails = set()
            await self.look(runtime, "1", session="one", what="x" * 9000)
            world.fails = {"look"}
            await runtime.release("one")
            for file in (tmp_path / "state" / "blobs").rglob("*"):
                os.utime(file, (0, 0))  # what is young is not erased
            await erase_session(runtime.parts, "one", reason="asked", by=None, actor="me")
            outcome, _ = await self.look(runtime, "1", session="two", what="x" * 9000)
            assert not outcome.ok

    async def test_another_requester_is_not_told_what_one_was(self, world, clock, tmp_path):
        async with opened(world, clock=clock, cached=3600) as runtime:
            world.fails = set()
            await self.look(runtime, "1", session="one")
            world.fails = {"look"}
            runtime.settings.identity = Identity(name="somebody else", uid=2)
            outcome, _ = await self.look(runtime, "1", session="two")
            assert not outcome.ok


@pytest.mark.parametrize(
    ("ended", "said"), [("badly", "and failed too"), ("unknown", "and nobody knows what came of that")]
)
def test_what_is_said_of_one_that_did_not_do_better(ended, said):
    words = disclosure(Fallback(source="letter", of="pay", why="closed"), ended=ended)
    assert words == f"pay failed (closed), letter was tried in its place, {said}. Say so to the user."


@pytest.mark.parametrize(
    ("age", "said"),
    [
        (0, "less than a second"),
        (999, "less than a second"),
        (1000, "1 second"),
        (59_999, "59 seconds"),
        (60_000, "1 minute"),
        (7_200_000, "2 hours"),
        (200_000_000, "2 days"),
    ],
)
def test_how_old_an_answer_is_said_to_be(age, said):
    assert f", {said} old," in disclosure(Fallback(source="cache", of="look", why="closed", age_ms=age))
