"""Requests to a model that are made again: by one rule, in one place, with real adapters against a real server."""

from __future__ import annotations

import asyncio
import datetime
from email.utils import format_datetime

import pytest

from callslip import Runtime
from callslip.core.events.model_failed import ModelFailed
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.retry import Retry
from callslip.core.wait import WaitKind
from callslip.errors import ModelUnavailable
from callslip.models import build_model
from callslip.runtime.live import ModelText, Recorded
from callslip.runtime.parts import Limits
from callslip.testing.chat_server import ChatServer, Says, Sends, Streams
from callslip.testing.clock import FakeClock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("WIRE-06")]

BUSY = Sends(status=503, body={"error": {"message": "overloaded"}})


def limited(after):
    return Sends(status=429, body={"error": {"message": "slow down"}}, headers={"retry-after": after})


class Scene:
    def __init__(self, server, *, draw=0.5, auto=30.0, state=None, clock=None, stream=False, watch=None, **limits):
        self.clock = clock or FakeClock(auto=auto)
        self.seen = []
        self.runtime = Runtime(
            model=build_model("openai:m", base_url=server.base_url), clock=self.clock, watch=watch or self.seen.append,
            limits=Limits(**{"patience": 20.0, "poll": 0.01, **limits}), state=state, stream=stream,
        )  # fmt: skip
        self.runtime.parts.draw = lambda: draw

    async def __aenter__(self):
        await self.runtime.__aenter__()
        return self

    async def __aexit__(self, *error):
        await self.runtime.__aexit__(*error)

    async def events(self, *kinds):
        log = await self.runtime.parts.ledger.read("s")
        return [one.record.event for one in log if isinstance(one.record.event, kinds)]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-1234567890")


async def test_nothing_retries_twice():
    """What the server is asked is what the log says, and no more."""
    with ChatServer([BUSY, BUSY, Says("Here.")]) as server:
        async with Scene(server, draw=1.0) as scene:
            began = scene.clock.now()
            run = await scene.runtime.run("Hello.", session="s")
            failed = await scene.events(ModelFailed)
            assert len(await scene.events(ModelRequested)) == 1
            assert scene.clock.now() - began == 3000
        requests = [one.body for one in server.requests]
    assert (run.status, run.text, len(requests)) == ("finished", "Here.", 3)
    assert requests[0] == requests[1] == requests[2]
    assert [(one.attempt, one.step, one.model, one.code) for one in failed] == [
        (1, "1.1", "openai_chat:m", "model_unavailable"),
        (2, "1.1", "openai_chat:m", "model_unavailable"),
    ]
    assert "overloaded" in failed[0].message


async def test_it_fails_after_so_many_and_says_how_many():
    with ChatServer([BUSY] * 9) as server:
        async with Scene(server) as scene:
            with pytest.raises(ModelUnavailable, match=r"It was tried 5 times\."):
                await scene.runtime.run("Hello.", session="s")
            (ended,) = await scene.events(RunEnded)
            assert len(server.requests) == 5
            assert (ended.status, "5 times" in ended.reason) == ("failed", True)
            with pytest.raises(ModelUnavailable):
                await scene.runtime.resume("s")
            assert len(server.requests) == 10, "whoever resumes by hand begins anew"


async def test_after_a_reply_the_count_begins_anew():
    with ChatServer([BUSY, Says("One."), *[BUSY] * 4, Says("Two.")]) as server:
        async with Scene(server) as scene:
            await scene.runtime.run("Hello.", session="s")
            assert (await scene.runtime.run("And?", session="s")).text == "Two."
            assert [one.attempt for one in await scene.events(ModelFailed)] == [1, 1, 2, 3, 4]


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_what_stays_is_asked_once(status):
    with ChatServer([Sends(status=status, body={"error": {"message": "no"}})]) as server:
        async with Scene(server) as scene:
            with pytest.raises(ModelUnavailable) as caught:
                await scene.runtime.run("Hello.", session="s")
            assert not await scene.events(ModelFailed)
        assert len(server.requests) == 1
    assert "tried" not in str(caught.value)


@pytest.mark.parametrize("dated", [False, True])
async def test_its_own_time_goes_first(dated):
    in_9 = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=9)  # by the server's clock, not by ours
    with ChatServer([limited(format_datetime(in_9, usegmt=True) if dated else "9"), Says("Here.")]) as server:
        async with Scene(server, draw=0.0) as scene:
            began = scene.clock.now()
            assert (await scene.runtime.run("Hello.", session="s")).status == "finished"
            assert scene.clock.now() - began in (range(6000, 9001) if dated else [9000])


async def test_an_absurd_time_is_not_waited_for():
    with ChatServer([limited("999999")]) as server:
        async with Scene(server) as scene:
            with pytest.raises(ModelUnavailable, match="longer than is waited"):
                await scene.runtime.run("Hello.", session="s")
        assert len(server.requests) == 1


async def test_a_long_pause_ends_the_run_and_a_worker_goes_on_at_its_time(tmp_path):
    from callslip.worker import Worker

    with ChatServer([limited("90"), Says("Here.")]) as server:
        async with Scene(server, state=tmp_path / "state", draw=0.0) as scene:
            run = await scene.runtime.run("Hello.", session="s")
            (wait,) = run.waits
            assert (run.status, run.reason, wait.kind) == ("waiting", "time", WaitKind.TIME)
            assert wait.wake_at - scene.clock.now() == 90_000
            worker = Worker(scene.runtime)
            assert await worker.serve(asyncio.Event(), once=True) == 0, "not before its time"
            assert (await scene.runtime.resume("s")).status == "waiting"
            assert [one.id for one in await scene.runtime.waits("s")] == [wait.id], (
                "one wait, however often it is looked at"
            )
            scene.clock.advance(90)
            assert await worker.serve(asyncio.Event(), once=True) == 1
            assert (await scene.runtime.state("s")).step.text == "Here."
            assert not await scene.runtime.waits("s")
        assert len(server.requests) == 2


class TestWhileItPauses:
    async def begin(self, scene, many=1):
        task = asyncio.create_task(scene.runtime.run("Hello.", session="s"))
        while len([one for one in scene.seen if is_failure(one)]) < many or not scene.clock.sleepers:
            await asyncio.sleep(0.005)  # the pause begins when it is on record, a little after it was told
        return task

    @pytest.mark.parametrize("how", ["stop", "pause"])
    async def test_a_stop_ends_it_at_once(self, how):
        with ChatServer([BUSY, Says("Here.")]) as server:
            async with Scene(server, auto=0.0, draw=1.0) as scene:
                task = await self.begin(scene)
                if how == "stop":
                    await scene.runtime.stop("s")
                else:
                    scene.runtime.pause("s")
                assert (await asyncio.wait_for(task, 60)).status == "stopped"
            assert len(server.requests) == 1

    async def test_what_the_user_says_is_read_with_the_next_request_and_no_earlier(self):
        with ChatServer([BUSY, Says("Here.")]) as server:
            async with Scene(server, auto=0.0, draw=1.0) as scene:
                task = await self.begin(scene)
                await scene.runtime.send("s", "And in French.", steer=True)
                for _ in range(20):
                    await asyncio.sleep(0.005)
                assert len(server.requests) == 1
                scene.clock.advance(1)
                assert (await asyncio.wait_for(task, 60)).status == "finished"
            assert "And in French." in str(server.requests[1].body)

    async def test_a_clock_that_is_set_back_makes_it_no_longer(self):
        with ChatServer([BUSY, Says("Here.")]) as server:
            async with Scene(server, auto=0.0, draw=1.0) as scene:
                task = await self.begin(scene)
                real = scene.clock.now
                scene.clock.now = lambda: real() - 3_600_000
                scene.clock.advance(1)
                assert (await asyncio.wait_for(task, 60)).status == "finished"


async def test_a_broken_stream_is_marked_before_its_text_comes_again():
    half = Streams(chunks=[{"choices": [{"index": 0, "delta": {"content": "Hel"}}]}, {"error": {"message": "lost"}}])
    with ChatServer([half, Says("Hello.")]) as server:
        async with Scene(server, stream=True) as scene:
            assert (await scene.runtime.run("Hi.", session="s")).text == "Hello."
    told = [one for one in scene.seen if isinstance(one, ModelText) or is_failure(one)]
    marks = [place for place, one in enumerate(told) if is_failure(one)]
    assert len(marks) == 1
    assert "".join(one.text for one in told[: marks[0]]) == "Hel"
    assert "".join(one.text for one in told[marks[0] + 1 :]) == "Hello."


async def test_one_attempt_means_none_again():
    with ChatServer([BUSY]) as server:
        async with Scene(server, retry=Retry(attempts=1)) as scene:
            with pytest.raises(ModelUnavailable):
                await scene.runtime.run("Hello.", session="s")
        assert len(server.requests) == 1


def is_failure(one):
    return isinstance(one, Recorded) and isinstance(one.record.event, ModelFailed)


async def test_a_clock_that_is_set_back_between_a_failure_and_its_pause_makes_it_no_longer():
    def step_back(live):
        if isinstance(live, Recorded) and isinstance(live.record.event, ModelFailed):
            scene.clock.step(-3600)

    with ChatServer([BUSY, Says("Here.")]) as server:
        async with Scene(server, draw=1.0, auto=1.0, watch=step_back) as scene:
            run = await asyncio.wait_for(scene.runtime.run("Hello.", session="s"), 60)
            assert not await scene.events(WaitOpened), "an hour's wait"
            assert scene.clock.monotonic() == 1
        assert len(server.requests) == 2
    assert (run.status, run.text) == ("finished", "Here.")
