"""What a step shows may take long to be known, or can't be: it can be stopped meanwhile, is told, and fails no run."""

import asyncio

import pytest

from callslip import Runtime, tool
from callslip.agent import showing
from callslip.agent.unless_stopped import Interrupted, unless_stopped
from callslip.core.events.model_requested import ModelRequested
from callslip.core.routing import Routing
from callslip.providers.scripted import Scripted
from callslip.runtime.live import Waiting
from callslip.runtime.parts import Limits

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("DEFR-04")]


class Finder:
    """Fails, or waits, as it is told to."""

    servers = ()
    doing = ""

    def __init__(self):
        self.asked = 0
        self.error = None
        self.free = asyncio.Event()
        self.free.set()
        self.begun = asyncio.Event()
        self.given_up = False

    async def search(self, queries, most, *, server=""):
        raise AssertionError

    async def likely(self, text, most, *, without=()):
        self.asked += 1
        self.begun.set()
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.given_up = True
            raise
        if self.error is not None:
            raise self.error
        return ("pay.refund",)

    def close(self):
        pass


@tool(name="pay.refund", risk="read", deferred=True)
async def refund() -> str:
    """Refund a payment."""
    return "done"


@pytest.fixture
async def world(tmp_path):
    class World:
        def __init__(self):
            self.finder = Finder()
            self.told = []
            self.model = Scripted(["Hi.", "Hello again."])

        def runtime(self):
            made = Runtime(
                tools=[refund], model=self.model, state=tmp_path / "state", watch=self.told.append,
                routing=Routing(preselect=1, embedder="off"), limits=Limits(poll=0.01),
            )  # fmt: skip
            made.parts.finder = self.finder
            return made

        async def stuck(self, runtime):
            self.finder.free.clear()
            run = asyncio.ensure_future(runtime.run("Refund it.", session="s"))
            await self.finder.begun.wait()
            return run

    return World()


async def test_what_fits_is_shown(world):
    async with world.runtime() as runtime:
        await runtime.run("Refund it.", session="s")
    assert [view.name for view in world.model.requests[0].tools] == ["tool_search", "pay.refund"]
    assert not any(isinstance(one, Waiting) for one in world.told)


@pytest.mark.parametrize("error", [KeyError(1004), MemoryError(), RuntimeError("boom")])
async def test_a_search_that_fails_fails_no_run_and_is_told_once(world, error, caplog):
    world.finder.error = error
    async with world.runtime() as runtime:
        assert (await runtime.run("Refund it.", session="s")).status == "finished"
        assert (await runtime.run("Refund it.", session="s")).status == "finished"
    assert [view.name for view in world.model.requests[0].tools] == ["tool_search"]
    assert (world.finder.asked, len(caplog.records)) == (2, 1)
    assert "models go on searching" in caplog.text


async def test_a_stop_ends_it(world):
    async with world.runtime() as runtime:
        run = await world.stuck(runtime)
        await runtime.stop("s")
        assert (await run).status == "stopped"
        assert world.finder.given_up
        stored = await runtime.parts.ledger.read("s")
        assert not any(isinstance(one.record.event, ModelRequested) for one in stored)


async def test_a_pause_of_the_process_ends_it_and_a_resume_goes_on(world):
    async with world.runtime() as runtime:
        run = await world.stuck(runtime)
        runtime.pause("s")
        assert (await run).status == "stopped"
        world.finder.free.set()
        assert (await runtime.resume("s")).status == "finished"


async def test_who_looks_on_is_told_what_takes_long(world, monkeypatch):
    monkeypatch.setattr(showing, "_LONG", 0.0)
    world.finder.doing = "indexing 6,001 tools by meaning"
    async with world.runtime() as runtime:
        run = await world.stuck(runtime)
        while not (said := [one for one in world.told if isinstance(one, Waiting)]):
            await asyncio.sleep(0)
        world.finder.free.set()
        await run
    assert [(one.session, one.reason, one.until) for one in said] == [("s", "indexing 6,001 tools by meaning", None)]


async def test_who_looks_on_is_told_once_as_soon_as_there_is_something_to_tell(world, monkeypatch):
    monkeypatch.setattr(showing, "_LONG", 0.0)
    looks = []

    class Later(Finder):
        @property
        def doing(self):
            looks.append(1)
            return "asking the embedder" if len(looks) > 2 else ""

    world.finder = Later()
    async with world.runtime() as runtime:
        run = await world.stuck(runtime)
        while not any(isinstance(one, Waiting) for one in world.told):
            await asyncio.sleep(0)
        so_far = len(looks)
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(looks) == so_far
        world.finder.free.set()
        await run
    assert [one.reason for one in world.told if isinstance(one, Waiting)] == ["asking the embedder"]


async def test_a_stop_that_was_noticed_by_somebody_else_before_is_none_the_less_one(world):
    async with world.runtime() as runtime, runtime._driving("t", create=True) as drive:
        drive.pause()
        drive.changed.clear()
        with pytest.raises(Interrupted):
            await unless_stopped(drive, asyncio.Event().wait(), new_turn=True)
        await drive.end_idle()
