"""A person's word on a call, from question to effect: asked, decided elsewhere, checked again, used once."""

from __future__ import annotations

import json

import msgspec
import pytest
from approving import ME, Bank, Rules, asked, dispatch, enrol, events, forge, pay

from callslip import Runtime, tool
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_expired import ApprovalExpired
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.call_resolved import CallResolved
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.principal import Principal, Proof, Role
from callslip.core.result import Effect, Status
from callslip.core.standing import Delegated, Enrolled, PrincipalRevoked
from callslip.errors import NotAuthorised, NotFound, TrustBroken, UsageError, WaitConflict
from callslip.ports.trust import Identity
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock
from callslip.trust.keys import PrivateKey

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock():
    return FakeClock(auto=60)


@pytest.fixture
def rules():
    return Rules()


@pytest.fixture
def bank():
    return Bank()


@pytest.fixture
async def runtime(bank, rules, clock):
    async with Runtime(tools=bank.tools(), policy=rules, clock=clock, identity=ME) as made:
        yield made


@pytest.fixture
def people(runtime):
    made = enrol(
        runtime,
        ("olga", ["operator"], 10),
        ("anna", ["approver"], 11),
        ("ben", ["approver"], 12),
        ("cara", ["viewer", "caller"], 13),
        ("requester", ["caller", "approver"], 1),
    )
    runtime.settings.identity = made["requester"]
    return made


@pytest.mark.requirement("APPR-01")
class TestItRests:
    async def test_nothing_runs_before_the_answer_and_the_effect_comes_once_after_it(self, runtime, bank):
        batch = await dispatch(runtime)
        assert (batch.results[0].status, batch.results[0].error_code) == (Status.PENDING_APPROVAL, "approval")
        assert not bank.paid
        assert not await events(runtime, ToolDispatch)
        assert await runtime.approve(batch.waits[0].id)
        for _ in range(3):
            batch = await dispatch(runtime)
        assert batch.results[0].ok
        assert bank.paid == [("anna", 100)]
        (t1,) = await events(runtime, ToolDispatch)
        assert t1.approval == (await events(runtime, ApprovalRequested))[0].approval_id

    async def test_dispatching_again_while_it_waits_asks_nobody_twice(self, runtime):
        for _ in range(3):
            await dispatch(runtime)
        assert len(await events(runtime, ApprovalRequested)) == 1

    async def test_the_question_says_everything(self, runtime):
        await dispatch(runtime, pay(note="lunch"))
        (wait,) = await runtime.waits()
        assert (wait.kind, wait.tool, wait.reasons) == ("approval", "pay", ("rule-1",))
        assert wait.arguments == {"to": "anna", "cents": 100, "note": "lunch"}
        assert wait.reason == "money leaves"

    async def test_thirty_days_later_it_is_still_open(self, runtime, bank, clock):
        wait = await asked(runtime)
        clock.advance(30 * 86_400)
        assert await runtime.sweep() == 0
        await runtime.approve(wait)
        assert (await dispatch(runtime)).results[0].ok
        assert len(bank.paid) == 1

    async def test_asked_here_approved_there_without_the_tool_driven_by_a_third(self, tmp_path, bank, rules):
        async with Runtime(tools=bank.tools(), policy=rules, state=tmp_path / "s") as first:
            wait = await asked(first)
        async with Runtime(state=tmp_path / "s") as second:
            (seen,) = await second.waits()
            assert seen.arguments == {"to": "anna", "cents": 100}
            await second.approve(wait)
        async with Runtime(tools=bank.tools(), policy=rules, state=tmp_path / "s") as third:
            assert (await dispatch(third)).results[0].ok
        assert len(bank.paid) == 1


@pytest.mark.requirement("APPR-02")
class TestWhatItBindsTo:
    async def test_an_answer_is_used_up_by_its_call(self, runtime, bank):
        wait = await asked(runtime)
        await runtime.approve(wait)
        await dispatch(runtime)
        second = await asked(runtime, step="2")
        assert second != wait
        assert len(bank.paid) == 1

    @pytest.mark.parametrize("word", ["", "yes", "approve", "APPROVED", "true", "null", "denied "])
    async def test_only_the_word_approves(self, runtime, word):
        wait = await asked(runtime)
        (question,) = await events(runtime, ApprovalRequested)
        with pytest.raises(UsageError):
            await forge(
                runtime,
                ApprovalDecided(
                    call_id=question.call_id, approval_id=wait, binding=question.binding, decision=word,
                    proof=Proof(principal="x"),
                ),
            )  # fmt: skip

    async def test_an_answer_to_another_question_is_refused(self, runtime):
        first = await asked(runtime)
        one = await runtime.approvals.question(first)
        signed = runtime.approvals._signed(one, _approval(one.asked), ME, "")
        await runtime.deny(first)
        await dispatch(runtime)
        second = await asked(runtime, step="2")
        two = await runtime.approvals.question(second)
        with pytest.raises(WaitConflict, match="another question"):
            await runtime.approvals.take(two, signed)
        assert await runtime.approve(second)

    async def test_after_a_verdict_that_it_did_not_happen_a_fresh_approval_is_asked(self, runtime, bank):
        await runtime.approve(await asked(runtime, pay(13)))
        (parked,) = (await dispatch(runtime, pay(13))).waits
        await runtime.resolve(parked.id, "did_not_happen", reason="the bank says so")
        (again,) = (await dispatch(runtime, pay(13))).waits
        assert again.kind == "approval"
        assert len(bank.paid) == 1
        await runtime.deny(again.id)
        assert (await dispatch(runtime, pay(13))).results[0].error_code == "approval_denied"

    async def test_two_answers_one_wins_and_the_other_is_told_who(self, runtime):
        wait = await asked(runtime)
        await runtime.deny(wait, reason="no", by=Identity(name="ben", uid=2))
        with pytest.raises(WaitConflict, match=r"was denied by ben .*, and that holds"):
            await runtime.approve(wait)
        with pytest.raises(NotFound):
            await runtime.approve("appr_never")


def _approval(question, **changed):
    fields = {
        "call_id": question.call_id, "approval_id": question.approval_id, "binding": question.binding,
        "decision": "approved", "proof": Proof(principal=""),
    }  # fmt: skip
    return ApprovalDecided(**(fields | changed))


@pytest.mark.requirement("APPR-03")
class TestAskedAgainWhenSomethingChanged:
    async def test_another_attempt_is_judged_like_the_first(self, runtime, rules, bank):
        tries = []

        @tool(risk="write", recovery="idempotent", local_effect=True, quiet=0)
        async def send(to: str) -> str:
            """Send."""
            tries.append(to)
            raise RuntimeError("lost")

        async with Runtime(tools=[send], policy=rules, clock=FakeClock(auto=60)) as sender:
            call = {"name": "send", "arguments": {"to": "anna"}}
            await sender.approve(await asked(sender, call))
            held = sender._sessions.held["s"].drive

            async def revoked(*_):
                rules.decision = "deny"

            held.parts.clock.sleep = revoked  # between two attempts the policy comes to deny
            (wait,) = (await dispatch(sender, call)).waits
            assert wait.kind == "parked"
            assert tries == ["anna"]

    async def _approved(self, runtime, *calls):
        await runtime.approve(await asked(runtime, *calls))

    async def _asked_again(self, runtime, *calls):
        batch = await dispatch(runtime, *calls)
        (wait,) = await runtime.waits()
        assert batch.results[0].error_code == "approval"
        return wait

    async def test_other_rules(self, runtime, rules, bank):
        await self._approved(runtime)
        rules.rules = ("rule-2",)
        wait = await self._asked_again(runtime)
        assert wait.again == ("other rules ask (rule-1; now rule-2)",)
        assert not bank.paid
        await runtime.approve(wait.id)
        assert (await dispatch(runtime)).results[0].ok
        assert len(bank.paid) == 1

    async def test_a_change_of_policy_that_touches_none_of_it_voids_nothing(self, runtime, rules, bank):
        await self._approved(runtime)
        rules.rules = ("rule-1", "rule-1")
        assert (await dispatch(runtime)).results[0].ok

    async def test_a_policy_that_denies_by_now(self, runtime, rules, bank):
        await self._approved(runtime)
        rules.decision = "deny"
        assert (await dispatch(runtime)).results[0].error_code == "policy_denied"
        assert not bank.paid

    async def test_a_policy_that_allows_by_now_does_not_undo_a_no(self, runtime, rules, bank):
        await runtime.deny(await asked(runtime))
        rules.decision = "allow"
        assert (await dispatch(runtime)).results[0].error_code == "approval_denied"
        assert not bank.paid

    async def test_more_people_must_approve_by_now(self, runtime, rules):
        await self._approved(runtime)
        rules.approvers = 2
        assert (await self._asked_again(runtime)).again == ("2 people must approve now, not 1",)

    async def test_the_target_has_changed(self, runtime, bank):
        call = {"name": "write", "arguments": {"name": "a", "text": "v9"}}
        await self._approved(runtime, call)
        bank.document = "v2"
        wait = await self._asked_again(runtime, call)
        assert wait.again == ("doc:a has changed since",)
        await runtime.approve(wait.id)
        await dispatch(runtime, call)
        assert bank.document == "v9"

    async def test_the_tool_has_changed(self, tmp_path, bank, rules):
        async with Runtime(tools=bank.tools(), policy=rules, state=tmp_path / "s") as first:
            await self._approved(first)
        newer = Bank("2")
        async with Runtime(tools=newer.tools(), policy=rules, state=tmp_path / "s") as second:
            wait = await self._asked_again(second)
        assert "the tool has changed" in wait.again[0]
        assert not bank.paid
        assert not newer.paid

    async def test_something_else_runs_the_tool(self, tmp_path, bank, rules):
        async with Runtime(tools=bank.tools(), policy=rules, state=tmp_path / "s") as first:
            await self._approved(first)
        imposter = bank.tools()
        imposter[0].identity = "mcp:evil"
        async with Runtime(tools=imposter, policy=rules, state=tmp_path / "s") as second:
            wait = await self._asked_again(second)
        assert wait.again == ("something else runs the tool (python:approving:Bank.tools.<locals>.pay, now mcp:evil)",)


@pytest.mark.requirement("APPR-04")
class TestEditDenyGrant:
    @pytest.fixture
    async def runtime(self, bank, rules, clock):
        async with Runtime(tools=bank.tools(), policy=rules, clock=clock) as made:
            yield made

    async def test_an_edit_is_what_is_executed_and_the_model_is_told(self, runtime, bank):
        await runtime.edit(await asked(runtime), {"to": "anna", "cents": 50})
        batch = await dispatch(runtime)
        assert bank.paid == [("anna", 50)]
        (t1,) = await events(runtime, ToolDispatch)
        assert json.loads(bytes(t1.arguments.text)) == {"to": "anna", "cents": 50}
        told = batch.messages("openai_chat")[0]["content"]
        assert told.startswith("A person changed the arguments before this call was made: cents: 100 → 50.")
        again = await dispatch(runtime, step="2")
        assert again.waits
        await runtime.deny(again.waits[0].id)
        await dispatch(runtime, pay(), step="2")
        assert (await dispatch(runtime)).messages("openai_chat")[0]["content"] == told

    async def test_an_edit_has_a_key_of_its_own(self, runtime, bank):
        await runtime.edit(await asked(runtime), {"to": "anna", "cents": 50})
        await dispatch(runtime)
        await runtime.approve(await asked(runtime, step="2"))
        await dispatch(runtime, step="2")
        assert len(set(bank.keys)) == 2

    @pytest.mark.parametrize(
        "arguments", [{"to": "anna"}, {"to": "anna", "cents": "50"}, {"to": "anna", "cents": 5, "tool": "write"}]
    )
    async def test_an_edit_that_breaks_the_schema_is_refused_and_the_question_stays(self, runtime, bank, arguments):
        wait = await asked(runtime)
        with pytest.raises(UsageError):
            await runtime.edit(wait, arguments)
        assert [one.id for one in await runtime.waits()] == [wait]
        assert not await events(runtime, ApprovalDecided)

    async def test_an_edit_that_policy_denies_names_the_rule_and_runs_nothing(self, runtime, bank):
        await runtime.edit(await asked(runtime), {"to": "anna", "cents": 666})
        result = (await dispatch(runtime)).results[0]
        assert (result.status, result.error_code) == (Status.PERMISSION_DENIED, "policy_denied")
        assert "cursed" in result.error_message
        assert not bank.paid
        (response,) = await events(runtime, FunctionResponse)
        assert response.rules == ("no-666",)

    async def test_an_edit_that_changes_nothing_is_no_edit(self, runtime):
        with pytest.raises(UsageError, match="Approve them as such"):
            await runtime.edit(await asked(runtime), {"to": "anna", "cents": 100})

    async def test_an_edit_whose_target_nobody_saw_is_asked_about(self, runtime, bank):
        call = {"name": "write", "arguments": {"name": "a", "text": "v9"}}
        await runtime.edit(await asked(runtime, call), {"name": "b", "text": "v9"})
        (wait,) = (await dispatch(runtime, call)).waits
        (full,) = await runtime.waits()
        assert full.again == ("the target is doc:b, not doc:a",)
        assert full.arguments == {"name": "b", "text": "v9"}
        await runtime.approve(wait.id)
        batch = await dispatch(runtime, call)
        assert batch.results[0].ok
        (t1,) = await events(runtime, ToolDispatch)
        assert json.loads(bytes(t1.arguments.text)) == {"name": "b", "text": "v9"}
        assert 'name: "a" → "b"' in batch.messages("openai_chat")[0]["content"]

    async def test_a_denial_tells_the_model_why(self, runtime, bank):
        await runtime.deny(await asked(runtime), reason="wrong account.")
        result = (await dispatch(runtime)).results[0]
        assert (result.status, result.error_code, result.effect) == (
            Status.PERMISSION_DENIED, "approval_denied", Effect.NONE,
        )  # fmt: skip
        assert "wrong account" in result.error_message
        assert not bank.paid

    @pytest.mark.parametrize("scope", ["session", "always"])
    async def test_a_grant_covers_equal_calls_and_no_wider_one(self, runtime, bank, scope):
        wait = await asked(runtime)
        grant = await runtime.rule(wait, scope=scope)
        assert not runtime.grants()  # shown before it is written
        await runtime.approve(wait, grant=grant)
        await dispatch(runtime)
        assert (await dispatch(runtime, step="2")).results[0].ok
        t1 = (await events(runtime, ToolDispatch))[-1]
        assert t1.approval == grant.id
        for step, wider in enumerate((pay(101), pay(to="eve"), pay(note="more")), start=3):
            batch = await dispatch(runtime, wider, step=str(step))
            assert batch.results[0].error_code == "approval"
            await runtime.deny(batch.waits[0].id)
            await dispatch(runtime, wider, step=str(step))
        elsewhere = await runtime.dispatch([pay()], session="other", step="1")
        assert bool(elsewhere.waits) == (scope == "session")
        assert bank.paid == [("anna", 100)] * (2 if scope == "session" else 3)

    async def test_a_grant_with_a_bound(self, runtime, bank):
        wait = await asked(runtime)
        await runtime.approve(wait, grant=await runtime.rule(wait, scope="session", at_most={"cents": 200}))
        await dispatch(runtime)
        assert (await dispatch(runtime, pay(200), step="2")).results[0].ok
        assert (await dispatch(runtime, pay(201), step="3")).waits

    async def test_a_grant_taken_back_covers_nothing(self, runtime):
        wait = await asked(runtime)
        grant = await runtime.rule(wait, scope="always")
        await runtime.approve(wait, grant=grant)
        await dispatch(runtime)
        runtime.revoke_grant(grant.id)
        assert (await dispatch(runtime, step="2")).waits
        with pytest.raises(NotFound):
            runtime.revoke_grant(grant.id)

    async def test_a_grant_allows_nothing_that_is_denied(self, runtime, rules, bank):
        wait = await asked(runtime)
        await runtime.approve(wait, grant=await runtime.rule(wait, scope="always"))
        await dispatch(runtime)
        rules.decision = "deny"
        assert (await dispatch(runtime, step="2")).results[0].error_code == "policy_denied"

    async def test_a_grant_is_of_one_executor_and_version(self, tmp_path, bank, rules):
        async with Runtime(tools=bank.tools(), policy=rules, state=tmp_path / "s") as first:
            wait = await asked(first)
            await first.approve(wait, grant=await first.rule(wait, scope="always"))
            await dispatch(first)
        other = bank.tools()
        other[0].identity = "mcp:another-server"
        for tools in (other, Bank("2").tools()):
            async with Runtime(tools=tools, policy=rules, state=tmp_path / "s") as second:
                batch = await second.dispatch([pay()], session=f"s{id(tools)}", step="1")
                assert batch.waits

    async def test_a_rule_can_not_be_wider_than_what_is_there(self, runtime):
        wait = await asked(runtime)
        for wrong in ({"free": ["nothing"]}, {"at_most": {"cents": 50}}, {"at_most": {"to": 5}}):
            with pytest.raises(UsageError):
                await runtime.rule(wait, scope="session", **wrong)


@pytest.mark.requirement("APPR-05")
class TestEachByItself:
    async def test_free_siblings_run_at_once(self, runtime, bank):
        batch = await dispatch(
            runtime, {"name": "balance", "arguments": {}}, pay(1), {"name": "balance", "arguments": {}}
        )
        assert [one.status for one in batch.results] == [Status.SUCCESS, Status.PENDING_APPROVAL, Status.SUCCESS]

    async def test_a_denial_does_not_touch_an_approved_sibling(self, runtime, bank):
        batch = await dispatch(runtime, pay(1), pay(2))
        await runtime.deny(batch.waits[0].id)
        await runtime.approve(batch.waits[1].id)
        batch = await dispatch(runtime, pay(1), pay(2))
        assert [one.error_code for one in batch.results] == ["approval_denied", None]
        assert bank.paid == [("anna", 2)]

    async def test_an_answer_to_one_does_not_wait_for_the_other(self, runtime, bank):
        batch = await dispatch(runtime, pay(1), pay(2))
        await runtime.approve(batch.waits[1].id)
        batch = await dispatch(runtime, pay(1), pay(2))
        assert [one.status for one in batch.results] == [Status.PENDING_APPROVAL, Status.SUCCESS]


@pytest.mark.requirement("APPR-06")
class TestExpiry:
    @pytest.fixture
    async def runtime(self, bank, rules, clock):
        limits = Limits(approval_expires=3600)
        async with Runtime(tools=bank.tools(), policy=rules, clock=clock, limits=limits) as made:
            yield made

    async def test_it_is_told_apart_from_a_denial(self, runtime, bank, clock):
        wait = await asked(runtime)
        clock.advance(3599)
        assert await runtime.sweep() == 0
        clock.advance(2)
        assert await runtime.sweep() == 1
        assert await runtime.sweep() == 0
        result = (await dispatch(runtime)).results[0]
        assert (result.status, result.error_code, result.effect, result.retryable) == (
            Status.TIMEOUT, "approval_expired", Effect.NONE, True,
        )  # fmt: skip
        assert "not denied" in result.error_message
        with pytest.raises(WaitConflict, match="expired"):
            await runtime.approve(wait)
        assert not bank.paid

    async def test_it_is_decided_by_its_event_and_not_by_a_clock(self, runtime, bank, clock):
        wait = await asked(runtime)
        clock.advance(2 * 3600)
        await runtime.approve(wait)
        assert await runtime.sweep() == 0
        assert (await dispatch(runtime)).results[0].ok

    async def test_a_clock_set_back_a_day_changes_nothing(self, tmp_path, bank, rules):
        limits, now = Limits(approval_expires=3600), 1_700_000_000_000
        for at, swept in ((now, 0), (now + 3_700_000, 1), (now - 86_400_000, 0)):
            clock = FakeClock(now=at, auto=60)
            async with Runtime(
                tools=bank.tools(), policy=rules, clock=clock, limits=limits, state=tmp_path / "s"
            ) as runtime:
                if at == now:
                    await asked(runtime)
                assert await runtime.sweep() == swept
        async with Runtime(tools=bank.tools(), policy=rules, clock=clock, state=tmp_path / "s") as runtime:
            assert (await dispatch(runtime)).results[0].error_code == "approval_expired"

    async def test_a_worker_ends_it_and_wakes_the_session(self, runtime, clock):
        await asked(runtime)
        await runtime.release("s")
        clock.advance(3601)
        await runtime.sweep()
        (head,) = await runtime.parts.ledger.heads(ready_at=clock.now())
        assert head.woken
        assert await events(runtime, ApprovalExpired)


@pytest.mark.requirement("APPR-07")
class TestSeveralPeople:
    @pytest.fixture(autouse=True)
    def two(self, rules):
        rules.approvers = 2

    async def test_two_people_and_not_the_requester(self, runtime, bank, people):
        wait = await asked(runtime)
        assert not await runtime.approve(wait, by=people["anna"])
        assert (await dispatch(runtime)).waits
        assert not bank.paid
        with pytest.raises(NotAuthorised):
            await runtime.approve(wait, by=people["anna"])
        assert await runtime.approve(wait, by=people["ben"])
        assert (await dispatch(runtime)).results[0].ok
        decided = await events(runtime, ApprovalDecided)
        assert [one.proof.principal for one in decided] == ["anna", "ben"]
        (question,) = await events(runtime, ApprovalRequested)
        assert {one.binding for one in decided} == {question.binding}

    async def test_one_no_is_enough(self, runtime, people):
        wait = await asked(runtime)
        await runtime.approve(wait, by=people["anna"])
        await runtime.deny(wait, by=people["ben"])
        assert (await dispatch(runtime)).results[0].error_code == "approval_denied"

    async def test_the_requester_is_nobody_else(self, runtime, people, bank):
        elsewhere = msgspec.structs.replace(people["requester"], uid=99)
        with pytest.raises(NotAuthorised, match="whoever asks"):
            await runtime.approve(await asked(runtime), by=elsewhere)

    async def test_nobody_knows_who_asks_where_no_key_has_shown_it(self, runtime, people):
        runtime.settings.identity = Identity(name="somebody", uid=77)
        with pytest.raises(NotAuthorised, match="begun without a key"):
            await runtime.approve(await asked(runtime), by=people["anna"])

    async def test_whose_account_is_not_known_is_nobody_else_for_certain(self, runtime, people):
        ghost = enrol_more(runtime, people, "ghost", ["approver"], None)
        with pytest.raises(NotAuthorised, match="not known which account"):
            await runtime.approve(await asked(runtime), by=ghost)

    async def test_a_yes_can_be_taken_back_before_the_other_has_said_theirs(self, runtime, people):
        wait = await asked(runtime)
        await runtime.approve(wait, by=people["anna"])
        await runtime.deny(wait, by=people["anna"], reason="on reflection")
        assert (await dispatch(runtime)).results[0].error_code == "approval_denied"

    async def test_nobody_acts_for_another_who_has_not_handed_it_on(self, runtime, people):
        with pytest.raises(NotAuthorised, match="not handed"):
            await runtime.approve(await asked(runtime), by=people["anna"], on_behalf_of="ben")

    @pytest.mark.parametrize(("key_uid", "process_uid"), [(1, 50), (50, 1), (1, 1)])
    async def test_a_second_account_of_the_requesters_uid_is_the_requester(self, runtime, people, key_uid, process_uid):
        made = enrol_more(runtime, people, "second", ["approver"], key_uid)
        again = msgspec.structs.replace(made, uid=process_uid)
        with pytest.raises(NotAuthorised, match="same account"):
            await runtime.approve(await asked(runtime), by=again)

    async def test_two_names_of_one_uid_are_one_person(self, runtime, people):
        twin = enrol_more(runtime, people, "twin", ["approver"], 11)
        wait = await asked(runtime)
        await runtime.approve(wait, by=people["anna"])
        with pytest.raises(NotAuthorised, match="same account"):
            await runtime.approve(wait, by=twin)

    async def test_who_was_handed_the_deciding_decides_and_is_on_record(self, runtime, people, clock):
        until = clock.now() + 3_600_000
        runtime.parts.trust.state(Delegated(to="cara", until=until), people["anna"])
        wait = await asked(runtime)
        with pytest.raises(NotAuthorised):
            await runtime.approve(wait, by=people["cara"])
        await runtime.approve(wait, by=people["cara"], on_behalf_of="anna")
        with pytest.raises(NotAuthorised, match="decides for them"):
            await runtime.approve(wait, by=people["anna"])
        assert await runtime.approve(wait, by=people["ben"])
        assert (await dispatch(runtime)).results[0].ok
        assert (await events(runtime, ApprovalDecided))[0].proof.on_behalf_of == "anna"

    async def test_a_delegation_that_is_over_or_of_another_tool(self, runtime, people, clock):
        trust = runtime.parts.trust
        trust.state(Delegated(to="cara", until=clock.now() + 10_000, tools=("write",)), people["anna"])
        wait = await asked(runtime)
        with pytest.raises(NotAuthorised, match="not handed"):
            await runtime.approve(wait, by=people["cara"], on_behalf_of="anna")
        trust.state(Delegated(to="cara", until=clock.now() - 1), people["anna"])
        with pytest.raises(NotAuthorised, match="not handed"):
            await runtime.approve(wait, by=people["cara"], on_behalf_of="anna")

    async def test_what_two_must_see_is_neither_edited_nor_granted_by_one(self, runtime, people):
        wait = await asked(runtime)
        with pytest.raises(UsageError, match="can't be edited"):
            await runtime.edit(wait, {"to": "anna", "cents": 1}, by=people["anna"])
        with pytest.raises(UsageError, match="can't be granted"):
            await runtime.approve(wait, grant=await runtime.rule(wait, scope="always"), by=people["anna"])


def enrol_more(runtime, people, name, roles, uid):
    key = PrivateKey.fresh()
    principal = Principal(name=name, roles=tuple(map(Role, roles)), key=key.key, uid=uid)
    runtime.parts.trust.state(Enrolled(principal=principal), people["olga"])
    return Identity(name=name, uid=uid, signer=key)


@pytest.mark.requirement("APPR-08")
class TestWhoMayDecide:
    async def test_a_key_in_the_right_role(self, runtime, people, bank):
        wait = await asked(runtime)
        for nobody in (ME, people["cara"], people["olga"], Identity(name="anna", uid=11)):
            with pytest.raises(NotAuthorised):
                await runtime.approve(wait, by=nobody)
        stranger = Identity(name="anna", uid=11, signer=PrivateKey.fresh())
        with pytest.raises(NotAuthorised, match="not anna's"):
            await runtime.approve(wait, by=stranger)
        assert await runtime.approve(wait, by=people["anna"])
        assert (await dispatch(runtime)).results[0].ok

    async def test_a_forged_approval_runs_nothing_and_a_fresh_one_is_asked(self, runtime, people, bank):
        wait = await asked(runtime)
        (question,) = await events(runtime, ApprovalRequested)
        forged = _approval(question, proof=Proof(principal="anna", key=people["anna"].signer.key, signature="00" * 64))
        await forge(runtime, forged, WaitClosed(wait_id=wait, how="approved", actor="anna"))
        batch = await dispatch(runtime)
        assert not bank.paid
        (seen,) = await runtime.waits()
        assert "does not count" in seen.again[0]
        assert await runtime.approve(batch.waits[0].id, by=people["anna"])  # the control: a true answer does count
        assert (await dispatch(runtime)).results[0].ok

    async def test_a_forged_edit_is_not_even_shown(self, runtime, people, bank):
        wait = await asked(runtime)
        (question,) = await events(runtime, ApprovalRequested)
        other = msgspec.structs.replace(question.arguments, text=msgspec.Raw(b'{"cents":9,"to":"eve"}'))
        await forge(runtime, _approval(question, edited=other), WaitClosed(wait_id=wait, how="edited", actor="anna"))
        await dispatch(runtime)
        (seen,) = await runtime.waits()
        assert seen.arguments == {"to": "anna", "cents": 100}

    async def test_a_true_answer_altered_in_the_log_does_not_count(self, runtime, people, bank):
        wait = await asked(runtime)
        one = await runtime.approvals.question(wait)
        signed = runtime.approvals._signed(one, _approval(one.asked, decision="denied"), people["anna"], "")
        turned = msgspec.structs.replace(signed, decision="approved")
        with pytest.raises(NotAuthorised):
            await runtime.approvals.take(one, turned)
        await forge(runtime, turned, WaitClosed(wait_id=wait, how="approved", actor="anna"))
        await dispatch(runtime)
        assert not bank.paid

    async def test_an_answer_of_another_session_does_not_count(self, runtime, people, bank):
        await runtime.dispatch([pay()], session="t", step="1")
        (elsewhere,) = await runtime.waits("t")
        two = await runtime.approvals.question(elsewhere.id)
        signed = runtime.approvals._signed(two, _approval(two.asked), people["anna"], "")
        wait = await asked(runtime)
        one = await runtime.approvals.question(wait)
        moved = msgspec.structs.replace(signed, call_id=one.asked.call_id, approval_id=wait, binding=one.asked.binding)
        with pytest.raises(NotAuthorised):
            await runtime.approvals.take(one, moved)
        await forge(runtime, moved, WaitClosed(wait_id=wait, how="approved", actor="anna"))
        await dispatch(runtime)
        assert not bank.paid

    async def test_a_principal_revoked_after_the_answer_has_not_answered(self, runtime, people, bank):
        await runtime.approve(await asked(runtime), by=people["anna"])
        runtime.parts.trust.state(PrincipalRevoked(name="anna"), people["olga"])
        batch = await dispatch(runtime)
        assert batch.waits
        assert not bank.paid

    async def test_an_answer_given_before_a_key_was_enrolled_does_not_count_after(self, runtime, bank):
        await runtime.approve(await asked(runtime))
        enrol(runtime, ("olga", ["operator"], 10))
        assert (await dispatch(runtime)).waits
        assert not bank.paid

    async def test_a_trust_file_put_back_to_before_the_keys_does_not_let_anybody_in(self, runtime, people, bank, clock):
        wait = await asked(runtime)
        kept, parts = runtime.parts.trust, runtime._sessions.held["s"].drive.parts
        parts.trust = type(kept)(clock=clock)  # as if the file had been removed
        (question,) = await events(runtime, ApprovalRequested)
        await forge(runtime, _approval(question), WaitClosed(wait_id=wait, how="approved", actor="x"))
        for _ in range(2):
            with pytest.raises(TrustBroken, match="rested on"):
                await dispatch(runtime)
        assert not bank.paid
        parts.trust = kept  # the control
        assert (await dispatch(runtime)).waits

    async def test_a_session_says_truly_who_began_it(self, bank, rules, clock):
        async with Runtime(tools=bank.tools(), policy=rules, clock=clock) as runtime:
            people = enrol(runtime, ("olga", ["operator"], 10), ("cara", ["caller"], 13))
            assert not bank.paid
            for session, signer, fine in (("s", people["cara"].signer, True), ("t", PrivateKey.fresh(), False)):
                runtime.settings.identity = Identity(name="cara", uid=13, signer=signer)
                if fine:
                    assert (await runtime.dispatch([pay()], session=session, step="1")).waits
                    (wait,) = await runtime.waits(session)
                    assert (await runtime.approvals.question(wait.id)).asked.requester == "cara"
                else:
                    batch = await runtime.dispatch([pay()], session=session, step="1")
                    assert batch.results[0].error_code == "requester_refused"

    async def test_verdicts_are_an_operators(self, runtime, people, bank):
        await runtime.approve(await asked(runtime, pay(13)), by=people["anna"])
        (parked,) = (await dispatch(runtime, pay(13))).waits
        for nobody in (ME, people["anna"]):
            with pytest.raises(NotAuthorised):
                await runtime.resolve(parked.id, "did_not_happen", reason="x", by=nobody)
        forged = CallResolved(
            call_id=parked.call_id, verdict="did_not_happen", reason="x", actor="olga", wait_id=parked.id
        )
        await forge(runtime, forged, WaitClosed(wait_id=parked.id, how="resolved", actor="olga"))
        (again,) = (await dispatch(runtime, pay(13))).waits
        assert again.kind == "parked"
        assert "does not count" in again.reason
        assert len(bank.paid) == 1
        await runtime.resolve(again.id, "give_up", reason="gone", by=people["olga"])
        assert (await dispatch(runtime, pay(13))).results[0].error_code == "abandoned"

    async def test_a_clients_result_is_a_callers(self, clock):
        @tool(risk="write", recovery="never", client_owned=True)
        async def fetch(what: str) -> str:
            """Fetch."""
            return ""

        call = {"name": "fetch", "arguments": {"what": "x"}}
        async with Runtime(tools=[fetch], clock=clock) as runtime:
            people = enrol(runtime, ("olga", ["operator"], 10), ("cara", ["caller"], 13))
            wait = await asked(runtime, call)
            with pytest.raises(NotAuthorised):
                await runtime.submit(wait, "mine")
            await runtime.submit(wait, "hers", by=people["cara"])
            assert (await dispatch(runtime, call)).results[0].result.structured == "hers"
            second = await asked(runtime, call, step="2")
            (_, t1) = await events(runtime, ToolDispatch)
            forged = FunctionResponse(
                call_id=t1.call_id, lane="settled", status=Status.SUCCESS, effect=Effect.DONE, attempt=1, nonce=t1.nonce
            )
            await forge(runtime, forged, WaitClosed(wait_id=second, how="submitted", actor="cara"))
            with pytest.raises(TrustBroken, match="signed by nobody"):
                await dispatch(runtime, call, step="2")


class TestStopped:
    async def test_a_late_approval_of_a_stopped_session_is_refused_and_says_why(self, runtime, bank):
        wait = await asked(runtime)
        assert await runtime.stop("s")
        with pytest.raises(WaitConflict, match="asked to stop"):
            await runtime.approve(wait)
        result = (await dispatch(runtime)).results[0]
        assert result.error_code == "cancelled"
        with pytest.raises(WaitConflict, match="withdrawn"):
            await runtime.approve(wait)
        assert not await runtime.waits()
        assert not bank.paid
