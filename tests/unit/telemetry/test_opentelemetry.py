"""Spans and metrics, against OpenTelemetry's own SDK (OBSV-02)."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from callslip import Context, Runtime, ToolFailed, tool
from callslip.core.breaker import BreakerRules
from callslip.core.events.late_outcome import LateOutcome
from callslip.errors import EmptyReply, ModelUnavailable
from callslip.ports.model import Proposal
from callslip.providers.scripted import Scripted, calling, saying
from callslip.runtime.parts import Data
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("OBSV-02")]


@tool(risk="read")
async def find(name: str) -> str:
    """Find."""
    if name == "nobody":
        raise ToolFailed("There is no Nobody living at 5 Elm Street.", code="no_such_name")
    return f"{name} lives at 5 Elm Street"


def runtime(collector, *tools, replies=(), content=False, **settings):
    made = Runtime(
        tools=tools or (find,),
        model=Scripted(list(replies)) if replies else None,
        telemetry=collector.watch(content=content),
        **settings,
    )
    made.parts.draw = lambda: 0.0
    return made


def parents(collector):
    """Each span's name, with its parent's."""
    by_id = {span.context.span_id: span.name for span in collector.spans()}
    return sorted((span.name, by_id.get(span.parent.span_id, "?") if span.parent else "") for span in collector.spans())


async def test_a_run_is_a_span_with_its_requests_and_attempts_beneath(collector):
    replies = [calling(("find", {"name": "Ada"}), ("find", {"name": "Bob"})), saying("Both at 5 Elm Street.")]
    async with runtime(collector, replies=replies) as rt:
        await rt.run("Where do they live?", session="s")
    assert parents(collector) == [
        ("chat test", "invoke_agent"),
        ("chat test", "invoke_agent"),
        ("execute_tool find", "invoke_agent"),
        ("execute_tool find", "invoke_agent"),
        ("invoke_agent", ""),
    ]
    run = collector.one("invoke_agent")
    assert dict(run.attributes) == {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s", "callslip.run.status": "finished",
    }  # fmt: skip
    assert (run.kind, run.status.status_code) == (SpanKind.INTERNAL, StatusCode.UNSET)
    assert all(run.start_time <= span.start_time <= span.end_time <= run.end_time for span in collector.spans())
    attempt = collector.spans("execute_tool")[0].attributes
    assert {name: attempt[name] for name in attempt if name != "gen_ai.tool.call.id"} == {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": "s", "callslip.attempt": 1, "callslip.effect": "none",
    }  # fmt: skip
    assert len({span.attributes["gen_ai.tool.call.id"] for span in collector.spans("execute_tool")}) == 2
    assert collector.points("callslip.tool.calls") == {frozenset({"find", "success"}): 2}
    assert collector.points("gen_ai.execute_tool.duration") == {frozenset({"find", "function"}): 2}
    assert list(collector.points("gen_ai.client.operation.duration").values()) == [2]
    assert list(collector.points("gen_ai.invoke_agent.duration").values()) == [1]


async def test_calls_of_one_step_overlap_and_none_is_beneath_another(collector):
    together = asyncio.Barrier(3)

    @tool(risk="read")
    async def meet(n: int) -> int:
        """Meet."""
        await together.wait()
        return n

    async with runtime(collector, meet) as rt:
        await rt.dispatch([Proposal(tool="meet", arguments={"n": n}) for n in range(3)], session="s", step="1")
    spans = collector.spans("execute_tool")
    assert max(span.start_time for span in spans) <= min(span.end_time for span in spans)
    assert [span.parent for span in spans] == [None] * 3


async def test_what_tools_and_requests_trace_lies_beneath_them(collector):
    tracer = collector.tracers.get_tracer("mine")

    @tool(risk="read")
    async def asynchronous() -> str:
        """Trace something."""
        with tracer.start_as_current_span("in the coroutine"):
            return "ok"

    @tool(risk="read")
    def synchronous() -> str:
        """Trace something, in a thread."""
        with tracer.start_as_current_span("in the thread"):
            return "ok"

    class Traced(Scripted):
        async def reply(self, request, on_delta):
            with tracer.start_as_current_span("in the request"):
                return await super().reply(request, on_delta)

    model = Traced([calling(("asynchronous", {}), ("synchronous", {})), saying("done")])
    async with Runtime(tools=[asynchronous, synchronous], model=model, telemetry=collector.watch()) as rt:
        with tracer.start_as_current_span("request of a user"):
            await rt.run("go", session="s")
            assert trace.get_current_span().name == "request of a user"  # ours is nobody's but the tool's
    assert parents(collector) == [
        ("chat test", "invoke_agent"),
        ("chat test", "invoke_agent"),
        ("execute_tool asynchronous", "invoke_agent"),
        ("execute_tool synchronous", "invoke_agent"),
        ("in the coroutine", "execute_tool asynchronous"),
        ("in the request", "chat test"),
        ("in the request", "chat test"),
        ("in the thread", "execute_tool synchronous"),
        ("invoke_agent", "request of a user"),
        ("request of a user", ""),
    ]
    assert len({span.context.trace_id for span in collector.spans()}) == 1


async def test_calls_of_somebody_elses_loop_are_beneath_its_own_span(collector):
    tracer = collector.tracers.get_tracer("mine")
    async with runtime(collector) as rt:
        for step in ("first", "second"):
            with tracer.start_as_current_span(step):
                await rt.dispatch([Proposal(tool="find", arguments={"name": "Ada"})], session="s", step=step)
    assert parents(collector) == [
        ("execute_tool find", "first"), ("execute_tool find", "second"), ("first", ""), ("second", ""),
    ]  # fmt: skip


async def test_a_failure_names_its_code_and_its_layer_and_nothing_that_was_said(collector):
    async with runtime(collector) as rt:
        await rt.dispatch(
            [
                Proposal(tool="find", arguments={"name": "nobody"}),
                Proposal(tool="find", arguments={"nom": "Ada"}),
                Proposal(tool="fnid_secret_name", arguments={}),
            ],
            session="s",
            step="1",
        )
    span = collector.one("execute_tool")
    assert (span.attributes["error.type"], span.attributes["callslip.layer"]) == ("no_such_name", "tool")
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert collector.points("callslip.tool.calls") == {
        frozenset({"find", "failed", "no_such_name", "tool"}): 1,
        frozenset({"find", "refused", "invalid_arguments", "validation"}): 1,
        frozenset({"_OTHER", "refused", "unknown_tool", "model"}): 1,  # names that models make up are without end
    }
    told = "".join(span.to_json() for span in collector.spans())
    assert not any(word in told for word in ("Elm", "nobody", "Ada", "secret_name"))


async def test_contents_are_told_when_asked_for(collector):
    async with runtime(collector, content=True) as rt:
        await rt.dispatch([Proposal(tool="find", arguments={"name": "Ada"})], session="s", step="1")
    attributes = collector.one("execute_tool").attributes
    assert json.loads(attributes["gen_ai.tool.call.arguments"]) == {"name": "Ada"}
    assert json.loads(attributes["gen_ai.tool.call.result"]) == "Ada lives at 5 Elm Street"


async def test_contents_that_are_encrypted_in_the_log_are_not_told(collector, tmp_path):
    rt = Runtime(tools=[find], telemetry=collector.watch(content=True), state=tmp_path / "state")
    rt.configure(data=Data(encrypt=True))
    async with rt:
        await rt.dispatch([Proposal(tool="find", arguments={"name": "Ada"})], session="s", step="1")
    assert "gen_ai.tool.call.arguments" not in collector.one("execute_tool").attributes


async def test_each_attempt_is_a_span_and_a_retry_is_counted(collector):
    tries = []

    @tool(risk="read")
    async def flaky() -> str:
        """Fail twice."""
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionResetError
        return "ok"

    async with runtime(collector, flaky) as rt:
        await rt.dispatch([Proposal(tool="flaky", arguments={})], session="s", step="1")
    spans = collector.spans("execute_tool flaky")
    assert [span.attributes["callslip.attempt"] for span in spans] == [1, 2, 3]
    assert [span.attributes.get("error.type") for span in spans] == ["unavailable", "unavailable", None]
    assert [span.attributes.get("callslip.layer") for span in spans] == ["network", "network", None]
    assert collector.points("callslip.tool.retries") == {frozenset({"flaky"}): 2}
    assert collector.points("callslip.tool.attempt.failures") == {frozenset({"flaky", "unavailable", "network"}): 2}
    assert collector.points("callslip.tool.calls") == {frozenset({"flaky", "success"}): 1}


async def test_an_attempt_that_is_executed_twice_is_one_span_that_says_who_answered(collector):
    runs, go = [], asyncio.Event()

    @tool(risk="read", timeout=10, hedge_after=0.2)
    async def look() -> str:
        """Slow the first time, and deaf."""
        runs.append(trace.get_current_span())
        if len(runs) == 1:
            while not go.is_set():
                try:
                    await go.wait()
                except asyncio.CancelledError:
                    continue
        return "here"

    @tool(risk="read", timeout=10, hedge_after=0.2)
    async def never(context: Context) -> str:
        """It never answers."""
        await context.sleep(1)
        raise ToolFailed("No.", code="no")

    clock = FakeClock(auto=5)
    async with runtime(collector, look, never, clock=clock) as rt:
        await rt.dispatch([Proposal(tool="look", arguments={})], session="s", step="1")
        go.set()
        while not any(isinstance(one.record.event, LateOutcome) for one in await rt.parts.ledger.read("s")):
            await asyncio.sleep(0.001)
        await rt.dispatch([Proposal(tool="never", arguments={})], session="s", step="2")
    span = collector.one("execute_tool look")
    assert span.attributes["callslip.hedged"] == "second"
    assert {one.get_span_context().span_id for one in runs} == {span.context.span_id}, "both lie beneath it"
    assert collector.one("execute_tool never").attributes["callslip.hedged"] == "neither"
    assert collector.points("callslip.tool.late") == {}, "what was beaten is not late: its call has an answer"


async def test_a_breaker_is_seen_to_open_and_the_gauge_says_so(collector):
    @tool(risk="read")
    async def broken() -> str:
        """Fail."""
        raise ConnectionResetError

    async with runtime(collector, broken, breakers=BreakerRules(least=2)) as rt:
        for step in "1234":
            await rt.dispatch([Proposal(tool="broken", arguments={})], session="s", step=step)
    assert collector.points("callslip.breaker.opened") == {frozenset({"broken"}): 1}
    assert collector.points("callslip.breaker.state") == {frozenset({"broken"}): 2}


async def test_a_wait_is_measured_and_a_clients_call_is_no_span_of_ours(collector):
    @tool(risk="write", recovery="never", client_owned=True)
    async def ask_client(question: str) -> str:
        """Ask the client."""
        raise AssertionError

    async with runtime(collector, ask_client) as rt:
        batch = await rt.dispatch([Proposal(tool="ask_client", arguments={"question": "?"})], session="s", step="1")
        await rt.submit(batch.waits[0].id, "yes")
        await rt.dispatch([Proposal(tool="ask_client", arguments={"question": "?"})], session="s", step="1")
    assert collector.spans() == []
    assert collector.points("callslip.tool.wait.duration") == {frozenset({"ask_client", "client"}): 1}


async def test_a_request_without_a_reply_and_the_run_that_it_fails(collector):
    class Gone(Scripted):
        async def reply(self, request, on_delta):
            raise ModelUnavailable("The server said: Ada is not a customer.")

    async with Runtime(model=Gone([]), telemetry=collector.watch()) as rt:
        with pytest.raises(ModelUnavailable):
            await rt.run("hello", session="s")
    chat, run = collector.one("chat"), collector.one("invoke_agent")
    assert [span.attributes["error.type"] for span in (chat, run)] == ["model_unavailable"] * 2
    assert [span.attributes["callslip.layer"] for span in (chat, run)] == ["network"] * 2
    assert run.attributes["callslip.run.status"] == "failed"
    assert "Ada" not in chat.to_json() + run.to_json()


async def test_an_empty_reply_is_the_protocols_fault(collector):
    async with runtime(collector, replies=[saying("")]) as rt:
        with pytest.raises(EmptyReply):
            await rt.run("hello", session="s")
    assert collector.one("chat").attributes["error.type"] == "empty_reply"
    assert collector.one("invoke_agent").attributes["callslip.layer"] == "protocol"


DIES = """
import asyncio, os, sys
from callslip import Runtime, tool
from callslip.providers.scripted import Scripted, calling

@tool(risk="read")
async def slow() -> str:
    "Die."
    os._exit(9)

rt = Runtime(tools=[slow], model=Scripted([calling(("slow", {}), ("slow", {}))]), state=sys.argv[1])
asyncio.run(rt.run("go", session="s"))
"""


async def test_a_span_whose_end_nobody_saw_is_not_invented(collector, tmp_path):
    """The process dies within the call. The next one concludes by the log that it was interrupted: that is counted,
    under the call's own name, and no span claims that somebody saw it.
    """
    died = subprocess.run([sys.executable, "-c", DIES, str(tmp_path / "state")], check=False)
    assert died.returncode == 9

    @tool(risk="read")
    async def slow() -> str:
        """Not this time."""
        return "ok"

    replies = [calling(("slow", {}), ("slow", {})), saying("done")]
    async with runtime(collector, slow, replies=replies, state=tmp_path / "state") as rt:
        assert (await rt.resume("s")).status == "finished"
    assert len(collector.spans("invoke_agent")) == 1
    calls = collector.points("callslip.tool.calls")
    ended = {outcome: many for about, many in calls.items() for outcome in about & {"success", "failed"}}
    assert ended.get("failed", 0) >= 1
    assert sum(ended.values()) == 2  # each was counted once
    assert all("slow" in about for about in calls)
    assert len(collector.spans("execute_tool")) == ended.get("success", 0)


async def test_a_failure_of_telemetry_disturbs_no_run(collector, monkeypatch, caplog):
    watch = collector.watch()
    monkeypatch.setattr(watch, "_tracer", None)
    async with Runtime(tools=[find], model=Scripted([calling(("find", {"name": "Ada"})), "ok"]), telemetry=watch) as rt:
        with caplog.at_level(logging.CRITICAL):
            assert (await rt.run("go", session="s")).status == "finished"


async def test_nothing_is_kept_of_a_session_that_was_let_go(collector):
    watch = collector.watch()
    async with Runtime(tools=[find], telemetry=watch) as rt:
        for step in range(50):
            await rt.dispatch([Proposal(tool="find", arguments={"name": "Ada"})], session="s", step=str(step))
        run = watch._runs["s"]
        assert (run.tools, run.attempts, run.last, run.parents, run.waits) == ({}, {}, {}, {}, {})
    assert watch._runs == {}
