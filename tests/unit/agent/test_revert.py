"""A turn is undone: in reverse order, through every gate, once (RECO-07)."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from callslip import Context, Runtime, ToolFailed, tool
from callslip.core.event import draft
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.revert_started import RevertStarted
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.message import Notice
from callslip.core.payload import inline
from callslip.core.principal import Principal, Role
from callslip.core.standing import Enrolled
from callslip.core.wait import WaitKind
from callslip.errors import Busy, NotAuthorised, NotFound, ToolDefinitionError, UsageError
from callslip.ports.trust import Identity
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.sessions.acquire import acquire
from callslip.testing.clock import FakeClock
from callslip.trust.keys import PrivateKey
from callslip.worker import Worker

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RECO-07")]


class Shop:
    """What was done, and undone."""

    def __init__(self) -> None:
        self.did: list[tuple[str, object]] = []
        self.undoes: object = lambda arguments, result: {"receipt": result["receipt"]}
        self.refund_says: BaseException | None = None
        self.during_refund = None

    def tools(self, **refund):
        shop = self
        refund = {"risk": "write", "recovery": "never", "callable_from": (), "local_effect": True} | refund

        @tool(
            risk="write",
            local_effect=True,
            compensation="refund",
            compensate_with=lambda arguments, result: shop.undoes(arguments, result),  # noqa: PLW0108 - a test changes it
        )
        async def pay(cents: int) -> dict:
            """Pay."""
            shop.did.append(("pay", cents))
            if cents == 13:
                raise ToolFailed("Paid, and the receipt is lost.", code="no_receipt", effect="done")
            if cents == 14:
                raise ToolFailed("No money.", code="no_money")
            if cents == 15:
                raise RuntimeError("who knows")
            return {"receipt": f"r{cents}"}

        @tool(**refund)
        async def refund(receipt: str, context: Context) -> str:
            """Give it back."""
            if shop.during_refund is not None:
                await shop.during_refund()
            shop.did.append(("refund", receipt))
            if shop.refund_says is not None:
                raise shop.refund_says
            return f"refunded {receipt}"

        @tool(risk="write", local_effect=True, compensation="lock")
        async def unlock(door: str) -> str:
            """Unlock a door."""
            shop.did.append(("unlock", door))
            return "open"

        @tool(risk="write", recovery="idempotent", local_effect=True)
        async def lock(door: str) -> str:
            """Lock a door."""
            shop.did.append(("lock", door))
            return "locked"

        @tool(risk="write", local_effect=True)
        async def shout(text: str) -> str:
            """What is said can't be unsaid."""
            shop.did.append(("shout", text))
            return "heard"

        @tool(risk="read")
        async def look() -> str:
            """Look."""
            return "nothing"

        return [pay, refund, unlock, lock, shout, look]


@pytest.fixture
def shop():
    return Shop()


@pytest.fixture
def clock():
    return FakeClock(auto=60)


def pays(*cents):
    return calling(*[("pay", {"cents": one}) for one in cents])


def runtime_of(shop, *replies, clock=None, refund=None, **settings):
    settings.setdefault("limits", Limits(poll=0.01, grace=0.05))
    tools = shop.tools(**refund or {})
    return Runtime(tools=tools, model=Scripted(replies), clock=clock or FakeClock(auto=60), **settings)


async def log(runtime, *kinds):
    return [r.record.event for r in await runtime.parts.ledger.read("s") if isinstance(r.record.event, kinds)]


def statuses(reverted):
    return [(one.tool, one.status) for one in reverted.calls]


class TestItUndoes:
    async def test_the_last_effect_first_and_says_what_stays(self, shop):
        replies = (
            calling(("unlock", {"door": "front"}), ("shout", {"text": "hello"}), ("look", {})),
            pays(100),
            pays(200),
            "Done.",
        )
        async with runtime_of(shop, *replies) as runtime:
            await runtime.run("Go.", session="s")
            shop.did.clear()
            done = await runtime.revert("s")
            assert shop.did == [("refund", "r200"), ("refund", "r100"), ("lock", "front")]
            assert done.status == "reverted"
            assert statuses(done)[:2] == [("pay", "undone"), ("pay", "undone")]
            assert sorted(statuses(done)[2:]) == [("shout", "kept"), ("unlock", "undone")]
            (kept,) = done.not_undone
            assert "declares nothing that undoes it" in kept.reason
            assert [(one.by, one.given) for one in done.undone] == [
                ("refund", {"receipt": "r200"}), ("refund", {"receipt": "r100"}), ("lock", {"door": "front"}),
            ]  # fmt: skip

    async def test_one_by_one(self, shop):
        running = 0

        async def alone():
            nonlocal running
            running += 1
            assert running == 1
            await asyncio.sleep(0)
            running -= 1

        shop.during_refund = alone
        async with runtime_of(shop, pays(1, 2, 3), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            assert len((await runtime.revert("s")).undone) == 3

    async def test_only_the_turn_that_is_meant(self, shop):
        async with runtime_of(shop, pays(1), "One.", pays(2), "Two.") as runtime:
            await runtime.run("Go.", session="s")
            await runtime.run("Again.", session="s")
            shop.did.clear()
            assert statuses(await runtime.revert("s", turn=1)) == [("pay", "undone")]
            assert shop.did == [("refund", "r1")]
            assert statuses(await runtime.revert("s")) == [("pay", "undone")]
            assert shop.did == [("refund", "r1"), ("refund", "r2")]

    async def test_twice_does_nothing_the_second_time(self, shop):
        async with runtime_of(shop, pays(1), "One.") as runtime:
            await runtime.run("Go.", session="s")
            await runtime.revert("s")
            shop.did.clear()
            again = await runtime.revert("s")
            assert (again.status, statuses(again)) == ("reverted", [("pay", "undone")])
            assert not shop.did
            assert len(await log(runtime, RevertStarted)) == 1

    async def test_what_had_no_effect_or_only_read_is_no_part_of_it(self, shop):
        async with runtime_of(shop, calling(("look", {}), ("pay", {"cents": 14}), ("pay", {})), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            shop.did.clear()
            assert (await runtime.revert("s")).calls == ()
            assert not shop.did

    async def test_what_it_would_do_can_be_seen_before(self, shop):
        async with runtime_of(shop, pays(1), "One.") as runtime:
            await runtime.run("Go.", session="s")
            before = len(await runtime.parts.ledger.read("s"))
            (one,) = await runtime.revert_plan("s")
            assert (one.status, one.tool, one.arguments, one.by, one.given) == (
                "to_do", "pay", {"cents": 1}, "refund", {"receipt": "r1"},
            )  # fmt: skip
            assert len(await runtime.parts.ledger.read("s")) == before

    async def test_final_arguments_count_and_not_the_ones_a_person_changed(self, shop):
        async with runtime_of(shop, pays(100), "Done.", policy={"tool.pay": "ask"}) as runtime:
            (wait,) = (await runtime.run("Go.", session="s")).waits
            await runtime.edit(wait.id, {"cents": 50})
            await runtime.resume("s")
            shop.undoes = lambda arguments, result: {"receipt": f"of {arguments['cents']}"}
            await runtime.revert("s")
            assert shop.did[-1] == ("refund", "of 50")

    async def test_under_somebody_elses_loop_it_is_the_whole_session(self, shop):
        async with runtime_of(shop) as runtime:
            for step, cents in (("a", 1), ("b", 2)):
                await runtime.dispatch([{"name": "pay", "arguments": {"cents": cents}}], session="s", step=step)
            assert [one.given for one in (await runtime.revert("s")).undone] == [{"receipt": "r2"}, {"receipt": "r1"}]
            batch = await runtime.dispatch([{"name": "pay", "arguments": {"cents": 3}}], session="s", step="c")
            assert batch.results[0].ok
            again = await runtime.dispatch([{"name": "pay", "arguments": {"cents": 1}}], session="s", step="a")
            assert again.results[0].result.structured == {"receipt": "r1"}


class TestTheModelKnows:
    async def test_its_next_request_says_what_was_undone(self, shop):
        async with runtime_of(shop, pays(1, 2), "Paid.", "I see.") as runtime:
            await runtime.run("Go.", session="s")
            await runtime.revert("s")
            await runtime.run("What now?", session="s")
            *before, notice, said = runtime.settings.model.requests[-1].messages
            assert isinstance(notice, Notice)
            assert notice.text.splitlines()[1:] == [
                '- pay {"cents": 2}: undone by refund {"receipt": "r2"}',
                '- pay {"cents": 1}: undone by refund {"receipt": "r1"}',
            ]
            assert said.text == "What now?"
            assert not any(isinstance(one, Notice) for one in before)

    async def test_also_what_was_not(self, shop):
        async with runtime_of(shop, pays(1), "Paid.", "I see.") as runtime:
            await runtime.run("Go.", session="s")
            shop.refund_says = ToolFailed("The shop is closed.", code="closed")
            await runtime.revert("s")
            await runtime.run("What now?", session="s")
            assert '"error_code": "closed"' in runtime.settings.model.requests[-1].messages[-2].text

    async def test_and_after_a_checkpoint(self, shop, tmp_path):
        from callslip.sessions.checkpoint import save_state

        async with runtime_of(shop, pays(1), "Paid.", state=tmp_path / "s") as runtime:
            await runtime.run("Go.", session="s")
            await runtime.revert("s")
            await save_state(runtime.parts, await runtime.state("s"))
        async with runtime_of(shop, "", "", "I see.", state=tmp_path / "s") as runtime:
            await runtime.run("What now?", session="s")
            assert any(isinstance(one, Notice) for one in runtime.settings.model.requests[-1].messages)
            assert (await runtime.revert("s", turn=1)).undone


class TestTheTurnStaysWhatItWas:
    async def test_turns_and_steps_go_on_as_if_nothing_had_been(self, shop):
        async with runtime_of(shop, pays(1), "One.", pays(2), "Two.") as runtime:
            await runtime.run("Go.", session="s")
            before = await runtime.state("s")
            await runtime.revert("s")
            after = await runtime.state("s")
            assert (after.turn, after.steps_in_turn, after.turn_open) == (before.turn, before.steps_in_turn, False)
            assert (await runtime.run("Again.", session="s")).text == "Two."
            steps = [event.step for event in await log(runtime, ModelRequested) if event.model != "revert"]
            assert steps == ["1.1", "1.2", "2.1", "2.2"]

    async def test_the_model_is_not_asked_and_need_not_be_there(self, shop, tmp_path):
        async with runtime_of(shop, pays(1), "One.", state=tmp_path / "s") as runtime:
            await runtime.run("Go.", session="s")
        async with Runtime(tools=shop.tools(), state=tmp_path / "s") as runtime:
            assert (await runtime.revert("s")).status == "reverted"

    async def test_words_that_come_meanwhile_are_neither_lost_nor_in_the_way(self, shop):
        async with runtime_of(shop, pays(1, 2), "One.", "Two.") as runtime:
            await runtime.run("Go.", session="s")

            async def say():
                shop.during_refund = None
                await runtime.send("s", "Wait!", steer=True)

            shop.during_refund = say
            done = await runtime.revert("s")
            assert len(done.undone) == 2, "a steer is for the model, and takes nothing back from who reverts"
            (wait,) = await runtime.waits()
            assert wait.kind is WaitKind.TIME
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 1
            assert runtime.settings.model.requests[-1].messages[-1].text == "Wait!"
            assert not await runtime.waits()

    async def test_a_stop_ends_it_before_the_next_call(self, shop):
        async with runtime_of(shop, pays(1, 2), "One.") as runtime:
            await runtime.run("Go.", session="s")

            async def stop():
                shop.during_refund = None
                await runtime.stop("s")

            shop.during_refund = stop
            done = await runtime.revert("s")
            assert (done.status, statuses(done)) == ("failed", [("pay", "undone"), ("pay", "failed")])
            assert (await log(runtime, RunEnded))[-1].status == "stopped"
            assert statuses(await runtime.revert("s")) == [("pay", "undone"), ("pay", "undone")]
            assert [what for what, _ in shop.did].count("refund") == 2


class TestThroughTheGates:
    async def test_policy_denies_and_the_rest_stays(self, shop):
        async with runtime_of(shop, pays(1, 2), "Done.", policy={"tool.refund": "deny"}) as runtime:
            await runtime.run("Go.", session="s")
            done = await runtime.revert("s")
            assert (done.status, statuses(done)) == ("failed", [("pay", "failed"), ("pay", "to_do")])
            assert "not permitted" in done.reason
            assert ("refund", "r2") not in shop.did

    async def test_arguments_are_checked(self, shop):
        shop.undoes = lambda arguments, result: {"receipts": 1}
        async with runtime_of(shop, pays(1), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            assert "receipt" in (await runtime.revert("s")).reason

    async def test_an_approval_is_waited_for_and_asking_again_goes_on(self, shop):
        async with runtime_of(shop, pays(1, 2), "Done.", policy={"tool.refund": "ask"}) as runtime:
            await runtime.run("Go.", session="s")
            shop.did.clear()
            done = await runtime.revert("s")
            assert (done.status, statuses(done)) == ("waiting", [("pay", "waits"), ("pay", "to_do")])
            (wait,) = done.waits
            assert (wait.kind, wait.tool, wait.arguments) == (WaitKind.APPROVAL, "refund", {"receipt": "r2"})
            assert (await runtime.revert("s")).status == "waiting"
            assert len(await log(runtime, ApprovalRequested)) == 1
            await runtime.approve(wait.id)
            done = await runtime.revert("s")
            assert (done.status, shop.did) == ("waiting", [("refund", "r2")])
            await runtime.approve(done.waits[0].id)
            assert (await runtime.revert("s")).status == "reverted"
            assert shop.did == [("refund", "r2"), ("refund", "r1")]

    async def test_what_was_approved_is_done_by_whoever_drives_the_session(self, shop):
        async with runtime_of(shop, pays(1), "Done.", "More.", policy={"tool.refund": "ask"}) as runtime:
            await runtime.run("Go.", session="s")
            done = await runtime.revert("s")
            await runtime.approve(done.waits[0].id)
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 1
            assert shop.did[-1] == ("refund", "r1")
            assert statuses(await runtime.revert("s")) == [("pay", "undone")]
            assert (await runtime.run("And?", session="s")).text == "More."

    async def test_a_denied_one_may_be_asked_about_again(self, shop):
        async with runtime_of(shop, pays(1), "Done.", policy={"tool.refund": "ask"}) as runtime:
            await runtime.run("Go.", session="s")
            done = await runtime.revert("s")
            await runtime.deny(done.waits[0].id, reason="not today")
            done = await runtime.revert("s")
            assert done.status == "failed"
            assert "not today" in done.reason
            assert (await runtime.revert("s")).status == "waiting"
            steps = [event.step for event in await log(runtime, FunctionCall) if event.undoes]
            assert [step.rsplit(".", 1)[1] for step in steps] == ["1", "2"]

    async def test_the_model_cant_call_what_only_undoes(self, shop):
        async with runtime_of(shop, calling(("refund", {"receipt": "r1"})), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            assert "refund" not in [view.name for view in runtime.settings.model.requests[0].tools]
            assert not shop.did


class TestWhatDoesNotWork:
    async def test_a_failure_without_effect_ends_it_and_may_be_tried_again(self, shop):
        async with runtime_of(shop, pays(1, 2), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            shop.did.clear()
            shop.refund_says = ToolFailed("The shop is closed.", code="closed")
            done = await runtime.revert("s")
            assert (done.status, statuses(done)) == ("failed", [("pay", "failed"), ("pay", "to_do")])
            assert "The shop is closed." in done.reason
            shop.refund_says = None
            assert (await runtime.revert("s")).status == "reverted"
            assert shop.did == [("refund", "r2"), ("refund", "r2"), ("refund", "r1")]

    async def test_one_that_took_effect_all_the_same_is_not_done_again(self, shop):
        async with runtime_of(shop, pays(1, 2), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            shop.did.clear()
            shop.refund_says = ToolFailed("Refunded, and the printer is out of paper.", code="paper", effect="done")
            assert (await runtime.revert("s")).status == "reverted"
            assert shop.did == [("refund", "r2"), ("refund", "r1")]

    async def test_an_unclear_one_is_parked_and_what_a_person_says_holds(self, shop):
        async with runtime_of(shop, pays(1, 2), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            shop.refund_says = RuntimeError("lost")
            done = await runtime.revert("s")
            assert (done.status, done.waits[0].kind) == ("waiting", WaitKind.PARKED)
            await runtime.resolve(done.waits[0].id, "give_up", reason="nobody knows")
            shop.refund_says = None
            done = await runtime.revert("s")
            assert (done.status, statuses(done)) == ("failed", [("pay", "unknown"), ("pay", "to_do")])
            assert "nobody knows whether refund has undone pay" in done.reason
            done = await runtime.revert("s")
            assert (done.status, statuses(done)) == ("reverted", [("pay", "unknown"), ("pay", "undone")])
            assert [what for what in shop.did if what[0] == "refund"] == [("refund", "r2"), ("refund", "r1")]

    async def test_a_call_that_failed_after_its_effect_or_is_unclear_for_good_is_named(self, shop):
        async with runtime_of(shop, pays(13, 15, 1), "Done.") as runtime:
            (wait,) = (await runtime.run("Go.", session="s")).waits
            await runtime.resolve(wait.id, "give_up", reason="nobody knows")
            await runtime.resume("s")
            done = await runtime.revert("s")
            kept = {one.arguments["cents"]: one.reason for one in done.not_undone}
            assert "left no result" in kept[13]
            assert "nobody knows" in kept[15]
            assert [one.arguments for one in done.undone] == [{"cents": 1}]

    @pytest.mark.parametrize("gives", [lambda a, r: r["no such key"], lambda a, r: 7])
    async def test_arguments_that_cant_be_told_end_it(self, shop, gives):
        async with runtime_of(shop, pays(1), pays(2), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            shop.undoes = lambda arguments, result: (
                gives(arguments, result) if arguments["cents"] == 1 else {"receipt": "x"}
            )
            done = await runtime.revert("s")
            assert (done.status, statuses(done)) == ("failed", [("pay", "undone"), ("pay", "failed")])
            assert "compensate_with failed" in done.reason

    async def test_a_tool_may_say_that_there_is_nothing_to_undo(self, shop):
        shop.undoes = lambda arguments, result: None
        async with runtime_of(shop, pays(1), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            (one,) = (await runtime.revert("s")).calls
            assert (one.status, one.reason) == ("kept", "there is nothing to undo, its tool says")

    async def test_a_tool_that_is_gone_says_nothing(self, shop, tmp_path):
        async with runtime_of(shop, pays(1), "Done.", state=tmp_path / "s") as runtime:
            await runtime.run("Go.", session="s")
        async with Runtime(tools=shop.tools()[2:], state=tmp_path / "s") as runtime:
            (one,) = (await runtime.revert("s")).calls
            assert (one.status, "not bound" in one.reason) == ("kept", True)

    def test_a_compensation_must_be_there(self, shop):
        with pytest.raises(ToolDefinitionError, match="undone by 'refund'"):
            assert Runtime(tools=shop.tools()[:1]).catalogue

    def test_and_be_named(self):
        with pytest.raises(ToolDefinitionError, match="needs a compensation"):

            @tool(compensate_with=lambda arguments, result: arguments)
            def act() -> None:
                """Act."""


class TestRefused:
    async def test_while_a_call_is_open(self, shop):
        async with runtime_of(shop, pays(1, 15), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            before = len(await runtime.parts.ledger.read("s"))
            for ask in (runtime.revert, runtime.revert_plan):
                with pytest.raises(UsageError, match="no outcome yet"):
                    await ask("s")
            assert len(await runtime.parts.ledger.read("s")) == before

    async def test_while_the_turn_is_open_or_words_are_unread(self, shop):
        async with runtime_of(shop, pays(1), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            await runtime.send("s", "And then…")
            with pytest.raises(UsageError, match="words to read"):
                await runtime.revert("s")
        async with runtime_of(shop, pays(1), limits=Limits(steps_per_turn=1)) as runtime:
            await runtime.run("Go.", session="s")
            with pytest.raises(UsageError, match="turn is not over"):
                await runtime.revert("s")
            await runtime.stop("s")
            await runtime.resume("s")
            assert (await runtime.revert("s")).undone

    async def test_while_another_turn_is_being_undone(self, shop):
        async with runtime_of(shop, pays(1), "One.", pays(2), "Two.", policy={"tool.refund": "ask"}) as runtime:
            await runtime.run("Go.", session="s")
            await runtime.run("Go on.", session="s")
            await runtime.revert("s", turn=1)
            with pytest.raises(UsageError, match="revert of turn 1"):
                await runtime.revert("s", turn=2)

    async def test_while_it_is_driven(self, shop):
        async with runtime_of(shop, pays(1), "Done.") as runtime:
            busy, go = asyncio.Event(), asyncio.Event()

            async def hold():
                busy.set()
                await go.wait()

            shop.during_refund = hold
            await runtime.run("Go.", session="s")
            going = asyncio.ensure_future(runtime.revert("s"))
            await busy.wait()
            with pytest.raises((Busy, UsageError)):
                await runtime.revert("s")
            go.set()
            assert (await going).undone

    async def test_in_another_workspace(self, shop, tmp_path):
        for name in ("one", "other"):
            (tmp_path / name).mkdir()
        async with runtime_of(shop, pays(1), "Done.", state=tmp_path / "s", workspace=tmp_path / "one") as runtime:
            await runtime.run("Go.", session="s")
        async with runtime_of(shop, state=tmp_path / "s", workspace=tmp_path / "other") as runtime:
            with pytest.raises(UsageError, match="not the workspace"):
                await runtime.revert("s")

    async def test_in_a_copy_that_may_lack_what_was_done_since(self, shop):
        async with runtime_of(shop, pays(1), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            (head,) = await runtime.parts.ledger.heads("s")
            wait = WaitOpened(wait_id="wait_copy", kind=WaitKind.COPY, reason="a copy")
            await runtime.parts.ledger.decide("s", [draft(wait, at=1, by="x", epoch=0, run="")], expected=head.seq)
            with pytest.raises(UsageError, match="is a copy"):
                await runtime.revert("s")

    async def test_what_is_not_there(self, shop):
        async with runtime_of(shop, "Hello.") as runtime:
            with pytest.raises(NotFound, match="no session"):
                await runtime.revert("s")
            await runtime.run("Hi.", session="s")
            for turn in (0, 2, -1):
                with pytest.raises(NotFound, match=f"no turn {turn}"):
                    await runtime.revert_plan("s", turn=turn)
                with pytest.raises(NotFound, match=f"no turn {turn}"):
                    await runtime.revert("s", turn=turn)


def enrol(runtime):
    made, root = {}, None
    for uid, (name, role) in enumerate((("olga", Role.OPERATOR), ("cara", Role.CALLER)), 10):
        key = PrivateKey.fresh()
        made[name] = Identity(name=name, uid=uid, signer=key)
        root = root or made[name]
        principal = Principal(name=name, roles=(role,), key=key.key, uid=uid)
        runtime.parts.trust.state(Enrolled(principal=principal), root)
    return made


@pytest.mark.requirement("APPR-08")
class TestWho:
    async def test_an_operator_where_keys_are_enrolled(self, shop):
        async with runtime_of(shop, pays(1), "Done.") as runtime:
            people = enrol(runtime)
            await runtime.run("Go.", session="s")
            before = len(await runtime.parts.ledger.read("s"))
            for nobody in (None, people["cara"]):
                with pytest.raises(NotAuthorised):
                    await runtime.revert("s", by=nobody)
            assert len(await runtime.parts.ledger.read("s")) == before
            await runtime.revert("s", by=people["olga"], reason="by mistake")
            (stated,) = await log(runtime, RevertStarted)
            assert (stated.actor, stated.proof.principal, stated.reason, stated.turn) == (
                "olga",
                "olga",
                "by mistake",
                1,
            )
            assert shop.did[-1] == ("refund", "r1")

    @pytest.mark.parametrize("signed", [False, True])
    async def test_a_statement_that_was_forged_undoes_nothing(self, shop, signed):
        """Whoever can write the file begins a run, states a revert and takes its call into the log."""
        async with runtime_of(shop, pays(1), "Done.") as runtime:
            people = enrol(runtime)
            await runtime.run("Go.", session="s")
            (paid,) = await log(runtime, FunctionCall)
            drive = await acquire(runtime.parts, "s", active=frozenset(), requester=runtime.identity())
            stated = RevertStarted(turn=1, actor="olga", prefix_seq=drive.state.seq)
            if signed:  # the positive control: the same, by who may
                stated = runtime._outsider.signed(
                    stated, by=people["olga"], session="s", wait_id="s", roles=(Role.OPERATOR,)
                )
            undoing = FunctionCall(
                call_id="call_x", step="revert.x", position=0, tool="refund",
                arguments=inline(b'{"receipt":"r1"}'), undoes=paid.call_id,
            )  # fmt: skip
            await drive.append(
                stated,
                ModelRequested(
                    step="revert.x", turn=1, model="revert", visible=runtime.parts.catalogue.visible(["refund"])
                ),
                ModelReplied(step="revert.x", text="", finish="calls", calls=1),
                undoing,
                RunEnded(status="waiting"),
            )
            await runtime.resume("s")
            assert (("refund", "r1") in shop.did) is signed
            last = (await log(runtime, FunctionResponse))[-1]
            assert last.error_code == (None if signed else "revert_unproven")

    async def test_a_statement_of_another_place_does_not_fit(self, shop):
        async with runtime_of(shop, pays(1), "Done.") as runtime:
            await runtime.run("Go.", session="s")
            await runtime.revert("s")
            (stated,) = await log(runtime, RevertStarted)
            from callslip.core import fold
            from callslip.errors import LogBroken

            state = await runtime.state("s")
            made = draft(msgspec.structs.replace(stated), at=1, by="x", epoch=state.epoch, run="r")
            state.run_open = True
            with pytest.raises(LogBroken, match="stated of the log at record"):
                fold.rehearse(state, [made])
