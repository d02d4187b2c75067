"""The model asks its user, and the answer is the user's own words (CALL-09)."""

from __future__ import annotations

import asyncio

import pytest

from callslip import Runtime, tool
from callslip.core.event import draft
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.principal import Principal, Role
from callslip.core.result import Effect, Status
from callslip.core.standing import Enrolled
from callslip.core.wait import WaitKind
from callslip.errors import (
    LogBroken,
    NotAuthorised,
    NotFound,
    ToolDefinitionError,
    TrustBroken,
    UsageError,
    WaitConflict,
)
from callslip.ports.trust import Identity
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.sources.ask_user import ask_user
from callslip.testing.clock import FakeClock
from callslip.trust.keys import PrivateKey
from callslip.worker import Worker

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("CALL-09")]

ASK = calling(("ask_user", {"question": "Which colour?", "choices": ["red", "blue"]}))


@tool(risk="write", local_effect=True)
async def paint(colour: str) -> str:
    """Paint it."""
    return f"painted {colour}"


def runtime_of(*replies, **settings):
    model = Scripted(replies or (ASK, "Blue it is."))
    settings.setdefault("limits", Limits(poll=0.01, grace=0.05))
    return Runtime(tools=[paint, ask_user], model=model, clock=FakeClock(auto=1), **settings)


async def log(runtime, *kinds):
    return [r.record.event for r in await runtime.parts.ledger.read("s") if isinstance(r.record.event, kinds)]


async def asked(runtime):
    (wait,) = (await runtime.run("Paint it.", session="s")).waits
    return wait


class TestOneQuestion:
    async def test_the_turn_waits_and_the_model_reads_the_answer(self):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            assert (wait.kind, wait.tool) == (WaitKind.QUESTION, "ask_user")
            assert wait.arguments == {"question": "Which colour?", "choices": ["red", "blue"]}
            assert "colour" not in wait.reason, "the model's words stand in the arguments alone"
            await runtime.answer(wait.id, "blue")
            run = await runtime.resume("s")
            assert (run.status, run.text) == ("finished", "Blue it is.")
            (result,) = runtime.settings.model.requests[1].messages[-1].results
            assert (result.content, result.is_error) == ("blue", False)

    async def test_the_answer_is_recorded_as_the_users_own_words(self):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            await runtime.answer(wait.id, "blue", by=Identity(name="ada", uid=7))
            (response,) = await log(runtime, FunctionResponse)
            assert response.from_user
            assert (response.status, response.effect, response.notes) == (Status.SUCCESS, Effect.NONE, ())
            assert (response.proof.principal, response.proof.uid) == ("ada", 7)
            (t1,) = await log(runtime, ToolDispatch)
            assert t1.asks_user
            (closed,) = await log(runtime, WaitClosed)
            assert (closed.how, closed.actor) == ("answered", "ada")

    async def test_choices_are_a_suggestion(self):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            await runtime.answer(wait.id, "Neither. Make it green!")
            (response,) = await log(runtime, FunctionResponse)
            assert response.structured.value() == "Neither. Make it green!"
            assert response.notes == ("none of the suggested choices",)

    async def test_the_first_answer_counts_and_the_second_is_told_so(self):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            await runtime.answer(wait.id, "blue", by=Identity(name="ada", uid=7))
            with pytest.raises(WaitConflict, match="was answered by ada"):
                await runtime.answer(wait.id, "red")
            assert len(await log(runtime, FunctionResponse)) == 1

    async def test_many_answer_at_once_and_one_counts(self):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            results = await asyncio.gather(
                *(runtime.answer(wait.id, f"answer {n}") for n in range(20)), return_exceptions=True
            )
            assert sorted(map(type, results), key=str) == sorted([type(None), *[WaitConflict] * 19], key=str)
            assert len(await log(runtime, FunctionResponse)) == 1

    @pytest.mark.parametrize("text", ["", "  \n"])
    async def test_no_words_are_no_answer(self, text):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            with pytest.raises(UsageError, match="has words"):
                await runtime.answer(wait.id, text)
            assert await runtime.waits()

    async def test_a_wait_that_never_was(self):
        async with runtime_of() as runtime:
            await asked(runtime)
            with pytest.raises(NotFound):
                await runtime.answer("wait_nothing", "blue")

    async def test_only_words_answer_it(self):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            with pytest.raises(WaitConflict, match="It takes: answer"):
                await runtime.submit(wait.id, "blue")
            with pytest.raises(WaitConflict, match="kind question"):
                await runtime.resolve(wait.id, "happened", reason="x")

    async def test_and_words_answer_nothing_else(self, world):
        async with Runtime(tools=world.tools()) as runtime:
            call = {"name": "ask_client", "arguments": {"question": "x"}}
            batch = await runtime.dispatch([call], session="s", step="1")
            with pytest.raises(WaitConflict, match="It takes: submit"):
                await runtime.answer(batch.waits[0].id, "x")

    async def test_a_held_secret_in_an_answer_stays_out_of_log_and_model(self):
        async with runtime_of(secrets=["hunter2hunter2"]) as runtime:
            wait = await asked(runtime)
            await runtime.answer(wait.id, "The password is hunter2hunter2, still.")
            await runtime.resume("s")
            assert "hunter2" not in repr(await runtime.parts.ledger.read("s"))
            assert "hunter2" not in repr(runtime.settings.model.requests)

    async def test_a_worker_goes_on_once_it_is_answered(self):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 0
            await runtime.answer(wait.id, "blue")
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 1

    async def test_under_ones_own_loop(self):
        async with runtime_of() as runtime:
            call = {"name": "ask_user", "arguments": {"question": "Why?"}}
            batch = await runtime.dispatch([call], session="d", step="1")
            assert batch.results[0].error_code == "question"
            await runtime.answer(batch.waits[0].id, "Because.")
            batch = await runtime.dispatch([call], session="d", step="1")
            assert batch.results[0].result.structured == "Because."


class TestPolicy:
    @pytest.mark.parametrize("decision", ["ask", "ask_two"])
    async def test_a_question_needs_no_persons_leave_to_be_asked(self, decision):
        async with runtime_of(policy={"read": decision}) as runtime:
            wait = await asked(runtime)
            assert wait.kind is WaitKind.QUESTION
            assert not await log(runtime, ApprovalRequested)
            (t1,) = await log(runtime, ToolDispatch)
            assert t1.rules == ("risk.read",)

    async def test_but_may_be_denied(self):
        async with runtime_of(ASK, "Then not.", policy={"tool.ask_user": "deny"}) as runtime:
            run = await runtime.run("Paint it.", session="s")
            assert run.text == "Then not."
            (response,) = await log(runtime, FunctionResponse)
            assert response.error_code == "policy_denied"


class TestWithdrawn:
    async def test_a_stop_ends_the_question(self):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            await runtime.stop("s")
            assert (await runtime.resume("s")).status == "stopped"
            (response,) = await log(runtime, FunctionResponse)
            assert (response.status, response.error_code, response.effect) == (
                Status.RETRYABLE_ERROR, "cancelled", Effect.NONE,
            )  # fmt: skip
            assert not response.from_user
            with pytest.raises(WaitConflict, match="needs no answer any more"):
                await runtime.answer(wait.id, "too late")

    async def test_who_says_something_else_instead_is_heard(self):
        async with runtime_of() as runtime:
            await asked(runtime)
            await runtime.send("s", "Forget the colour. Wash it.", steer=True)
            assert (await runtime.resume("s")).text == "Blue it is."
            *_, results, said = runtime.settings.model.requests[1].messages
            assert "withdrawn" in results.results[0].content
            assert said.text == "Forget the colour. Wash it."

    async def test_an_ordinary_message_waits_with_it(self):
        async with runtime_of(ASK, "Blue it is.", "Noted.") as runtime:
            wait = await asked(runtime)
            assert (await runtime.run("By the way…", session="s")).status == "waiting"
            await runtime.answer(wait.id, "blue")
            assert (await runtime.resume("s")).text == "Noted."

    async def test_an_answer_that_comes_with_the_stop_counts(self):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            await runtime.stop("s")
            await runtime.answer(wait.id, "blue")
            assert (await runtime.resume("s")).status == "stopped"
            (response,) = await log(runtime, FunctionResponse)
            assert response.from_user

    async def test_a_clients_call_is_not_taken_back(self, world):
        model = Scripted([calling(("ask_client", {"question": "x"}))])
        async with Runtime(tools=world.tools(), model=model) as runtime:
            await runtime.run("x", session="s")
            await runtime.stop("s")
            await runtime.resume("s")
            assert [wait.kind for wait in await runtime.waits()] == [WaitKind.CLIENT]


def enrol(runtime):
    made, root = {}, None
    for uid, (name, role) in enumerate((("olga", Role.OPERATOR), ("cara", Role.CALLER), ("anna", Role.APPROVER)), 10):
        key = PrivateKey.fresh()
        made[name] = Identity(name=name, uid=uid, signer=key)
        root = root or made[name]
        principal = Principal(name=name, roles=(role,), key=key.key, uid=uid)
        runtime.parts.trust.state(Enrolled(principal=principal), root)
    return made


async def forge(runtime, event, *, epoch=0, close=None):
    (head,) = await runtime.parts.ledger.heads("s")
    made = [event, *([WaitClosed(wait_id=close, how="answered", actor="cara")] if close else [])]
    drafts = [draft(one, at=1, by="forger", epoch=epoch, run="") for one in made]
    await runtime.parts.ledger.decide("s", drafts, expected=head.seq)


@pytest.mark.requirement("APPR-08")
class TestWhoAnswers:
    @pytest.mark.parametrize("name", ["cara", "olga"])
    async def test_a_caller_or_an_operator_does(self, name):
        async with runtime_of() as runtime:
            people = enrol(runtime)
            wait = await asked(runtime)
            for nobody in (None, people["anna"]):
                with pytest.raises(NotAuthorised):
                    await runtime.answer(wait.id, "red", by=nobody)
            await runtime.answer(wait.id, "blue", by=people[name])
            assert (await runtime.resume("s")).status == "finished"

    async def test_words_that_were_forged_reach_nobody(self):
        async with runtime_of() as runtime:
            enrol(runtime)
            wait = await asked(runtime)
            await forge(runtime, await words(runtime), close=wait.id)
            with pytest.raises(TrustBroken, match="signed by nobody"):
                await runtime.resume("s")
            assert len(runtime.settings.model.requests) == 1

    async def test_an_answer_to_another_question_is_none(self):
        async with runtime_of(ASK, ASK, "Never reached.") as runtime:
            people = enrol(runtime)
            wait = await asked(runtime)
            await runtime.answer(wait.id, "blue", by=people["cara"])
            (given,) = await log(runtime, FunctionResponse)
            (second,) = (await runtime.resume("s")).waits
            import msgspec

            (_, t1) = await log(runtime, ToolDispatch)
            replayed = msgspec.structs.replace(given, call_id=t1.call_id, nonce=t1.nonce)
            await forge(runtime, replayed, close=second.id)
            with pytest.raises(TrustBroken, match="signature"):
                await runtime.resume("s")

    async def test_one_that_is_withdrawn_needs_nobodys_signature(self):
        async with runtime_of() as runtime:
            enrol(runtime)
            await asked(runtime)
            await runtime.stop("s")
            assert (await runtime.resume("s")).status == "stopped"


async def words(runtime, **changes):
    (t1,) = await log(runtime, ToolDispatch)
    facts = {
        "call_id": t1.call_id, "lane": "settled", "status": Status.SUCCESS, "effect": Effect.NONE, "attempt": 1,
        "nonce": t1.nonce, "from_user": True,
    }  # fmt: skip
    return FunctionResponse(**facts | changes)


class TestTheLog:
    """Only a user puts words into a user's mouth, and nothing else answers a question."""

    @pytest.mark.parametrize(
        "changes",
        [{"from_user": False}, {"status": Status.FATAL_ERROR}, {"from_user": False, "status": Status.TIMEOUT}],
    )
    async def test_an_answer_that_is_none_closes_the_session(self, changes):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            await forge(runtime, await words(runtime, **changes), close=wait.id)
            with pytest.raises(LogBroken):
                await runtime.resume("s")

    async def test_the_driver_has_no_words_of_the_user(self):
        async with runtime_of() as runtime:
            await asked(runtime)
            await runtime.stop("s")
            from callslip.sessions.acquire import acquire

            drive = await acquire(runtime.parts, "s", active=frozenset(), requester=runtime.identity())
            with pytest.raises(LogBroken, match="mouth"):
                await drive.append(await words(runtime))

    async def test_other_tools_have_none_either(self, world):
        async with Runtime(tools=world.tools()) as runtime:
            call = {"name": "ask_client", "arguments": {"question": "x"}}
            batch = await runtime.dispatch([call], session="s", step="1")
            await runtime.release("s")
            await forge(runtime, await words(runtime), close=batch.waits[0].id)
            with pytest.raises(LogBroken, match="mouth"):
                await runtime.state("s")

    async def test_what_the_user_says_by_himself_is_a_message(self):
        async with runtime_of() as runtime:
            wait = await asked(runtime)
            await runtime.answer(wait.id, "blue")
            assert [event.text for event in await log(runtime, UserMessage)] == ["Paint it."]


class TestADeclarationOfOnesOwn:
    async def test_a_project_may_ask_in_its_own_way(self):
        @tool(risk="read", client_owned=True, asks_user=True)
        def ask_customer(topic: str, urgent: bool) -> str:
            """Ask the customer."""

        async with Runtime(tools=[ask_customer]) as runtime:
            call = {"name": "ask_customer", "arguments": {"topic": "size", "urgent": True}}
            batch = await runtime.dispatch([call], session="s", step="1")
            await runtime.answer(batch.waits[0].id, "Large")
            (response,) = await log(runtime, FunctionResponse)
            assert response.from_user

    def test_somebody_must_answer(self):
        with pytest.raises(ToolDefinitionError, match="client_owned"):

            @tool(asks_user=True)
            def ask_nobody(topic: str) -> str:
                """Ask."""
