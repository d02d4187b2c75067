"""One call through every gate, T1, the effect and T2, as a dispatcher sees it."""

from __future__ import annotations

import asyncio
import json

import pytest

from callslip import Runtime, ToolResult, tool
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.result import Effect, Status
from callslip.errors import LedgerUnavailable, StepConflict, StillWaiting, UsageError, WaitConflict
from callslip.ledgers.memory import MemoryLedger

pytestmark = pytest.mark.anyio


def call(name: str, **arguments):
    return {"name": name, "input": arguments, "id": f"id-{name}"}


async def one(runtime, name, *, step="1", **arguments):
    batch = await runtime.dispatch([call(name, **arguments)], session="s", step=step)
    return batch.results[0]


async def events(runtime, kind, session="s"):
    return [r.record.event for r in await runtime.parts.ledger.read(session) if isinstance(r.record.event, kind)]


@pytest.mark.requirement("CALL-01")
class TestOnlyThroughTheGates:
    async def test_a_call_that_passes_runs_once(self, runtime, world):
        outcome = await one(runtime, "add", a=1, b=2)
        assert (outcome.status, outcome.effect, outcome.result.structured) == (Status.SUCCESS, Effect.NONE, 3)
        assert world.effects["add"] == 1

    @pytest.mark.parametrize(
        ("name", "arguments", "status", "code"),
        [
            ("nothing", {}, Status.NOT_FOUND, "unknown_tool"),
            ("add", {"a": 1}, Status.INVALID_ARGUMENTS, "invalid_arguments"),
            ("add", {"a": "x", "b": 2}, Status.INVALID_ARGUMENTS, "invalid_arguments"),
        ],
    )
    async def test_a_refused_call_runs_nothing_and_was_never_dispatched(
        self, runtime, world, name, arguments, status, code
    ):
        outcome = await one(runtime, name, **arguments)
        assert (outcome.status, outcome.error_code, outcome.effect) == (status, code, Effect.NONE)
        assert not world.effects
        assert not await events(runtime, ToolDispatch)
        (response,) = await events(runtime, FunctionResponse)
        assert response.lane == "refused"

    async def test_policy_can_deny_and_says_which_rule(self, world):
        async with Runtime(tools=world.tools(), policy={"write": "deny"}) as runtime:
            outcome = await one(runtime, "pay", cents=1)
        assert (outcome.status, outcome.error_code) == (Status.PERMISSION_DENIED, "policy_denied")
        assert not world.effects

    async def test_a_policy_that_breaks_denies(self, world):
        class Broken:
            def decide(self, question):
                raise ZeroDivisionError

        async with Runtime(tools=world.tools(), policy=Broken()) as runtime:
            outcome = await one(runtime, "add", a=1, b=2)
        assert (outcome.status, outcome.error_code) == (Status.PERMISSION_DENIED, "policy_error")
        assert not world.effects


@pytest.mark.requirement("CALL-02")
class TestTheOrder:
    async def test_every_gate_comes_before_t1_and_t1_before_the_effect(self):
        seen = []

        class Ledger(MemoryLedger):
            async def append(self, session, drafts, **how):
                seen.extend(f"log {d.record.event.__struct_config__.tag}" for d in drafts)
                return await super().append(session, drafts, **how)

        class Policy:
            def decide(self, question):
                from callslip.ports.policy import Verdict

                seen.append("policy")
                return Verdict(decision="allow", rules=("r1",), reason="")

        def rule(arguments):
            seen.append("rule")

        def prepare(n):
            from callslip.core.events.tool_dispatch import Evidence

            seen.append("prepare")
            return Evidence(target="x", before="a", after="b")

        @tool(risk="write", recovery="evidence", rules=[rule], prepare=prepare, digest=lambda target: "b")
        async def change(n: int) -> int:
            """Change."""
            seen.append("effect")
            return n

        runtime = Runtime(tools=[change], policy=Policy())
        runtime.parts.ledger = Ledger()
        await one(runtime, "change", n=1)
        await runtime.aclose()
        order = [what for what in seen if what not in {"log session_started", "log run_started", "log run_ended"}]
        assert order == [
            "log model_requested", "log model_replied", "log function_call",
            "rule", "policy", "prepare", "log tool_dispatch", "effect", "log function_response",
        ]  # fmt: skip

    async def test_arguments_are_judged_before_policy(self, world):
        asked = []

        class Policy:
            def decide(self, question):
                asked.append(question)
                raise AssertionError

        async with Runtime(tools=world.tools(), policy=Policy()) as runtime:
            assert (await one(runtime, "add", a="x", b=1)).status is Status.INVALID_ARGUMENTS
        assert not asked

    @pytest.mark.requirement("DEFR-01")
    async def test_a_hidden_tool_tells_nothing_of_itself(self, runtime, world):
        batch = await runtime.dispatch([call("pay", wrong=1)], session="s", step="1", visible=["add"])
        (outcome,) = batch.results
        assert (outcome.status, outcome.error_code) == (Status.NOT_FOUND, "unknown_tool")
        assert "cents" not in outcome.error_message
        assert not outcome.field_errors

    @pytest.mark.requirement("PARA-06")
    async def test_required_earlier_calls(self):
        @tool(risk="read")
        async def look_up(who: str) -> str:
            """Look up."""
            return who

        @tool(risk="write", requires=["look_up"])
        async def change(who: str) -> str:
            """Change."""
            return who

        async with Runtime(tools=[look_up, change]) as runtime:
            first = await one(runtime, "change", step="1", who="x")
            assert (first.status, first.error_code) == (Status.INVALID_ARGUMENTS, "call_first")
            assert "look_up" in first.error_message
            await one(runtime, "look_up", step="2", who="x")
            assert (await one(runtime, "change", step="3", who="x")).ok


@pytest.mark.requirement("CALL-03")
class TestIdentity:
    async def test_the_same_step_again_is_the_same_batch_and_executes_nothing(self, runtime, world):
        first = await runtime.dispatch([call("pay", cents=5), call("add", a=1, b=1)], session="s", step="7")
        again = await runtime.dispatch([call("pay", cents=5), call("add", a=1, b=1)], session="s", step="7")
        assert again == first
        assert world.effects == {"pay": 1, "add": 1}

    async def test_also_after_other_steps_and_in_another_process(self, tmp_path, world):
        async with Runtime(tools=world.tools(), state=tmp_path / "state") as runtime:
            first = await runtime.dispatch([call("pay", cents=5)], session="s", step="7")
            await runtime.dispatch([call("add", a=1, b=1)], session="s", step="8")
        async with Runtime(tools=world.tools(), state=tmp_path / "state") as runtime:
            again = await runtime.dispatch([call("pay", cents=5)], session="s", step="7")
        assert again == first
        assert world.effects["pay"] == 1

    async def test_other_arguments_there_are_a_conflict(self, runtime, world):
        await runtime.dispatch([call("pay", cents=5)], session="s", step="7")
        with pytest.raises(StepConflict, match="recorded with other calls"):
            await runtime.dispatch([call("pay", cents=6)], session="s", step="7")
        assert world.effects["pay"] == 1

    async def test_equal_provider_ids_stay_two_calls(self, runtime):
        calls = [{"name": "add", "input": {"a": n, "b": 0}, "id": "same"} for n in (1, 2)]
        batch = await runtime.dispatch(calls, session="s", step="1")
        assert [outcome.result.structured for outcome in batch.results] == [1, 2]
        assert len({outcome.call_id for outcome in batch.results}) == 2


@pytest.mark.requirement("CALL-04")
class TestOutcomes:
    def test_there_are_eight_statuses_and_three_effects(self):
        assert {status.value for status in Status} == {
            "success", "invalid_arguments", "not_found", "permission_denied", "timeout", "retryable_error",
            "fatal_error", "pending_approval",
        }  # fmt: skip
        assert {effect.value for effect in Effect} == {"none", "done", "unknown"}

    async def test_a_failure_the_tool_declares_is_settled_as_it_says(self, runtime):
        none, done = await one(runtime, "pay", cents=14), await one(runtime, "pay", step="2", cents=15)
        assert (none.status, none.error_code, none.effect) == (Status.FATAL_ERROR, "no_money", Effect.NONE)
        assert (done.status, done.error_code, done.effect) == (Status.FATAL_ERROR, "no_receipt", Effect.DONE)

    async def test_an_unexpected_failure_of_a_read_had_no_effect(self):
        @tool(risk="read")
        async def look(n: int) -> int:
            """Look."""
            raise KeyError(n)

        async with Runtime(tools=[look]) as runtime:
            outcome = await one(runtime, "look", n=1)
        assert (outcome.status, outcome.error_code, outcome.effect) == (
            Status.FATAL_ERROR, "tool_exception", Effect.NONE,
        )  # fmt: skip

    async def test_an_unexpected_failure_of_a_write_parks_it(self, runtime, world):
        outcome = await one(runtime, "pay", cents=13)
        assert (outcome.status, outcome.error_code) == (Status.PENDING_APPROVAL, "parked")
        assert world.effects["pay"] == 1

    @pytest.mark.requirement("RESI-03")
    async def test_timeout(self):
        @tool(risk="read", timeout=0.01)
        async def hang() -> str:
            """Hang."""
            await asyncio.Event().wait()
            return ""

        async with Runtime(tools=[hang]) as runtime:
            outcome = await one(runtime, "hang")
        assert (outcome.status, outcome.error_code, outcome.effect) == (Status.TIMEOUT, "timeout", Effect.NONE)


@pytest.mark.requirement("CALL-07")
class TestWhatTheModelIsTold:
    async def test_no_stack_path_host_or_secret(self):
        @tool(risk="read")
        async def look() -> str:
            """Look."""
            raise RuntimeError("token sk-abcdefghijklmnopqrstuvwx at /home/me/app.py on db.internal")

        async with Runtime(tools=[look]) as runtime:
            batch = await runtime.dispatch([call("look")], session="s", step="1")
            (response,) = await events(runtime, FunctionResponse)
        (message,) = batch.messages("openai_chat")
        for secret in ("sk-abc", "/home/me", "db.internal", "Traceback"):
            assert secret not in message["content"]
        assert "db.internal" in response.internal
        assert "Traceback" in response.internal
        assert "sk-abc" not in response.internal

    async def test_held_secrets_reach_neither_log_nor_model(self, tmp_path):
        @tool(risk="read")
        async def show() -> dict:
            """Show."""
            return {"config": 'pass"word-of-ours', "note": "fine"}

        async with Runtime(tools=[show], secrets=['pass"word-of-ours'], state=tmp_path / "s") as runtime:
            batch = await runtime.dispatch([call("show")], session="s", step="1")
        assert batch.results[0].result.structured == {"config": "[redacted]", "note": "fine"}
        for path in (tmp_path / "s").rglob("*"):
            if path.is_file():
                assert b"word-of-ours" not in path.read_bytes()


@pytest.mark.requirement("CALL-06")
@pytest.mark.requirement("PARA-01")
class TestABatch:
    async def test_results_come_in_the_models_order_though_they_finish_in_any(self):
        gates = {name: asyncio.Event() for name in "abc"}
        ended = []

        @tool(risk="read")
        async def wait(which: str) -> str:
            """Wait."""
            await gates[which].wait()
            ended.append(which)
            follower = {"c": "b", "b": "a"}.get(which)
            if follower:
                gates[follower].set()
            return which

        gates["c"].set()
        async with Runtime(tools=[wait]) as runtime:
            batch = await runtime.dispatch([call("wait", which=name) for name in "abc"], session="s", step="1")
        assert ended == ["c", "b", "a"]
        assert [outcome.result.structured for outcome in batch.results] == ["a", "b", "c"]

    async def test_a_failing_sibling_disturbs_nobody(self, runtime):
        calls = [call("add", a=1, b=1), call("pay", cents=13), call("nope"), call("add", a=2, b=2)]
        batch = await runtime.dispatch(calls, session="s", step="1")
        assert [o.status.value for o in batch.results] == ["success", "pending_approval", "not_found", "success"]

    @pytest.mark.requirement("PARA-04")
    async def test_conflicting_claims_take_turns_in_the_models_order(self):
        order, beside = [], asyncio.Event()

        @tool(risk="write", claims=["file:{path}"])
        async def edit(path: str, n: int) -> int:
            """Edit."""
            order.append(f"begin {path}{n}")
            if n == 3:
                beside.set()
            await beside.wait()  # the first one can only end beside a call that wants another file
            order.append(f"end {path}{n}")
            return n

        async with Runtime(tools=[edit]) as runtime:
            calls = [call("edit", path="x", n=1), call("edit", path="x", n=2), call("edit", path="y", n=3)]
            await runtime.dispatch(calls, session="s", step="1")
        assert [what for what in order if "x" in what] == ["begin x1", "end x1", "begin x2", "end x2"]

    async def test_the_next_step_waits_until_every_call_is_answered(self, runtime):
        await one(runtime, "pay", cents=13)
        with pytest.raises(StillWaiting, match="Step '1'"):
            await one(runtime, "add", step="2", a=1, b=1)


@pytest.mark.requirement("LEDG-02")
class TestCommitsAndEffects:
    class Failing(MemoryLedger):
        def __init__(self, kind):
            super().__init__()
            self.kind = kind

        async def append(self, session, drafts, **how):
            if any(isinstance(draft.record.event, self.kind) for draft in drafts):
                raise LedgerUnavailable("The disk is full. Nothing was written.")
            return await super().append(session, drafts, **how)

    async def test_no_t1_no_effect(self, world):
        runtime = Runtime(tools=world.tools())
        runtime.parts.ledger = self.Failing(ToolDispatch)
        with pytest.raises(LedgerUnavailable, match="disk is full"):
            await one(runtime, "pay", cents=1)
        assert not world.effects

    async def test_no_t2_no_result(self, world):
        runtime = Runtime(tools=world.tools())
        runtime.parts.ledger = self.Failing(FunctionResponse)
        with pytest.raises(LedgerUnavailable):
            await one(runtime, "pay", cents=1)
        assert world.effects["pay"] == 1
        runtime.parts.ledger.kind = ()
        batch = await runtime.dispatch([call("pay", cents=1)], session="s", step="1")
        assert batch.results[0].error_code == "parked"
        assert world.effects["pay"] == 1


@pytest.mark.requirement("RESI-02")
@pytest.mark.requirement("RECO-06")
class TestIdempotencyKeys:
    async def test_stable_over_attempts_and_different_between_calls(self, runtime, world):
        assert (await one(runtime, "put", text="fail3")).result.structured == "fail3@3"
        await one(runtime, "put", step="2", text="fail3")
        assert len(world.keys) == 6
        assert len(set(world.keys[:3])) == 1
        assert len(set(world.keys)) == 2
        t1s = await events(runtime, ToolDispatch)
        assert [t1.attempt for t1 in t1s[:3]] == [1, 2, 3]
        assert len({t1.nonce for t1 in t1s}) == 6
        failed = await events(runtime, AttemptFailed)
        assert {f.effect for f in failed} == {Effect.UNKNOWN}

    async def test_it_stops_within_the_run(self, runtime, world):
        outcome = await one(runtime, "put", text="fail99")
        assert outcome.error_code == "parked"
        assert world.effects["put"] == 5


@pytest.mark.requirement("RSLT-01")
@pytest.mark.requirement("RSLT-03")
class TestResults:
    async def test_a_long_result_shows_head_and_tail_and_can_be_read_back(self):
        text = "".join(f"line {n}\n" for n in range(20_000))

        @tool(risk="read")
        async def read() -> str:
            """Read."""
            return text

        async with Runtime(tools=[read]) as runtime:
            batch = await runtime.dispatch([call("read")], session="s", step="1")
            (message,) = batch.messages("openai_chat")
            (evidence,) = batch.results[0].result.evidence
            kept = json.loads(await runtime.parts.blobs.get(evidence.address))
        assert batch.results[0].result.truncated
        assert len(message["content"]) < 34_000
        assert message["content"].startswith("line 0\n")
        assert message["content"].endswith("line 19999\n")
        assert evidence.address in message["content"]
        assert kept == text

    async def test_artifacts_are_kept(self):
        from callslip import Context

        @tool(risk="read")
        async def plot(context: Context) -> ToolResult:
            """Plot."""
            image = context.artifact("plot.png", b"\x89PNG", media_type="image/png")
            return ToolResult(summary="One plot.", structured={"image": image.address})

        async with Runtime(tools=[plot]) as runtime:
            batch = await runtime.dispatch([call("plot")], session="s", step="1")
            (reference,) = batch.results[0].result.evidence
            assert await runtime.parts.blobs.get(reference.address) == b"\x89PNG"
        assert (reference.name, reference.media_type, reference.size) == ("plot.png", "image/png", 4)
        assert batch.messages("openai_chat")[0]["content"].startswith("One plot.\n{")

    @pytest.mark.requirement("RSLT-02")
    async def test_a_result_that_departs_from_its_schema_is_still_the_result(self):
        @tool(risk="write", output_schema={"type": "object", "required": ["id"]})
        async def make() -> dict:
            """Make."""
            return {"wrong": 1}

        async with Runtime(tools=[make]) as runtime:
            outcome = await one(runtime, "make")
            (response,) = await events(runtime, FunctionResponse)
        assert (outcome.status, outcome.effect) == (Status.SUCCESS, Effect.DONE)
        assert outcome.result.structured == {"wrong": 1}
        assert "output schema" in response.notes[0]

    async def test_whatever_a_tool_returns_can_be_recorded(self):
        class Hostile:
            def __repr__(self):
                raise ZeroDivisionError

        @tool(risk="write", output_schema={})
        async def make() -> object:
            """Make."""
            return {"bad": Hostile(), "nan": float("nan"), "bytes": b"\xff", "sur": "\ud800", 5: 10**2000}

        async with Runtime(tools=[make]) as runtime:
            outcome = await one(runtime, "make")
        assert outcome.status is Status.SUCCESS
        assert outcome.result.structured["sur"] == "�"


class TestClientOwned:
    async def test_it_waits_for_its_client_and_takes_the_answer_once(self, runtime):
        batch = await runtime.dispatch([call("ask_client", question="?")], session="s", step="1")
        assert batch.results[0].error_code == "client"
        with pytest.raises(StillWaiting):
            batch.messages("openai_chat")
        (wait,) = await runtime.waits()
        assert (wait.kind, wait.arguments) == ("client", {"question": "?"})
        await runtime.submit(wait.id, "yes")
        with pytest.raises(WaitConflict, match=r"was submitted by .*, and that holds"):
            await runtime.submit(wait.id, "no")
        batch = await runtime.dispatch([call("ask_client", question="?")], session="s", step="1")
        assert batch.results[0].result.structured == "yes"

    async def test_a_client_may_fail(self, runtime):
        await runtime.dispatch([call("ask_client", question="?")], session="s", step="1")
        (wait,) = await runtime.waits()
        await runtime.submit(wait.id, error="I could not.", effect="unknown")
        batch = await runtime.dispatch([call("ask_client", question="?")], session="s", step="1")
        assert (batch.results[0].status, batch.results[0].effect) == (Status.FATAL_ERROR, Effect.UNKNOWN)


async def test_a_call_of_no_known_shape_is_the_callers_mistake(runtime):
    with pytest.raises(UsageError, match="name and arguments"):
        await runtime.dispatch([{"tool": "add"}], session="s", step="1")
