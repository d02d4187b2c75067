"""What was acknowledged is there after a power cut, at any instant; what was refused is not."""

import asyncio
import pathlib
import tempfile

import pytest
from hypothesis import given, settings, strategies as st

from callslip.blobs.files import FileBlobs
from callslip.core.event import genesis, link
from callslip.core.events.session_started import SessionStarted
from callslip.errors import CommitUnknown, LedgerUnavailable
from callslip.ledgers.sqlite import SqliteLedger
from callslip.testing.disk import SimulatedDisk
from callslip.testing.folder_disk import FolderDisk
from callslip.testing.suites.ledger_drafts import ME, outside, owned, said

pytestmark = [pytest.mark.requirement("RECO-05"), pytest.mark.requirement("LEDG-02")]

_SIZES = st.sampled_from([1, 60, 500, 4000, 5000, 70_000])
_APPENDS = st.lists(st.lists(_SIZES, min_size=1, max_size=4), min_size=1, max_size=12)


class World:
    """A ledger on a simulated disk, and what it has promised."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "disk").mkdir()
        self.disk = SimulatedDisk()
        self.ledger = SqliteLedger(self.folder / "disk" / "ledger.db", connect=self.disk.connect)
        self.promised = []
        self.refused = set()
        self.handed = 0
        self.cuts = 0

    async def begin(self):
        await self.ledger.claim("s", ME, expected_epoch=0, at=1)
        self.promised += await self.ledger.append("s", owned(SessionStarted(requester="x")), epoch=1)

    async def append(self, sizes):
        texts = []
        for size in sizes:
            self.handed += 1
            texts.append(f"{self.handed}:" + "x" * size)
        try:
            self.promised += await self.ledger.append("s", owned(*map(said, texts)), epoch=1)
        except LedgerUnavailable:
            self.refused |= set(texts)
        except CommitUnknown:
            pass

    async def close(self):
        await self.ledger.aclose()
        self.disk.close()

    async def cut(self, seed):
        """The power goes now; what does an ordinary disk hold afterwards?"""
        self.cuts += 1
        place = self.folder / f"cut{self.cuts}"
        place.mkdir()
        self.disk.power_cut(place, seed=seed)
        promised, refused = list(self.promised), set(self.refused)
        return place, promised, refused

    async def hold_against(self, place, promised, refused):
        ledger = SqliteLedger(place / "ledger.db")
        try:
            there = list(await ledger.read("s"))
            digest = genesis("s")
            for seq, stored, text in await ledger.raw("s"):
                digest = link(digest, text)
                assert stored == digest, f"the chain breaks at {seq}"
        finally:
            await ledger.aclose()
        assert there[: len(promised)] == promised
        texts = {getattr(stored.record.event, "text", "") for stored in there}
        assert not texts & refused, "what was said not to be written is there"


def run(test):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(test(folder))


@settings(max_examples=40)
@given(_APPENDS, st.none() | st.integers(0, 2**32))
def test_after_any_append(appends, seed):
    async def test(folder):
        world = World(folder)
        await world.begin()
        for sizes in appends:
            await world.append(sizes)
            await world.hold_against(*await world.cut(seed))
        await world.close()

    run(test)


@settings(max_examples=60)
@given(_APPENDS, st.integers(0, 300), st.none() | st.integers(0, 2**32), st.integers(0, 3))
def test_amid_any_write_or_sync(appends, instant, seed, together):
    """The cut comes at the n-th operation of the disk, within a commit, a checkpoint or between."""

    async def test(folder):
        world, operations, cuts = World(folder), 0, []
        await world.begin()

        def before(_what):
            nonlocal operations
            operations += 1
            if operations == instant:
                place = world.folder / "cut"
                place.mkdir()
                world.disk.power_cut(place, seed=seed)
                cuts.append((place, list(world.promised), set(world.refused)))

        world.disk.before = before
        for number in range(0, len(appends), together + 1):
            await asyncio.gather(*map(world.append, appends[number : number + together + 1]))
        world.disk.before = None
        await world.close()
        for cut in cuts:
            await world.hold_against(*cut)

    run(test)


@pytest.mark.requirement("LEDG-06")
@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(["fine", "fail", "lie", "full"]), st.lists(_SIZES, min_size=1, max_size=3))),
    st.none() | st.integers(0, 2**32),
)
def test_with_syncs_that_fail(appends, seed):
    """A commit that failed is neither acknowledged nor there; the disk works again afterwards."""

    async def test(folder):
        world = World(folder)
        await world.begin()
        for fault, sizes in appends:
            world.disk.failing_syncs = int(fault == "fail")
            world.disk.lying_syncs = int(fault == "lie")
            world.disk.room = 0 if fault == "full" else None
            await world.append(sizes)
            world.disk.failing_syncs = world.disk.lying_syncs = 0
            world.disk.room = None
            await world.hold_against(*await world.cut(seed))
            assert list(await world.ledger.read("s")) == world.promised
        await world.close()

    run(test)


@settings(max_examples=30)
@given(_APPENDS, st.integers(0, 2**32))
def test_an_outsiders_word_is_as_durable(appends, seed):
    async def test(folder):
        world = World(folder)
        await world.begin()
        for sizes in appends:
            drafts = outside(*(said("x" * size) for size in sizes))
            world.promised += await world.ledger.decide("s", drafts, expected=len(world.promised))
            await world.hold_against(*await world.cut(seed))
        await world.close()

    run(test)


@pytest.mark.requirement("LEDG-05")
@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=4), min_size=1, max_size=6),
    st.integers(1, 60),
    st.none() | st.integers(0, 2**32),
)
def test_a_blob_that_may_be_named_is_there(puts, instant, seed):
    """Blobs put one after the other and side by side, some of them the same; the power goes at the n-th operation."""

    async def test(folder):
        folder = pathlib.Path(folder)
        (folder / "blobs").mkdir()
        (folder / "cut").mkdir()
        disk, stored, promised, operations = FolderDisk(), set(), None, 0
        blobs = FileBlobs(folder / "blobs", disk=disk)

        def before(_what):
            nonlocal operations, promised
            operations += 1
            if operations == instant:
                promised = set(stored)
                disk.power_cut(folder / "blobs", folder / "cut", seed=seed)

        disk.before = before

        async def put(number):
            data = str(number).encode() * 100
            assert await blobs.put(data)
            stored.add(data)

        for group in puts:
            await asyncio.gather(*map(put, group))
        disk.before = None
        if promised is None:
            promised = stored
            disk.power_cut(folder / "blobs", folder / "cut", seed=seed)
        after = FileBlobs(folder / "cut")
        for data in promised:
            address = await blobs.put(data)
            assert await after.get(address) == data

    run(test)


@pytest.mark.requirement("LEDG-05")
@pytest.mark.parametrize("last", [1, 2])
def test_a_blob_of_a_writer_that_died_before_a_sync(tmp_path, last):
    """It is seen, but a power cut would take it: whoever names it anew makes it durable first."""
    (tmp_path / "cut").mkdir()
    (tmp_path / "blobs").mkdir()
    disk = FolderDisk()
    syncs = 0

    def die(what):
        nonlocal syncs
        syncs += what == "sync"
        if syncs == last:
            raise InterruptedError

    async def test():
        disk.before = die
        with pytest.raises((LedgerUnavailable, InterruptedError)):
            await FileBlobs(tmp_path / "blobs", disk=disk).put(b"precious")
        disk.before = None
        address = await FileBlobs(tmp_path / "blobs", disk=disk).put(b"precious")
        disk.power_cut(tmp_path / "blobs", tmp_path / "cut")
        assert await FileBlobs(tmp_path / "cut").get(address) == b"precious"

    asyncio.run(test())
