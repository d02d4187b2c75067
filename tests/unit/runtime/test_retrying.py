"""Failed attempts that are made again, against a real HTTP service: when, how often, and never where it isn't safe."""

from __future__ import annotations

import asyncio
import socket

import httpx2
import pytest
from service import BREAKS, Service

from callslip import Context, Runtime, ToolFailed, tool
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.call_parked import CallParked
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.fault import Fault, one_request
from callslip.core.raised import first_line
from callslip.core.result import Effect, Status
from callslip.core.retry import Retry
from callslip.core.wait import WaitKind
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.live import Recorded, ignore
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RESI-01")]


def made(service, **declared):
    """A tool that makes one request."""

    @tool(name="fetch", timeout=300, **{"risk": "read", **declared})
    async def fetch(context: Context) -> str:
        """Fetch."""
        # Plain HTTP: the system's certificates, which take 20 ms to read, are of no use.
        async with httpx2.AsyncClient(timeout=60, verify=False) as client:
            response = await client.post(service.url, headers={"idempotency-key": context.idempotency_key})
        response.raise_for_status()
        return response.json()

    return fetch


class Scene:
    def __init__(self, *tools, draw=0.5, auto=60.0, watch=ignore, **limits):
        self.clock = FakeClock(auto=auto)
        self.runtime = Runtime(
            tools=tools, clock=self.clock, watch=watch,
            limits=Limits(**{"patience": 30.0, "poll": 0.01, **limits}),
        )  # fmt: skip
        self.runtime.parts.draw = lambda: draw

    async def __aenter__(self):
        await self.runtime.__aenter__()
        return self

    async def __aexit__(self, *error):
        await self.runtime.__aexit__(*error)

    async def call(self, name="fetch", step="1"):
        batch = await self.runtime.dispatch([{"name": name, "input": {}}], session="s", step=step)
        return batch.results[0]

    async def events(self, *kinds):
        log = await self.runtime.parts.ledger.read("s")
        return [one.record.event for one in log if isinstance(one.record.event, kinds)]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
async def test_what_passes_is_tried_again_by_the_runtime_and_not_by_the_model(status):
    with Service(status, status) as service:
        async with Scene(made(service)) as scene:
            outcome = await scene.call()
            asked = await scene.events(ModelRequested)
            t1s, failed, answers = [
                await scene.events(kind) for kind in (ToolDispatch, AttemptFailed, FunctionResponse)
            ]
    assert (outcome.status, outcome.attempt, len(service.requests)) == (Status.SUCCESS, 3, 3)
    assert len(asked) == 1
    assert [t1.attempt for t1 in t1s] == [1, 2, 3]
    assert [(one.transient, one.effect, one.layer, one.code) for one in failed] == [
        (True, Effect.NONE, "network", "unavailable")
    ] * 2
    assert len(answers) == 1
    assert len({key for _, key in service.requests}) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 501])
async def test_what_stays_is_not(status):
    with Service(status) as service:
        async with Scene(made(service)) as scene:
            outcome = await scene.call()
            assert not await scene.events(AttemptFailed)
    assert (outcome.status, outcome.error_code, outcome.retryable) == (Status.FATAL_ERROR, "tool_exception", False)
    assert f"status {status}" in outcome.error_message
    assert len(service.requests) == 1


async def test_the_pauses_grow_and_are_drawn_from_nothing_up():
    with Service(*[503] * 4) as service:
        async with Scene(made(service), draw=1.0) as scene:
            await scene.call()
            failed = await scene.events(AttemptFailed)
            records = await scene.runtime.parts.ledger.read("s")
    at = [one.record.at for one in records if isinstance(one.record.event, AttemptFailed)]
    assert [one.retry_at - when for one, when in zip(failed, at, strict=True)] == [1000, 2000, 4000, 8000]
    t1 = [one.record.at for one in records if isinstance(one.record.event, ToolDispatch)]
    assert all(begins >= one.retry_at for begins, one in zip(t1[1:], failed, strict=True)), "it is waited for"


async def test_it_ends_after_so_many_attempts_with_the_failure_itself():
    with Service(*[503] * 9) as service:
        async with Scene(made(service), retry=Retry(attempts=4)) as scene:
            outcome = await scene.call()
    assert (outcome.status, outcome.error_code) == (Status.RETRYABLE_ERROR, "unavailable")
    assert (outcome.retryable, outcome.attempt, outcome.effect) == (True, 4, Effect.NONE)
    assert outcome.error_message == "The service behind the tool failed: status 503. It was tried 4 times."
    assert len(service.requests) == 4


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:09 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 9),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:09 GMT", "date": "Wed, 21 Oct 2015 09:00:00 GMT"}, 0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:25 GMT"}, 5),  # no date of its own: by our clock
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "0"}, 0),
    ],
)
async def test_a_service_that_says_how_long_is_left_alone_for_so_long(headers, seconds):
    with Service((429, headers)) as service:
        async with Scene(made(service), draw=0.0) as scene:
            before = scene.clock.now()
            assert (await scene.call()).ok
            (failed,) = await scene.events(AttemptFailed)
    assert failed.retry_at - before == pytest.approx(seconds * 1000, abs=2)


@pytest.mark.parametrize(
    ("after", "limits"),
    [
        ("99999999999999999999", {}),
        ("86400", {}),
        ("3601", {}),
        ("31", {"retry": Retry(within=30)}),
        ("Fri, 31 Dec 9999 23:59:59 GMT", {}),
    ],
)
async def test_an_absurd_time_ends_the_retrying(after, limits):
    with Service((503, {"retry-after": after})) as service:
        async with Scene(made(service), **limits) as scene:
            outcome = await scene.call()
    long = len(after) > 5  # longer than a day: to call it again is no use to anybody
    status = Status.FATAL_ERROR if long else Status.RETRYABLE_ERROR
    assert (outcome.status, outcome.retryable, len(service.requests)) == (status, not long, 1)
    assert "longer than is waited" in outcome.error_message


async def test_a_pause_longer_than_a_run_waits_is_a_wait_that_a_later_run_takes_up():
    with Service((429, {"retry-after": "120"})) as service:
        async with Scene(made(service), draw=0.0) as scene:
            outcome = await scene.call()
            (wait,) = await scene.runtime.waits("s")
            assert (outcome.status, wait.kind) == (Status.PENDING_APPROVAL, WaitKind.TIME)
            assert wait.wake_at - scene.clock.now() == 120_000
            await scene.runtime.release("s")
            scene.clock.advance(119)
            assert (await scene.call()).status is Status.PENDING_APPROVAL
            scene.clock.advance(1)
            assert (await scene.call()).ok
            (closed,) = await scene.events(WaitClosed)
    assert (closed.how, len(service.requests)) == ("elapsed", 2)


@pytest.mark.parametrize(("declared", "left"), [({}, False), ({"risk": "write", "recovery": "idempotent"}, True)])
async def test_a_turn_without_time_ends_the_retrying_of_what_did_nothing_and_parks_nothing(declared, left):
    with Service((503, {"retry-after": "60"})) as service:
        async with Scene(made(service, **declared), auto=20.0, turn_seconds=40) as scene:
            scene.runtime.use_model(Scripted([calling(("fetch", {})), "Done."]))
            run = await scene.runtime.run("Go.", session="s")
            state = await scene.runtime.state("s")
            assert not await scene.events(CallParked)
            assert bool(state.open_calls()) == left
    assert run.status == ("waiting" if left else "finished")
    assert len(service.requests) == 1


@pytest.mark.requirement("RESI-02")
class TestWhatMayHaveHappened:
    @pytest.mark.parametrize("answer", [BREAKS, 429, 500, 503])
    async def test_a_write_that_nothing_is_declared_of_is_never_repeated(self, answer):
        with Service(answer) as service:
            async with Scene(made(service, risk="write")) as scene:
                outcome = await scene.call()
                (parked,) = await scene.events(CallParked)
        assert (outcome.error_code, parked.code, len(service.requests)) == ("parked", "unknown_outcome", 1)

    @pytest.mark.parametrize("answer", [BREAKS, 429, 500, 503])
    async def test_one_that_is_declared_idempotent_is_repeated_under_the_same_key(self, answer):
        with Service(answer) as service:
            async with Scene(made(service, risk="write", recovery="idempotent")) as scene:
                outcome = await scene.call()
        assert (outcome.status, len(service.requests)) == (Status.SUCCESS, 2)
        assert service.requests[0] == service.requests[1]

    async def test_an_idempotent_one_that_would_fail_the_same_is_for_a_person_at_once(self):
        with Service(404) as service:
            async with Scene(made(service, risk="write", recovery="idempotent")) as scene:
                outcome = await scene.call()
                (parked,) = await scene.events(CallParked)
        assert (outcome.error_code, parked.code, len(service.requests)) == ("parked", "unknown_outcome", 1)

    async def test_an_idempotent_one_that_never_ends_is_parked(self):
        with Service(*[BREAKS] * 9) as service:
            async with Scene(made(service, risk="write", recovery="idempotent")) as scene:
                await scene.call()
                (parked,) = await scene.events(CallParked)
        assert (parked.code, len(service.requests)) == ("attempts_exhausted", 5)
        assert "5 attempts" in parked.reason

    @pytest.mark.parametrize("answer", [429, 425, (503, {"retry-after": "1"})])
    async def test_a_single_request_that_was_refused_did_nothing(self, answer):
        with Service(answer) as service:
            async with Scene(made(service, risk="write", classify=one_request)) as scene:
                assert (await scene.call()).ok
                (failed,) = await scene.events(AttemptFailed)
        assert (failed.effect, len(service.requests)) == (Effect.NONE, 2)

    @pytest.mark.parametrize("answer", [BREAKS, 408, 409, 500, 502, 503, 504, 529])
    async def test_a_single_request_that_may_have_been_carried_out_is_unclear(self, answer):
        with Service(answer) as service:
            async with Scene(made(service, risk="write", classify=one_request)) as scene:
                await scene.call()
                (parked,) = await scene.events(CallParked)
        assert (parked.code, len(service.requests)) == ("unknown_outcome", 1)

    async def test_a_connection_that_is_refused(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]

        class Nowhere:
            url = f"http://127.0.0.1:{port}/"

        async with Scene(made(Nowhere, risk="write", classify=one_request)) as scene:
            outcome = await scene.call()
        assert (outcome.status, outcome.effect, outcome.attempt) == (Status.RETRYABLE_ERROR, Effect.NONE, 5)
        assert "connection refused" in outcome.error_message

    async def test_the_same_of_a_function_that_may_have_made_more_requests_proves_nothing(self):
        with Service() as service:

            @tool(risk="write", timeout=300)
            async def two() -> str:
                """Make two requests."""
                async with httpx2.AsyncClient(verify=False) as client:
                    await client.post(service.url)
                    await client.post("http://127.0.0.1:9/")
                return ""

            async with Scene(two) as scene:
                outcome = await scene.call("two")
        assert (outcome.error_code, len(service.requests)) == ("parked", 1)


class TestTheToolsOwnWord:
    async def test_a_tool_says_that_it_passes_and_when(self):
        ran = []

        @tool(risk="write")
        async def pay() -> str:
            """Pay."""
            ran.append(1)
            if len(ran) < 3:
                raise ToolFailed("The bank is closed.", code="closed", transient=True, retry_after=2)
            return "paid"

        async with Scene(pay, draw=0.0) as scene:
            before = scene.clock.now()
            assert (await scene.call("pay")).ok
            assert scene.clock.now() - before == 4000
            assert {one.code for one in await scene.events(AttemptFailed)} == {"closed"}
        assert len(ran) == 3

    async def test_its_own_words_are_what_remains(self):
        @tool(risk="write")
        async def pay() -> str:
            """Pay."""
            raise ToolFailed("The bank is closed.", code="closed", transient=True)

        async with Scene(pay) as scene:
            outcome = await scene.call("pay")
        assert (outcome.error_code, outcome.status, outcome.retryable) == ("closed", Status.RETRYABLE_ERROR, True)
        assert outcome.error_message == "The bank is closed. It was tried 5 times."

    async def test_a_sentence_without_an_end_gets_one(self):
        @tool(risk="write")
        async def pay() -> str:
            """Pay."""
            raise ToolFailed("the bank is down", code="down", transient=True)

        async with Scene(pay) as scene:
            outcome = await scene.call("pay")
        assert outcome.error_message == "the bank is down. It was tried 5 times."

    async def test_that_the_model_may_call_again_is_no_reason_to_do_so_here(self):
        ran = []

        @tool(risk="read")
        async def look() -> str:
            """Look."""
            ran.append(1)
            raise ToolFailed("Not now.", retryable=True)

        async with Scene(look) as scene:
            assert (await scene.call("look")).retryable
        assert len(ran) == 1

    @pytest.mark.requirement("RESI-02")
    async def test_what_took_effect_is_not_repeated_however_passing_its_failure(self):
        ran = []

        @tool(risk="write", recovery="idempotent")
        async def pay() -> str:
            """Pay."""
            ran.append(1)
            raise ToolFailed("Paid; the receipt is late.", effect="done", transient=True)

        async with Scene(pay) as scene:
            outcome = await scene.call("pay")
        assert (outcome.effect, len(ran)) == (Effect.DONE, 1)

    async def test_a_classifier_of_its_own_goes_first(self):
        def classify(error):
            return Fault(transient=True, effect="none", retry_after=1, said="the queue is full")

        ran = []

        @tool(risk="write", classify=classify)
        async def push() -> str:
            """Push."""
            ran.append(1)
            raise KeyError("q")

        async with Scene(push, draw=0.0) as scene:
            outcome = await scene.call("push")
            assert scene.clock.now() - 1_700_000_000_000 == 4000
        assert (outcome.error_code, len(ran)) == ("unavailable", 5)
        assert "the queue is full" in outcome.error_message

    @pytest.mark.parametrize("wrong", [ZeroDivisionError(), "transient", None])
    async def test_a_classifier_that_fails_or_says_nothing_says_nothing(self, wrong):
        def classify(error):
            if isinstance(wrong, Exception):
                raise wrong
            return wrong

        with Service(503) as service:
            async with Scene(made(service, classify=classify)) as scene:
                assert (await scene.call()).ok
        assert len(service.requests) == 2


class TestWhileItPauses:
    async def begin(self, scene, service, *, calls=1):
        scene.clock._auto = 0.0
        names = [{"name": "fetch", "input": {}} for _ in range(calls)]
        task = asyncio.create_task(scene.runtime.dispatch(names, session="s", step="1"))
        while len(await self.failed(scene)) < calls:
            await asyncio.sleep(0.005)
        return task

    async def failed(self, scene):
        try:
            return await scene.events(AttemptFailed)
        except Exception:
            return []

    @pytest.mark.parametrize("how", ["stop", "steer"])
    async def test_a_stop_or_a_steer_ends_it_at_once_and_answers_the_call(self, how):
        with Service(503) as service:
            async with Scene(made(service), draw=1.0) as scene:
                task = await self.begin(scene, service)
                if how == "stop":
                    await scene.runtime.stop("s")
                else:
                    await scene.runtime.send("s", "Something else.", steer=True)
                (outcome,) = (await asyncio.wait_for(task, 60)).results
        assert (outcome.error_code, outcome.effect, outcome.attempt) == ("unavailable", Effect.NONE, 1)
        assert "not tried again" in outcome.error_message
        assert len(service.requests) == 1

    async def test_it_holds_no_claim(self):
        with Service(503) as service:
            async with Scene(made(service, claims=["thing"]), draw=1.0) as scene:
                task = await self.begin(scene, service)
                outcome = await asyncio.wait_for(
                    scene.runtime.dispatch([{"name": "fetch", "input": {}}], session="other", step="1"), 60
                )
                assert outcome.results[0].ok
                scene.clock.advance(1)
                assert (await asyncio.wait_for(task, 60)).results[0].ok

    async def test_a_clock_that_is_set_back_makes_it_no_longer(self):
        with Service(503) as service:
            async with Scene(made(service), draw=1.0) as scene:
                task = await self.begin(scene, service)
                while scene.clock.until_next() != 1:  # until it pauses
                    await asyncio.sleep(0.005)
                scene.clock.step(-3600)
                scene.clock.advance(1)
                assert (await asyncio.wait_for(task, 60)).results[0].ok


async def test_a_clock_that_is_set_back_between_a_failure_and_its_pause_makes_it_no_longer():
    def step_back(live):
        if isinstance(live, Recorded) and isinstance(live.record.event, AttemptFailed):
            scene.clock.step(-3600)  # before the call is looked at again

    with Service(503) as service:
        async with Scene(made(service), draw=1.0, auto=0.0, watch=step_back) as scene:
            task = asyncio.create_task(scene.call())
            while (scene.clock.until_next() or 99) > 1:
                await asyncio.sleep(0.005)
            assert not await scene.events(WaitOpened), "an hour's wait"
            scene.clock.advance(0.99)
            for _ in range(50):
                await asyncio.sleep(0)
            assert not task.done(), "nor shorter"
            scene.clock.advance(0.02)
            assert (await asyncio.wait_for(task, 60)).ok
    assert len(service.requests) == 2


async def test_a_clock_that_is_set_back_before_a_probes_pause_makes_it_no_longer():
    def step_back(live):
        event = live.record.event if isinstance(live, Recorded) else None
        if isinstance(event, AttemptFailed) and event.code == "did_not_happen":
            scene.clock.step(-3600)

    tried = []

    @tool(risk="write", recovery="probe", quiet=0, probe=lambda context: None)
    async def pay() -> str:
        """Pay."""
        tried.append(1)
        if len(tried) == 1:
            raise ConnectionResetError
        return "paid"

    async with Scene(pay, draw=1.0, auto=1.0, watch=step_back) as scene:
        assert (await asyncio.wait_for(scene.call("pay"), 60)).ok
        assert not await scene.events(WaitOpened)


async def test_a_probe_that_finds_nothing_leaves_the_rule_in_force():
    ran = []

    @tool(risk="write", recovery="probe", quiet=0, probe=lambda context: None)
    async def pay() -> str:
        """Pay."""
        ran.append(1)
        raise ConnectionResetError

    async with Scene(pay, retry=Retry(attempts=3)) as scene:
        outcome = await scene.call("pay")
        failed = await scene.events(AttemptFailed)
    assert (outcome.effect, outcome.attempt, len(ran)) == (Effect.NONE, 3, 3)
    assert outcome.retryable
    assert [one.code for one in failed] == ["unavailable", "did_not_happen"] * 3
    assert all(one.retry_at for one in failed if one.code == "did_not_happen" and not one.last)


@pytest.mark.parametrize(
    ("after", "said", "status", "retryable"),
    [
        ("7200", "for 2 hours", Status.RETRYABLE_ERROR, True),
        ("1000000000", "for 32 years", Status.FATAL_ERROR, False),
        ("9" * 401, "for ever", Status.FATAL_ERROR, False),
    ],
)
async def test_whoever_asks_to_be_left_alone_for_years_is_not_called_again(after, said, status, retryable):
    with Service((429, {"retry-after": after})) as service:
        async with Scene(made(service)) as scene:
            outcome = await scene.call()
    assert f"asks to be left alone {said}, which" in outcome.error_message
    assert (outcome.status, outcome.retryable, len(service.requests)) == (status, retryable, 1)


async def test_of_a_long_error_the_beginning_is_recorded():
    """Where it says what has failed."""

    @tool(risk="read")
    async def fetch() -> str:
        """Fetch."""
        raise ValueError("what failed\n" + "and more\n" * 5000)

    async with Scene(fetch) as scene:
        await scene.call("fetch")
        (answer,) = await scene.events(FunctionResponse)
    assert first_line(answer.internal) == "ValueError: what failed"
    assert len(answer.internal) < 9000
