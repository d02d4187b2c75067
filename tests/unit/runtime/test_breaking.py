"""A tool that keeps failing is left alone, and tried again by one call: against a real HTTP service (RESI-04)."""

from __future__ import annotations

import asyncio

import httpx2
import msgspec
import pytest
from service import Service

from callslip import Runtime, ToolFailed, tool
from callslip.core.breaker import BreakerRules, Heard
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.fault import Fault
from callslip.core.result import Effect, Status
from callslip.core.retry import Retry
from callslip.core.wait import WaitKind
from callslip.runtime import breaking
from callslip.runtime.outcome import Failure, Raised, Returned, Stopped, TimedOut
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RESI-04")]

ONCE = Limits(retry=Retry(attempts=1), poll=0.01, patience=20)
FIVE = BreakerRules(least=5)


def fetching(service, **declared):
    @tool(name="fetch", timeout=300, **{"risk": "read", **declared})
    async def fetch(host: str = "one") -> str:
        """Fetch."""
        # Plain HTTP: the system's certificates, which take 20 ms to read, are of no use.
        async with httpx2.AsyncClient(timeout=60, verify=False) as client:
            response = await client.post(service.url)
        response.raise_for_status()
        return response.json()

    return fetch


class Scene:
    def __init__(self, *tools, clock=None, limits=ONCE, breakers=FIVE, **settings):
        self.clock = clock or FakeClock()
        self.runtime = Runtime(tools=tools, clock=self.clock, limits=limits, breakers=breakers, **settings)
        self.step = 0

    async def __aenter__(self):
        await self.runtime.__aenter__()
        return self

    async def __aexit__(self, *error):
        await self.runtime.__aexit__(*error)

    async def call(self, name="fetch", session="s", **arguments):
        return (await self.calls((name, arguments), session=session)).results[0]

    async def calls(self, *calls, session="s"):
        self.step += 1
        made = [{"name": name, "input": arguments} for name, arguments in calls]
        return await self.runtime.dispatch(made, session=session, step=str(self.step))

    async def events(self, kind, session="s"):
        log = await self.runtime.parts.ledger.read(session)
        return [one.record.event for one in log if isinstance(one.record.event, kind)]


async def test_a_service_fails_and_recovers():
    with Service(*[503] * 6) as service:
        async with Scene(fetching(service)) as scene:
            for _ in range(5):
                assert (await scene.call()).error_code == "unavailable"
            assert len(service.requests) == 5
            outcome = await scene.call()
            assert (outcome.status, outcome.effect, outcome.retryable) == (Status.RETRYABLE_ERROR, Effect.NONE, True)
            assert outcome.error_code == "breaker_open"
            assert "5 of its last 5 calls failed" in outcome.error_message
            assert "tried again in 30 s" in outcome.error_message
            assert len(service.requests) == 5, "nobody calls it"
            scene.clock.advance(30)
            assert (await scene.call()).error_code == "unavailable"
            scene.clock.advance(30)
            assert (await scene.call()).error_code == "breaker_open", "for twice as long"
            scene.clock.advance(30)
            assert (await scene.call()).ok
            assert (await scene.call()).ok
            assert len(service.requests) == 8


async def test_of_a_hundred_callers_one_tries_it():
    with Service(*[503] * 5) as service:
        async with Scene(fetching(service)) as scene:
            for _ in range(5):
                await scene.call()
            scene.clock.advance(30)
            batch = await scene.calls(*[("fetch", {})] * 100)
    assert len(service.requests) == 6
    assert sum(one.ok for one in batch.results) == 1
    assert {one.error_code for one in batch.results if not one.ok} == {"breaker_open"}


async def test_the_log_says_who_saw_it_open_and_until_when():
    with Service(*[503] * 5) as service:
        async with Scene(fetching(service, target="{host}")) as scene:
            for _ in range(5):
                await scene.call(host="one")
            (opened,) = await scene.events(BreakerOpened)
            last = (await scene.events(FunctionResponse))[-1]
            assert (opened.tool, opened.target, opened.call_id) == ("fetch", "one", last.call_id)
            assert opened.until == scene.clock.now() + 30_000
            assert (await scene.call(host="two")).ok, "another target"
            again = await scene.call(host="one")
            assert again.error_code == "breaker_open"
            assert again.error_message.startswith("fetch fails at the moment with the target 'one': 5 of its last 5 ")
            assert "With other targets it may work." in again.error_message
            refused = (await scene.events(FunctionResponse))[-1]
            assert refused.lane == "refused"
            assert len(await scene.events(ToolDispatch)) == 6


@pytest.mark.parametrize("declared", [{}, {"target": "api.example.org"}])
async def test_a_tool_with_one_target_for_all_is_said_to_fail_as_such(declared):
    with Service(*[503] * 5) as service:
        async with Scene(fetching(service, **declared)) as scene:
            for _ in range(5):
                await scene.call(host="one")
            message = (await scene.call(host="two")).error_message
    assert message.startswith("fetch fails at the moment: ")
    assert "target" not in message


async def test_a_target_is_named_without_secrets_and_only_in_part_if_it_is_long():
    secret = "s3cret-of-the-house"
    with Service(*[503] * 5) as service:
        async with Scene(fetching(service, target="{host}"), secrets=[secret]) as scene:
            host = "h" * 190 + secret + "h" * 900
            for _ in range(5):
                await scene.call(host=host)
            message = (await scene.call(host=host)).error_message
    assert "h" * 190 in message
    assert "s3cret" not in message
    assert len(message) < 600


async def test_what_is_asked_wrongly_is_no_failure_of_the_tool():
    limits = msgspec.structs.replace(ONCE, same_failures=0)  # or the loop guard has its say first
    with Service(*[404] * 20) as service:
        async with Scene(fetching(service), limits=limits) as scene:
            for _ in range(20):
                assert (await scene.call()).error_code == "tool_exception"
            for _ in range(20):
                assert (await scene.call(host=7, wrong=1)).error_code == "invalid_arguments"
            assert scene.runtime.parts.breakers.seen() == []


async def test_a_tool_may_have_no_breaker_and_so_may_a_project():
    with Service(*[503] * 40) as service:
        for declared, rules in (({"breaker": False}, FIVE), ({}, BreakerRules(on=False))):
            async with Scene(fetching(service, **declared), breakers=rules) as scene:
                for _ in range(20):
                    await scene.call()
    assert len(service.requests) == 40


async def test_attempts_of_one_call_count_each_and_the_next_attempt_is_refused():
    with Service(*[503] * 50) as service:
        limits = Limits(retry=Retry(attempts=20, base=0.01, cap=0.01), poll=0.01)
        async with Scene(fetching(service), clock=FakeClock(auto=1), limits=limits) as scene:
            outcome = await scene.call()
    assert (outcome.error_code, outcome.status, len(service.requests)) == ("breaker_open", Status.RETRYABLE_ERROR, 5)


async def test_timeouts_in_a_row_open_it():
    @tool(risk="read", timeout=10)
    async def hangs() -> None:
        """Hang."""
        await asyncio.Event().wait()

    async with Scene(hangs) as scene:
        for _ in range(3):
            task = asyncio.ensure_future(scene.call("hangs"))
            while not scene.clock.sleepers:
                await asyncio.sleep(0)
            scene.clock.advance(11)
            assert (await task).status is Status.TIMEOUT
        assert (await scene.call("hangs")).error_code == "breaker_open"


async def test_a_cancelled_one_leaves_the_place_to_the_next():
    with Service(*[503] * 5) as service:
        reached, hold = asyncio.Event(), True

        @tool(risk="read", timeout=1000)
        async def fetch() -> str:
            """Fetch."""
            if service.answers:
                async with httpx2.AsyncClient(verify=False) as client:
                    (await client.post(service.url)).raise_for_status()
            reached.set()
            if hold:
                await asyncio.Event().wait()
            return "done"

        async with Scene(fetch, limits=Limits(retry=Retry(attempts=1), poll=0.01, grace=0.01)) as scene:
            for _ in range(5):
                await scene.call()
            scene.clock.advance(30)
            task = asyncio.ensure_future(scene.call(session="tries"))
            await reached.wait()
            assert (await scene.call()).error_code == "breaker_open"
            task.cancel()
            while not task.done():
                scene.clock.advance(1)
                await asyncio.sleep(0)
            hold = False
            assert (await scene.call()).ok
            assert scene.runtime.parts.breakers.seen() == []


async def test_nobody_is_asked_about_a_call_that_is_not_made():
    @tool(risk="write")
    async def pay() -> None:
        """Pay."""
        raise ToolFailed("The bank is closed.", transient=True)

    async with Scene(pay, policy={"write": "allow"}) as scene:
        for _ in range(5):
            await scene.call("pay")
        scene.runtime.parts.policy._decisions = {"write": "ask"}
        assert (await scene.call("pay")).error_code == "breaker_open"


async def test_a_call_that_may_have_happened_waits_until_its_tool_is_tried_again():
    made = []

    @tool(risk="write", recovery="idempotent", local_effect=True)
    async def put() -> str:
        """Put."""
        made.append(1)
        if len(made) < 7:
            raise ConnectionResetError
        return "done"

    limits = Limits(retry=Retry(attempts=8, base=0.01, cap=0.01), poll=0.01)
    async with Scene(put, clock=FakeClock(auto=1), limits=limits, policy={"write": "allow"}) as scene:
        first = await scene.runtime.dispatch([{"name": "put", "input": {}}], session="s", step="a")
        assert len(made) == 5
        (wait,) = first.waits
        assert (wait.kind, wait.wake_at - scene.clock.now()) == (WaitKind.TIME, pytest.approx(30_000, abs=100))
        scene.clock.advance(31)
        second = await scene.runtime.dispatch([{"name": "put", "input": {}}], session="s", step="a")
        assert len(made) == 6
        scene.clock.advance(61)
        third = await scene.runtime.dispatch([{"name": "put", "input": {}}], session="s", step="a")
        assert second.waits
        assert third.results[0].ok
        assert len(made) == 7


async def test_two_runtimes_on_one_state_folder_share_it(tmp_path):
    clock = FakeClock()
    with Service(*[503] * 5) as service:
        one = Scene(fetching(service), clock=clock, state=tmp_path / "state")
        other = Scene(fetching(service), clock=clock, state=tmp_path / "state")
        async with one, other:
            for _ in range(5):
                await one.call(session="one")
            assert (await other.call(session="other")).error_code == "breaker_open"
            clock.advance(30)
            assert (await other.call(session="other")).ok
            assert (await one.call(session="one")).ok


FAILED = Failure(effect=Effect.NONE)


@pytest.mark.parametrize(
    ("attempt", "failure", "heard"),
    [
        (Returned(value=1), None, Heard.SUCCESS),
        (TimedOut(), FAILED, Heard.TIMEOUT),
        (TimedOut(began=False), FAILED, Heard.NOTHING),
        (TimedOut(of_turn=True), FAILED, Heard.NOTHING),
        (Stopped(), FAILED, Heard.NOTHING),
        (Raised(error=ToolFailed("no")), FAILED, Heard.ANSWER),
        (Raised(error=ToolFailed("no", not_found=True)), FAILED, Heard.ANSWER),
        (Raised(error=ToolFailed("no", transient=True)), FAILED, Heard.FAILURE),
        (Raised(error=ToolFailed("no", code="cancelled")), FAILED, Heard.NOTHING),
        (Raised(error=ToolFailed("no", code="process_died", effect="unknown")), FAILED, Heard.FAILURE),
        (Raised(error=ToolFailed("no", code="process_failed")), FAILED, Heard.FAILURE),
        (Raised(error=ValueError()), FAILED, Heard.FAILURE),
        (Raised(error=OSError()), Failure(effect=Effect.NONE, fault=Fault(transient=True)), Heard.FAILURE),
        (Raised(error=OSError()), Failure(effect=Effect.NONE, fault=Fault(transient=False)), Heard.NOTHING),
        (
            Raised(error=OSError()),
            Failure(effect=Effect.NONE, fault=Fault(transient=False, said="status 404")),
            Heard.ANSWER,
        ),
    ],
)
async def test_what_an_end_tells(attempt, failure, heard):
    assert breaking.heard(attempt, failure) is heard
