"""Jobs in the background: started once, asked after in growing pauses, ended from within or outside (SPEC-06)."""

from __future__ import annotations

import asyncio

import pytest

from callslip import Context, Runtime, ToolFailed, ToolResult, tool
from callslip.core.event import draft
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.call_parked import CallParked
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.principal import Principal, Role
from callslip.core.result import BlobRef, Effect, Status
from callslip.core.standing import Enrolled
from callslip.core.wait import WaitKind
from callslip.errors import NotAuthorised, ToolDefinitionError, TrustBroken
from callslip.ports.background import Done, Running
from callslip.ports.executor import ProbeAnswer
from callslip.ports.trust import Identity
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.parts import Limits
from callslip.testing.clock import FakeClock
from callslip.trust.keys import PrivateKey
from callslip.worker import Worker

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("SPEC-06")]

HOUR = 3600


class Renderer:
    """A service that renders films, beyond any process of ours."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict] = {}
        self.starts: list[str] = []
        self.polled: list[dict] = []
        self.ended: list[str] = []
        self.answer: object = Running(note="10 %")
        self.fails_to_start: BaseException | None = None

    def tool(self, recovery="never", handle=None, cancel=None, poll=None, **declared):
        service = self

        def start(film: str, context: Context) -> dict:
            """Render a film."""
            service.starts.append(context.idempotency_key)
            job = service.jobs.setdefault(context.idempotency_key, {"job": len(service.jobs) + 1})
            if service.fails_to_start is not None:
                raise service.fails_to_start
            return job if handle is None else handle

        def ask(handle: dict, context: Context):
            service.polled.append(handle)
            if isinstance(service.answer, BaseException):
                raise service.answer
            return service.answer(context) if callable(service.answer) else service.answer

        async def end(handle: dict, context: Context) -> None:
            service.ended.append(context.idempotency_key)
            service.answer = ToolFailed("The film was given up.", code="given_up", effect="done")

        def find(context: Context, film: str) -> ProbeAnswer:
            there = service.jobs.get(context.idempotency_key)
            return ProbeAnswer(happened=there is not None, result=there)

        more = {} if cancel is None else {"cancel": end if cancel is True else cancel}
        more |= {"probe": find} if recovery == "probe" else {}
        return tool(
            name="render", risk="write", recovery=recovery, poll=poll or ask, local_effect=True, **more, **declared
        )(start)


@pytest.fixture
def service():
    return Renderer()


@pytest.fixture
def clock():
    return FakeClock(auto=1)


def runtime_of(*tools, clock, **settings):
    return Runtime(tools=tools, clock=clock, limits=Limits(poll=0.01, grace=0.05), **settings)


async def dispatch(runtime, step="1", name="render", **arguments):
    return await runtime.dispatch([{"name": name, "arguments": {"film": "x"} | arguments}], session="s", step=step)


async def log(runtime, *kinds, session="s"):
    return [r.record.event for r in await runtime.parts.ledger.read(session) if isinstance(r.record.event, kinds)]


class TestOneJob:
    async def test_it_is_started_waits_without_anything_running_and_its_end_is_the_answer(self, service, clock):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            batch = await dispatch(runtime)
            (outcome,), (wait,) = batch.results, batch.waits
            assert (outcome.status, outcome.error_code) == (Status.PENDING_APPROVAL, "background")
            assert (wait.kind, wait.wake_at) == (WaitKind.BACKGROUND, clock.now() + 5000)
            assert not clock.sleepers
            assert not service.polled
            clock.advance(5)
            service.answer = Done(result={"film": "done"})
            (outcome,) = (await dispatch(runtime)).results
            assert (outcome.status, outcome.effect, outcome.result.structured) == (
                Status.SUCCESS, Effect.DONE, {"film": "done"},
            )  # fmt: skip
            assert service.polled == [{"job": 1}]
            assert not await runtime.waits()
            kinds = [type(event) for event in await log(
                runtime, ToolDispatch, WaitOpened, BackgroundStarted, FunctionResponse, WaitClosed
            )]  # fmt: skip
            assert kinds == [ToolDispatch, WaitOpened, BackgroundStarted, FunctionResponse, WaitClosed]
            (started,) = await log(runtime, BackgroundStarted)
            assert started.handle.value() == {"job": 1}
        assert len(service.starts) == 1

    async def test_it_is_not_asked_after_before_it_is_due(self, service, clock):
        async with runtime_of(service.tool(poll_after=60), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(59)
            await dispatch(runtime)
            assert not service.polled
            clock.advance(1)
            await dispatch(runtime)
            assert len(service.polled) == 1

    async def test_a_failure_of_the_job_is_its_answer(self, service, clock):
        async with runtime_of(service.tool(recovery="idempotent"), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(5)
            service.answer = ToolFailed("No film in the camera.", code="no_film", effect="unknown", retryable=True)
            (outcome,) = (await dispatch(runtime)).results
            assert (outcome.status, outcome.error_code, outcome.effect) == (
                Status.RETRYABLE_ERROR, "no_film", Effect.UNKNOWN,
            )  # fmt: skip
            assert not await runtime.waits()
        assert len(service.starts) == 1, "a job that failed is not started again by itself"

    @pytest.mark.requirement("RECO-04")
    async def test_the_model_is_not_asked_while_it_goes_on(self, service, clock):
        model = Scripted([calling(("render", {"film": "x"})), "There it is.", "As I said."])
        async with runtime_of(service.tool(), clock=clock, model=model) as runtime:
            assert (await runtime.run("Render it.", session="s")).status == "waiting"
            assert (await runtime.run("And?", session="s")).reason == "background"
            assert len(model.requests) == 1
            clock.advance(5)
            service.answer = Done(result="film")
            assert (await runtime.resume("s")).text == "As I said."

    async def test_it_holds_no_claim_and_no_thread(self, service, clock):
        film = service.tool(claims=("film:{film}",))
        async with runtime_of(film, clock=clock) as runtime:
            both = [{"name": "render", "arguments": {"film": "x"}}] * 2
            batch = await runtime.dispatch(both, session="s", step="1")
            assert len(batch.waits) == 2
            assert runtime.parts.authority.standing() == []

    async def test_a_start_that_takes_too_long_is_as_unclear_as_any(self, service, clock):
        async def start(film: str) -> str:
            """Start."""
            await asyncio.Event().wait()

        slow = tool(name="render", risk="write", poll=lambda handle, context: Done(), timeout=0.5)(start)
        async with runtime_of(slow, clock=clock) as runtime:
            (outcome,) = (await dispatch(runtime)).results
            assert outcome.error_code == "parked"
            assert not await log(runtime, BackgroundStarted)


class TestItsLog:
    async def test_one_record_each_time_the_session_is_woken_and_pauses_that_grow(self, service, clock):
        async with runtime_of(service.tool(poll_after=10), clock=clock) as runtime:
            began = clock.now()
            await dispatch(runtime)
            (wait,) = await runtime.waits()
            pauses, last = [], began
            while (clock.now() - began) / 1000 < 7 * 24 * HOUR:
                (row,) = await runtime.parts.ledger.waits()
                assert row.wait_id == wait.id, "whoever was given the wait can still end it"
                pauses.append((row.wake_at - last) // 1000)
                clock.advance((row.wake_at - clock.now()) / 1000)
                last = row.wake_at
                await dispatch(runtime)
            assert pauses[:4] == [10, 20, 40, 80]
            assert max(pauses) == HOUR
            polls = await log(runtime, BackgroundPolled)
            assert len(polls) == len(pauses) == len(service.polled) < 200
            assert len(await log(runtime, WaitOpened)) == 1
            (seen,) = await runtime.waits()
            assert seen.note == "10 %"

    async def test_its_tool_says_when_to_ask_again(self, service, clock):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(5)
            service.answer = Running(note="queued", again_in=2.5)
            await dispatch(runtime)
            assert (await runtime.waits())[0].wake_at == clock.now() + 2500

    async def test_one_that_is_due_at_once_is_asked_after_once_a_run(self, service, clock):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(5)
            service.answer = lambda context: (clock.advance(1), Running(again_in=0.001))[1]
            await dispatch(runtime)
            assert len(service.polled) == 1
            assert (await runtime.waits())[0].kind is WaitKind.BACKGROUND

    @pytest.mark.parametrize("again", [0, -1, float("nan"), float("inf"), "soon"])
    async def test_a_time_that_is_none_is_not_taken(self, service, clock, again):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(5)
            service.answer = Running(again_in=again)
            await dispatch(runtime)
            assert (await runtime.waits())[0].wake_at == clock.now() + 10_000

    @pytest.mark.parametrize(
        ("answer", "note"),
        [
            (KeyError("/srv/secret/path"), "KeyError"),
            (None, "NoneType"),
            ("half done", "str, neither Running nor Done"),
        ],
    )
    async def test_a_poll_that_fails_says_nothing_of_the_job(self, service, clock, answer, note):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(5)
            service.answer = answer
            assert (await dispatch(runtime)).results[0].error_code == "background"
            (wait,) = await runtime.waits()
            assert note in wait.note
            assert "secret" not in wait.note
            clock.advance(10)
            service.answer = Done(result=1)
            assert (await dispatch(runtime)).results[0].ok

    async def test_a_poll_that_hangs_is_given_up(self, service):
        async def hang(handle, context):
            await asyncio.Event().wait()

        clock = FakeClock()
        async with runtime_of(service.tool(poll=hang, timeout=0.05), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(5)
            await dispatch(runtime)
            assert "TimeoutError" in (await runtime.waits())[0].note

    async def test_a_result_that_cant_stand_in_a_record_is_a_failure_after_the_effect(self, service, clock):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(5)
            service.answer = Done(result=ToolResult(evidence=(BlobRef(address=5, size="no size"),)))
            (outcome,) = (await dispatch(runtime)).results
            assert (outcome.error_code, outcome.effect) == ("result_unusable", Effect.DONE)

    @pytest.mark.parametrize("handle", [{"key": "hunter2hunter2"}, {"when": object()}, b"bytes"])
    async def test_a_handle_that_cant_be_kept_leaves_the_start_unclear(self, service, clock, handle):
        film = service.tool(handle=handle)
        async with runtime_of(film, clock=clock, secrets=["hunter2hunter2"]) as runtime:
            (outcome,) = (await dispatch(runtime)).results
            assert outcome.error_code == "parked"
            (failed,) = await log(runtime, AttemptFailed)
            assert (failed.code, failed.effect) == ("handle_unusable", Effect.UNKNOWN)
            assert "hunter2" not in repr(await runtime.parts.ledger.read("s"))


class TestTooLong:
    async def test_a_job_that_takes_too_long_is_parked_and_told_of_when_it_ends_after_all(self, service, clock):
        async with runtime_of(service.tool(background_timeout=12), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(5)
            await dispatch(runtime)
            assert (await runtime.waits())[0].wake_at == clock.now() + 7000, "woken when its time is over"
            clock.advance(7)
            assert (await dispatch(runtime)).results[0].error_code == "parked"
            (parked,) = await log(runtime, CallParked)
            assert parked.code == "job_overdue"
            (wait,) = await runtime.waits()
            assert wait.kind is WaitKind.PARKED
            await dispatch(runtime)
            assert len(await log(runtime, CallParked)) == 1
            service.answer = Done(result="late, and there")
            assert (await dispatch(runtime)).results[0].result.structured == "late, and there"
            assert not await runtime.waits()

    async def test_a_person_may_end_the_waiting(self, service, clock):
        async with runtime_of(service.tool(background_timeout=1), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(1)
            (wait,) = (await dispatch(runtime)).waits
            await runtime.resolve(wait.id, "did_not_happen", reason="I ended it myself")
            await dispatch(runtime)
            assert len(service.starts) == 2, "a verdict that there is no such job lets it be started anew"
            (wait,) = await runtime.waits()
            assert wait.kind is WaitKind.BACKGROUND

    async def test_a_tool_that_is_gone_parks_and_one_that_is_back_goes_on(self, service, clock, tmp_path):
        async with runtime_of(service.tool(), clock=clock, state=tmp_path / "s") as runtime:
            await dispatch(runtime)
        clock.advance(5)

        @tool(name="render", risk="write")
        def plain(film: str) -> str:
            """Render a film, and wait for it."""
            return film

        for tools in ([], [plain]):
            async with runtime_of(*tools, clock=clock, state=tmp_path / "s") as runtime:
                await dispatch(runtime)
                (wait,) = await runtime.waits()
                assert wait.kind is WaitKind.PARKED
        async with runtime_of(service.tool(), clock=clock, state=tmp_path / "s") as runtime:
            await dispatch(runtime)
            (wait,) = await runtime.waits()
            assert wait.kind is WaitKind.BACKGROUND
            assert [event.code for event in await log(runtime, CallParked)] == ["tool_gone"]
            clock.advance(10)
            service.answer = Done(result=1)
            assert (await dispatch(runtime)).results[0].ok
        assert len(service.starts) == 1


class TestAnUnclearStart:
    """What the crash table says of a start is what it says of any call; the job that is found is asked after."""

    async def test_idempotent_is_started_again_with_the_same_key(self, service, clock):
        async with runtime_of(service.tool(recovery="idempotent"), clock=clock) as runtime:
            service.fails_to_start = ConnectionError("lost")
            clock.advance(0)

            async def mend():
                while len(service.starts) < 1:
                    await asyncio.sleep(0)
                service.fails_to_start = None

            mending = asyncio.ensure_future(mend())
            await dispatch(runtime)
            await mending
            assert len(service.starts) == 2
            assert len(set(service.starts)) == len(service.jobs) == 1
            (started,) = await log(runtime, BackgroundStarted)
            assert started.attempt == 2

    async def test_a_probe_gives_the_handle(self, service, clock):
        async with runtime_of(service.tool(recovery="probe"), clock=clock) as runtime:
            service.fails_to_start = ConnectionError("lost")
            assert (await dispatch(runtime)).results[0].error_code == "background"
            (started,) = await log(runtime, BackgroundStarted)
            assert (started.attempt, started.handle.value()) == (1, {"job": 1})
            clock.advance(5)
            service.answer = Done(result="found and done")
            assert (await dispatch(runtime)).results[0].result.structured == "found and done"
        assert len(service.starts) == 1

    async def test_never_is_parked(self, service, clock):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            service.fails_to_start = ConnectionError("lost")
            assert (await dispatch(runtime)).results[0].error_code == "parked"
            assert [event.code for event in await log(runtime, CallParked)] == ["unknown_outcome"]


class TestFromOutside:
    async def test_its_system_may_say_that_it_has_ended(self, service, clock):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            (wait,) = (await dispatch(runtime)).waits
            await runtime.submit(wait.id, {"by": "webhook"})
            assert (await dispatch(runtime)).results[0].result.structured == {"by": "webhook"}
        assert not service.polled

    async def test_or_that_it_has_failed(self, service, clock):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            (wait,) = (await dispatch(runtime)).waits
            await runtime.submit(wait.id, error="the film tore", effect="done")
            (outcome,) = (await dispatch(runtime)).results
            assert (outcome.error_code, outcome.effect) == ("client_failed", Effect.DONE)

    async def test_a_result_that_comes_while_it_is_asked_after_counts_and_the_other_does_not(self, service, clock):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            (wait,) = (await dispatch(runtime)).waits
            clock.advance(5)
            loop = asyncio.get_running_loop()

            def meanwhile(context):
                asyncio.run_coroutine_threadsafe(runtime.submit(wait.id, "from outside"), loop).result(10)
                return Done(result="from within")

            service.answer = meanwhile
            assert (await dispatch(runtime)).results[0].result.structured == "from outside"
            assert len(await log(runtime, FunctionResponse)) == 1

    @pytest.mark.requirement("APPR-08")
    async def test_where_keys_are_enrolled_it_is_a_callers_and_a_forged_one_closes_the_session(self, service, clock):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            cara = enrolled(runtime, "cara", Role.CALLER)
            (wait,) = (await dispatch(runtime)).waits
            with pytest.raises(NotAuthorised):
                await runtime.submit(wait.id, "mine")
            await runtime.submit(wait.id, "hers", by=cara)
            assert (await dispatch(runtime)).results[0].result.structured == "hers"
            (second,) = (await dispatch(runtime, step="2")).waits
            (_, t1) = await log(runtime, ToolDispatch)
            forged = FunctionResponse(
                call_id=t1.call_id, lane="settled", status=Status.SUCCESS, effect=Effect.DONE, attempt=1, nonce=t1.nonce
            )
            (head,) = await runtime.parts.ledger.heads("s")
            made = [forged, WaitClosed(wait_id=second.id, how="submitted", actor="cara")]
            drafts = [draft(event, at=1, by="forger", epoch=0, run="") for event in made]
            await runtime.parts.ledger.decide("s", drafts, expected=head.seq)
            with pytest.raises(TrustBroken, match="signed by nobody"):
                await dispatch(runtime, step="2")

    async def test_what_the_driver_itself_was_told_needs_no_signature(self, service, clock):
        async with runtime_of(service.tool(), clock=clock) as runtime:
            enrolled(runtime, "cara", Role.CALLER)
            await dispatch(runtime)
            clock.advance(5)
            service.answer = Done(result=1)
            assert (await dispatch(runtime)).results[0].ok


def enrolled(runtime, name, *roles):
    key, root = PrivateKey.fresh(), PrivateKey.fresh()
    operator = Identity(name="olga", uid=10, signer=root)
    runtime.parts.trust.state(
        Enrolled(principal=Principal(name="olga", roles=(Role.OPERATOR,), key=root.key, uid=10)), operator
    )
    runtime.parts.trust.state(Enrolled(principal=Principal(name=name, roles=roles, key=key.key, uid=11)), operator)
    return Identity(name=name, uid=11, signer=key)


class TestAStop:
    def session(self, service, clock, **declared):
        model = Scripted([calling(("render", {"film": "x"})), "Never asked."])
        return runtime_of(service.tool(**declared), clock=clock, model=model), model

    async def test_a_job_that_can_be_told_to_end_is_and_its_answer_is_recorded(self, service, clock):
        runtime, model = self.session(service, clock, cancel=True)
        async with runtime:
            await runtime.run("Render it.", session="s")
            await runtime.stop("s")
            run = await runtime.resume("s")
            assert run.status == "stopped"
            assert len(service.ended) == 1
            (response,) = await log(runtime, FunctionResponse)
            assert (response.error_code, response.effect) == ("given_up", Effect.DONE)
            assert not await runtime.waits()
            assert len(model.requests) == 1

    async def test_one_that_cant_goes_on_and_its_wait_stays(self, service, clock):
        runtime, model = self.session(service, clock)
        async with runtime:
            await runtime.run("Render it.", session="s")
            await runtime.stop("s")
            assert (await runtime.resume("s")).status == "stopped"
            (wait,) = await runtime.waits()
            assert wait.note.startswith("it can't be told to end")
            clock.advance(5)
            service.answer = Done(result="all the same")
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 1
            (response,) = await log(runtime, FunctionResponse)
            assert response.status is Status.SUCCESS
            assert [event.status for event in await log(runtime, RunEnded)] == ["waiting", "stopped", "finished"]
            assert len(model.requests) == 1, "the turn was stopped: what comes of the job is recorded, and no more"

    async def test_it_is_told_once(self, service, clock):
        told = []
        runtime, _ = self.session(service, clock, cancel=lambda handle, context: told.append(handle))
        service.answer = Running(note="still rendering")
        async with runtime:
            await runtime.run("Render it.", session="s")
            await runtime.stop("s")
            assert (await runtime.resume("s")).status == "stopped"
            (wait,) = await runtime.waits()
            assert wait.note == "it was told to end; still rendering"
            clock.advance(5)
            await runtime.resume("s")
            assert told == [{"job": 1}]

    async def test_an_end_that_cant_be_told_is_no_end(self, service, clock):
        def broken(handle, context):
            raise OSError("no line")

        runtime, _ = self.session(service, clock, cancel=broken)
        async with runtime:
            await runtime.run("Render it.", session="s")
            await runtime.stop("s")
            assert (await runtime.resume("s")).status == "stopped"
            assert (await runtime.waits())[0].note.startswith("telling it to end failed (OSError)")

    async def test_a_stop_does_not_wait_for_a_poll(self, service, clock):
        asked = asyncio.Event()

        async def hang(handle, context):
            asked.set()
            await asyncio.Event().wait()

        runtime, _ = self.session(service, clock, poll=hang, cancel=True)
        async with runtime:
            await runtime.run("Render it.", session="s")
            clock.advance(5)
            going = asyncio.ensure_future(runtime.resume("s"))
            await asked.wait()
            await runtime.stop("s")
            assert (await going).status == "stopped"
            assert len(service.ended) == 1, "and the job is told all the same"

    async def test_one_whose_tool_is_gone_is_parked_and_the_run_ends(self, service, clock, tmp_path):
        model = Scripted([calling(("render", {"film": "x"})), "Never asked."])
        async with runtime_of(service.tool(), clock=clock, model=model, state=tmp_path / "s") as runtime:
            await runtime.run("Render it.", session="s")
            await runtime.stop("s")
        async with runtime_of(clock=clock, model=model, state=tmp_path / "s") as runtime:
            assert (await runtime.resume("s")).status == "stopped"
            assert [event.code for event in await log(runtime, CallParked)] == ["tool_gone"]

    async def test_an_overdue_one_is_parked_and_the_run_ends(self, service, clock):
        runtime, _ = self.session(service, clock, cancel=lambda handle, context: None, background_timeout=5)
        async with runtime:
            await runtime.run("Render it.", session="s")
            clock.advance(5)
            await runtime.stop("s")
            assert (await runtime.resume("s")).status == "stopped"
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 1
            assert [event.code for event in await log(runtime, CallParked)] == ["job_overdue"]


class TestTheWorker:
    async def test_it_wakes_the_session_when_the_job_is_due_and_not_before(self, service, clock):
        model = Scripted([calling(("render", {"film": "x"})), "There it is."])
        async with runtime_of(service.tool(), clock=clock, model=model) as runtime:
            await runtime.run("Render it.", session="s")
            worker = Worker(runtime)
            assert await worker.serve(asyncio.Event(), once=True) == 0
            clock.advance(5)
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 1
            assert len(service.polled) == 1
            service.answer = Done(result="film")
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 0
            clock.advance(10)
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 1
            assert (await log(runtime, RunEnded))[-1].status == "finished"

    async def test_it_does_not_wake_again_and_again_where_the_job_cant_be_asked_after(self, service, clock, tmp_path):
        for name in ("one", "other"):
            (tmp_path / name).mkdir()
        model = Scripted([calling(("render", {"film": "x"})), "There it is."])
        settings = {"clock": clock, "model": model, "state": tmp_path / "s"}
        async with runtime_of(service.tool(), workspace=tmp_path / "one", **settings) as runtime:
            await runtime.run("Render it.", session="s")
        clock.advance(5)
        async with runtime_of(service.tool(), workspace=tmp_path / "other", **settings) as runtime:
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 1
            assert await Worker(runtime).serve(asyncio.Event(), once=True) == 0
            assert not service.polled
            notes = [wait.note for wait in await runtime.waits() if wait.kind is WaitKind.BACKGROUND]
            assert "not the workspace" in notes[0]


class TestDeclarations:
    def start(self):
        def start(film: str) -> str:
            """Start."""
            return film

        return start

    def poll(self, handle, context):
        return Done()

    @pytest.mark.parametrize(
        ("declared", "says"),
        [
            ({"cancel": print}, "poll function"),
            ({"background_timeout": 5}, "poll function"),
            ({"poll": print, "poll_after": 0}, "must be positive"),
            ({"poll": print, "background_timeout": 0}, "must be positive"),
            ({"poll": print, "client_owned": True}, "started here"),
            ({"poll": print, "recovery": "evidence", "prepare": print, "digest": print}, "evidence can't tell"),
        ],
    )
    def test_what_contradicts_itself(self, declared, says):
        with pytest.raises(ToolDefinitionError, match=says):
            tool(**declared)(self.start())

    def test_a_stream_is_no_handle(self):
        async def pieces(film: str):
            """Stream."""
            yield film

        with pytest.raises(ToolDefinitionError, match="stream"):
            tool(poll=self.poll)(pieces)

    def test_what_the_function_returns_is_the_handle_and_not_the_result(self):
        assert tool(poll=self.poll)(self.start()).spec.output_schema is None
        declared = tool(poll=self.poll, output_schema={"type": "integer"})(self.start()).spec
        assert (declared.background, declared.output_schema) == (True, {"type": "integer"})

    async def test_the_result_is_held_against_its_schema(self, service, clock):
        async with runtime_of(service.tool(output_schema={"type": "integer"}), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(5)
            service.answer = Done(result="not a number")
            await dispatch(runtime)
            (response,) = await log(runtime, FunctionResponse)
            assert "departs from its output schema" in response.notes[0]

    async def test_a_poll_may_keep_artifacts(self, service, clock):
        def made(context):
            return Done(result={"film": context.artifact("film.mp4", b"moving").address})

        async with runtime_of(service.tool(), clock=clock) as runtime:
            await dispatch(runtime)
            clock.advance(5)
            service.answer = made
            (outcome,) = (await dispatch(runtime)).results
            assert outcome.result.evidence[0].name == "film.mp4"
            assert await runtime.parts.blobs.get(outcome.result.evidence[0].address) == b"moving"
