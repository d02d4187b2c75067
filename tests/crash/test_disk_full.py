"""Cases 30 and 31, and their like: a T1 that can't be written stops the effect, a T2 that can't be hides the result."""

import resource
import signal
import threading

import pytest

from callslip import Context, Runtime, failpoint, tool
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.errors import CommitUnknown, LedgerUnavailable
from callslip.ledgers.sqlite import SqliteLedger
from callslip.providers.scripted import Scripted, calling
from callslip.testing.disk import SimulatedDisk

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-02")]


class World:
    """A runtime on a simulated disk, and what its tools did."""

    def __init__(self, folder):
        self.disk = SimulatedDisk()
        self.effects = []
        self.meet = False
        self.there = {"put": threading.Event(), "pay": threading.Event()}
        self.model = Scripted([calling(("put", {"item": "a"}), ("pay", {"item": "b"})), "Done."])
        world = self

        @tool(risk="write", recovery="idempotent", local_effect=True)
        def put(item: str, context: Context) -> str:
            """Put something away."""
            world.happened("put", context)
            return item

        @tool(risk="write", recovery="never", local_effect=True)
        def pay(item: str, context: Context) -> str:
            """Pay for something."""
            world.happened("pay", context)
            return item

        self.runtime = Runtime(tools=[put, pay], model=self.model, state=folder / "state")
        parts = self.runtime.parts
        self.plain = parts.ledger
        parts.ledger = SqliteLedger(folder / "simulated.db", connect=self.disk.connect)

    def happened(self, name, context):
        """An effect; where they are to `meet`, neither settles before the other is there too."""
        self.effects.append((name, context.attempt, context.idempotency_key))
        self.there[name].set()
        if self.meet:
            for there in self.there.values():
                assert there.wait(60), "the sibling was never dispatched"

    def happens_at(self, name, do):
        """Once, at the first hit of a failpoint."""

        def listener(met):
            if met == name:
                failpoint.listen(None)
                do()

        failpoint.listen(listener)

    async def again(self):
        self.disk.room = None
        self.disk.failing_syncs = self.disk.lying_syncs = 0
        return await self.runtime.resume("s")

    def count(self, name):
        return sum(effect[0] == name for effect in self.effects)


@pytest.fixture
async def world(tmp_path):
    world = World(tmp_path)
    yield world
    failpoint.listen(None)
    await world.runtime.aclose()
    await world.plain.aclose()
    world.disk.close()


async def test_a_full_disk_at_t1(world):
    world.happens_at("dispatch.before", lambda: setattr(world.disk, "room", 0))
    with pytest.raises(LedgerUnavailable, match="disk is full"):
        await world.runtime.run("Do it.", session="s")
    assert world.effects == [], "nothing was executed"
    run = await world.again()
    assert (run.status, run.text) == ("finished", "Done.")
    assert (world.count("put"), world.count("pay")) == (1, 1)


@pytest.mark.requirement("RECO-01")
async def test_a_full_disk_at_t2(world):
    world.meet = True
    world.happens_at("settle.before", lambda: setattr(world.disk, "room", 0))
    with pytest.raises(LedgerUnavailable, match="disk is full"):
        await world.runtime.run("Do it.", session="s")
    assert (world.count("put"), world.count("pay")) == (1, 1)
    assert len(world.model.requests) == 1, "the result is not shown to the model"
    run = await world.again()
    assert run.status == "waiting", "the crash table decides: the payment is parked"
    assert [wait.tool for wait in run.waits] == ["pay"]
    assert (world.count("put"), world.count("pay")) == (2, 1), "the other is repeated"
    assert len({key for name, _, key in world.effects if name == "put"}) == 1, "with the same key"
    await world.runtime.resolve(run.waits[0].id, "happened", reason="seen at the bank", result="b")
    assert (await world.runtime.resume("s")).status == "finished"
    assert world.count("pay") == 1


@pytest.mark.requirement("RECO-05")
@pytest.mark.parametrize("fault", ["failing_syncs", "lying_syncs"])
@pytest.mark.parametrize("instant", ["reply.before", "dispatch.before", "settle.before", "run.ending"])
async def test_a_commit_that_fails(world, fault, instant):
    """Written, or not, or not to be told: whatever it was, no effect without T1 and none twice undeclared."""
    world.happens_at(instant, lambda: setattr(world.disk, fault, 1))
    try:
        run = await world.runtime.run("Do it.", session="s")
    except (LedgerUnavailable, CommitUnknown):
        if instant == "reply.before":
            assert world.effects == []
        run = await world.again()
        events = [stored.record.event for stored in await world.runtime.parts.ledger.read("s")]
        dispatched = {event.idempotency_key for event in events if isinstance(event, ToolDispatch)}
        assert {key for _, _, key in world.effects} <= dispatched, "a sibling whose own T1 stands may go on"
    while run.status == "waiting":
        for wait in run.waits:
            await world.runtime.resolve(wait.id, "happened", reason="the test knows", result="b")
        run = await world.again()
    assert run.status == "finished"
    assert world.count("pay") == 1
    events = [stored.record.event for stored in await world.runtime.parts.ledger.read("s")]
    assert sum(isinstance(event, FunctionResponse) for event in events) == 2


async def test_a_disk_that_never_recovers_says_that_it_can_not_be_told(world):
    world.meet = True
    world.happens_at("settle.before", lambda: setattr(world.disk, "failing_syncs", 10**6))
    with pytest.raises(CommitUnknown, match="may or may not"):
        await world.runtime.run("Do it.", session="s")
    assert len(world.model.requests) == 1
    assert (await world.again()).status == "waiting"
    assert world.count("pay") == 1


async def test_a_file_that_may_not_grow(tmp_path):
    """On the real file system, by the kernel's own limit."""
    effects = []

    @tool(risk="write", recovery="never", local_effect=True)
    def pay(item: str) -> str:
        """Pay for something."""
        effects.append(item)
        return item

    model = Scripted([calling(("pay", {"item": "a"})), "Done."])
    async with Runtime(tools=[pay], model=model, state=tmp_path / "state") as runtime:
        limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        def fill(met):
            if met == "dispatch.before":
                failpoint.listen(None)
                wal = tmp_path / "state" / "ledger.db-wal"
                resource.setrlimit(resource.RLIMIT_FSIZE, (wal.stat().st_size, limits[1]))

        failpoint.listen(fill)
        try:
            with pytest.raises((LedgerUnavailable, CommitUnknown), match="disk I/O"):
                await runtime.run("Do it.", session="s")
        finally:
            failpoint.listen(None)
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
        assert effects == []
        assert (await runtime.resume("s")).status == "finished"
        assert effects == ["a"]
