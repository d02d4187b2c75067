"""Over all processes: a busy file, cancellations, the dead, endings, forks (PARA-03)."""

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import threading

import pytest

from callslip.authorities.shared import SWEEP, SharedAuthority
from callslip.authorities.table import now
from callslip.core.claim import Claim, Kind
from callslip.errors import LedgerUnavailable
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.machine_file import of_boot
from callslip.ports.authority import Capacity, Grant, Holder
from callslip.ports.ledger import Owner
from callslip.ports.owners import Liveness

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("PARA-03")]

BOOT = "0d5a4d4e-3a3f"


def claims(*names, kind=Kind.NAMED):
    return [Claim(text=name, kind=kind, shared=False, ids=(name,)) for name in names]


def holder(name):
    return Holder(session="s", call_id=name, tool="t")


def ignore(_):
    pass


class Said:
    """Owners whose liveness the test says."""

    def __init__(self, name, boot=BOOT, **liveness):
        self.name, self.boot, self.liveness_of = name, boot, liveness
        self.asked = []

    def me(self):
        return Owner(id=self.name, host="h", boot=self.boot, process=os.getpid())

    def liveness(self, owner):
        self.asked.append(owner.id)
        return self.liveness_of.get(owner.id, Liveness.ALIVE)

    def close(self):
        pass


class Call:
    """One call; ``at_step`` cancels it after so many steps of the loop."""

    def __init__(self, authority, name, wanted):
        self.grant, self.before, self.go = None, [], asyncio.Event()
        self._arguments = authority, name, wanted
        self.task = asyncio.create_task(self._call())

    async def _call(self):
        authority, name, wanted = self._arguments
        async with authority.holding(wanted, holder(name), self.before.extend) as self.grant:
            await self.go.wait()

    @property
    def holds(self):
        return self.grant is not None and not self.task.done()

    async def leave(self):
        self.go.set()
        await self.task


async def until(wanted):
    async with asyncio.timeout(60):
        while not wanted():
            await asyncio.sleep(0.005)


@pytest.fixture
def opened(tmp_path):
    every = []

    def open_one(name="own_1", owners=None, **capacities):
        every.append(SharedAuthority(tmp_path / "r.db", owners or Said(name), capacities))
        return every[-1]

    yield open_one
    for authority in every:
        authority.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("callslip-authority")]


@pytest.fixture
def file(tmp_path):
    """The file itself, as whoever keeps it busy has it."""
    connections = []

    def connect():
        connections.append(
            sqlite3.connect(of_boot(tmp_path / "r.db", BOOT), isolation_level=None, check_same_thread=False)
        )
        return connections[-1]

    yield connect
    for connection in connections:
        connection.close()


async def test_while_the_file_is_busy_the_loop_goes_on(opened, file):
    authority, busy = opened(), file()
    busy.execute("begin immediate")
    call = Call(authority, "one", claims("a"))
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert call.grant is None
    busy.execute("commit")
    await until(lambda: call.holds)
    assert call.grant == Grant(waited=True), "what it looked at before may have changed"
    assert call.before == []
    await call.leave()
    assert authority.standing() == []


async def test_a_release_while_the_file_is_busy_comes_after(opened, file):
    authority, other, busy = opened(), opened("own_2"), file()
    call = Call(authority, "one", claims("a"))
    await until(lambda: call.holds)
    waits = Call(other, "two", claims("a"))
    await until(lambda: waits.before)
    busy.execute("begin immediate")
    await call.leave()  # it does not wait
    assert [one.holder.call_id for one in other.standing()] == ["one", "two"]
    busy.execute("commit")
    await until(lambda: waits.holds)
    await waits.leave()
    assert authority.standing() == []
    assert authority._places == set()


async def test_a_loop_that_ends_while_the_file_is_busy_leaves_nothing(opened, file):
    authority, busy = opened(), file()

    async def one_that_leaves():
        async with authority.holding(claims("a"), holder("one"), ignore):
            busy.execute("begin immediate")

    async def one_that_enters():
        busy.execute("begin immediate")
        task = asyncio.create_task(authority.holding(claims("a"), holder("one"), ignore).__aenter__())
        await asyncio.sleep(0.02)
        assert not task.done()

    for one in (one_that_leaves, one_that_enters):
        await asyncio.to_thread(lambda one=one: asyncio.run(one()))
        busy.execute("commit")
        await until(lambda: authority._places == set())
        assert authority.standing() == []


@pytest.mark.parametrize("after", [*range(12), 20, 40])
@pytest.mark.parametrize("frees", [None, 0, 3, 10])
async def test_a_cancellation_at_whatever_step_leaves_nothing(opened, file, after, frees):
    """Of one that waits, while the holder leaves, in a free file and in one that is busy for a while."""
    authority, other, busy = opened(), opened("own_2"), file()
    holds = Call(other, "holds", claims("a"))
    await until(lambda: holds.holds)
    if frees is not None:
        busy.execute("begin immediate")
    waits = Call(authority, "waits", claims("a", "b"))
    for step in range(41):
        if step == frees:
            busy.execute("commit")
        if step == 5:
            holds.go.set()
        if step == after:
            waits.task.cancel()
        await asyncio.sleep(0 if step % 4 else 0.001)
    with contextlib.suppress(asyncio.CancelledError):
        await waits.task
    await holds.task
    third = Call(opened("own_3"), "third", claims("a", "b"))
    await until(lambda: third.holds)
    await third.leave()
    await until(lambda: authority.standing() == [])
    await until(lambda: authority._places == set())
    assert authority._bells == set()


async def test_one_that_gives_up_while_the_file_is_busy_for_long_is_gone_at_once(opened, file):
    authority, busy = opened(), file()
    busy.execute("begin immediate")
    calls = [Call(authority, str(n), claims("a")) for n in range(3)]
    await asyncio.sleep(0.02)
    for call in calls:
        call.task.cancel()
    done, _ = await asyncio.wait([call.task for call in calls], timeout=60)
    assert len(done) == 3, "though the file is still busy"
    busy.execute("commit")
    await asyncio.to_thread(authority._thread.submit(lambda: None).result)
    assert authority.standing() == []
    assert authority._places == set()


async def test_one_that_gives_up_just_after_its_place_was_taken_gives_it_back(opened, file):
    authority, busy = opened(), file()
    busy.execute("begin immediate")
    call = Call(authority, "one", claims("a"))
    await asyncio.sleep(0.02)
    busy.execute("commit")
    authority._thread.submit(lambda: None).result()  # the thread has entered, and the loop does not know yet
    assert len(authority.standing()) == 1
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.task
    assert authority.standing() == []
    assert authority._places == set()


async def test_what_could_not_be_given_back_is_given_back_later(opened, tmp_path):
    authority, other = opened(), opened("own_2")
    call = Call(authority, "one", claims("a"))
    await until(lambda: call.holds)
    authority._quick._db.execute("pragma query_only = 1")  # as a disk that takes nothing
    await call.leave()  # what it did is done: it does not fail
    assert len(other.standing()) == 1
    authority._quick._db.execute("pragma query_only = 0")
    mine = Call(authority, "mine", claims("a"))
    theirs = Call(other, "theirs", claims("a"))
    await until(lambda: mine.holds)
    await mine.leave()
    await until(lambda: theirs.holds)
    await theirs.leave()
    assert authority._owed == set()


@pytest.mark.parametrize("liveness", [Liveness.LOCK_FREE, Liveness.REBOOTED])
async def test_what_the_dead_held_is_free_after_one_sweep(opened, liveness):
    dead, owners = opened("own_dead"), Said("own_1", own_dead=Liveness.ALIVE)
    authority = opened(owners=owners)
    held = Call(dead, "held", claims("a"))
    await until(lambda: held.holds)
    in_line = dead._quick.enter(dead._owners.me(), holder("in line"), claims("a"))
    assert not in_line.granted
    waits = Call(authority, "waits", claims("a"))
    await until(lambda: owners.asked)
    assert not waits.holds
    owners.liveness_of["own_dead"] = liveness
    owners.asked.clear()
    await until(lambda: waits.holds)
    assert owners.asked == ["own_dead"], "one sweep was enough for both of its places"
    assert waits.grant == Grant(waited=True, waited_for=(holder("held"), holder("in line")))
    with pytest.raises(LedgerUnavailable, match="is gone"):
        dead._quick.look(in_line.number)
    await held.leave()
    assert waits.holds
    await waits.leave()


@pytest.mark.parametrize("liveness", [Liveness.ALIVE, Liveness.STILL_RUNNING, Liveness.ELSEWHERE])
async def test_nothing_is_taken_from_whoever_may_go_on(opened, liveness):
    """However long it takes."""
    stalled, owners = opened("own_stalled"), Said("own_1", own_stalled=liveness)
    authority = opened(owners=owners)
    held = Call(stalled, "held", claims("a"))
    await until(lambda: held.holds)
    waits = Call(authority, "waits", claims("a"))
    await until(lambda: len(owners.asked) >= 3)
    assert not waits.holds
    await held.leave()
    await until(lambda: waits.holds)
    await waits.leave()


async def test_nobody_is_shown_that_was_killed_in_the_line(opened):
    dead, living = opened("own_dead"), opened("own_other")
    calls = [Call(dead, "dead", claims("a")), Call(living, "alive", claims("b"))]
    await until(lambda: all(call.holds for call in calls))
    me = opened(owners=Said("own_1", own_dead=Liveness.STILL_RUNNING))
    assert [one.holder.call_id for one in me.standing()] == ["dead", "alive"], "what it started may go on"
    me._owners.liveness_of["own_dead"] = Liveness.LOCK_FREE
    assert [one.holder.call_id for one in me.standing()] == ["alive"]
    assert [one.holder.call_id for one in living.standing()] == ["alive"], "it is free by now"
    for call in calls:
        await call.leave()


async def test_a_process_that_is_gone_while_its_child_holds_is_shown_as_gone(opened):
    dead, me = opened("own_dead"), opened(owners=Said("own_1", own_dead=Liveness.STILL_RUNNING))
    for authority, owner, name in ((dead, "own_dead", "a"), (me, "own_1", "b")):
        stack = contextlib.AsyncExitStack()
        who = Holder(session="s", call_id=name, tool="t", owner=owner, process=7)
        await stack.enter_async_context(authority.holding(claims(name), who, ignore))
    assert [(one.holder.call_id, one.gone) for one in me.standing()] == [("a", True), ("b", False)]


async def test_since_when_it_is_held_is_known_to_every_process(opened):
    one = Call(opened("own_1"), "one", claims("a"))
    await until(lambda: one.holds)
    two = Call(opened("own_2"), "two", claims("a"))
    await until(lambda: bool(two.before))
    at = now()
    await one.leave()
    await until(lambda: two.holds)
    (seen,) = opened("own_3").standing()
    assert seen.held is not None
    assert 0 <= seen.held <= now() - at
    assert seen.held < seen.seconds
    await two.leave()


async def test_one_that_waits_for_what_a_dead_one_held_is_told_that_it_waited(opened):
    dead = opened("own_dead")
    held = Call(dead, "held", claims("a"))
    await until(lambda: held.holds)
    next_one = Call(opened(owners=Said("own_1", own_dead=Liveness.LOCK_FREE)), "next", claims("a"))
    await until(lambda: next_one.holds)
    assert next_one.grant == Grant(waited=True, waited_for=(holder("held"),)), "it may have died just now"
    assert next_one.before == []
    await next_one.leave()
    held.task.cancel()


async def test_all_processes_look_after_the_dead_once_in_a_time(opened):
    held = Call(opened("own_0"), "held", claims("a"))
    await until(lambda: held.holds)
    owners = [Said(f"own_{n}") for n in range(1, 7)]
    began = now()
    waiting = [Call(opened(owners=one), one.name, claims("a")) for one in owners]
    await until(lambda: sum(one.asked.count("own_0") for one in owners) >= 2)
    await held.leave()
    for call in waiting:
        await until(lambda call=call: call.holds)
        await call.leave()
    assert sum(one.asked.count("own_0") for one in owners) <= (now() - began) / SWEEP + 2


async def test_a_place_that_time_makes_is_not_missed_when_the_one_before_is_gone(opened):
    capacities = {"both": Capacity(at_once=1, calls=1, per=0.3)}
    first, second = opened("own_1", **capacities), opened("own_2", **capacities)
    holds = Call(first, "first", claims("both", kind=Kind.SLOT))
    await until(lambda: holds.holds)
    waits = Call(second, "second", claims("both", kind=Kind.SLOT))
    await until(lambda: waits.before)
    await holds.leave()
    first.close()
    await until(lambda: waits.holds)
    await waits.leave()


async def test_siblings_of_one_process_are_told_without_looking(opened, monkeypatch):
    authority = opened()
    calls = [Call(authority, str(n), claims("a")) for n in range(5)]
    for call in calls:
        await until(lambda call=call: call.holds)
        await call.leave()
    assert authority._bells == set()


@pytest.mark.parametrize("how", ["close", "aclose"])
async def test_closing_gives_everything_up_and_tells_who_waits(opened, how):
    authority, other = opened(), opened("own_2")
    holds, waits = Call(authority, "holds", claims("a")), Call(authority, "waits", claims("a"))
    await until(lambda: waits.before)
    elsewhere = Call(other, "elsewhere", claims("a"))
    if how == "close":
        authority.close()
    else:
        await authority.aclose()
    with pytest.raises(LedgerUnavailable, match="being closed"):
        await waits.task
    await until(lambda: elsewhere.holds)
    await holds.leave()  # too late to matter, and no error
    assert elsewhere.holds
    with pytest.raises(LedgerUnavailable, match="being closed"):
        async with authority.holding(claims("b"), holder("late"), ignore):
            pass
    assert authority.standing() == []
    authority.close()
    await authority.aclose()
    await elsewhere.leave()


async def test_closing_while_a_release_and_an_entry_wait_for_the_file(opened, file):
    authority, other, busy = opened(), opened("own_2"), file()
    holds = Call(authority, "holds", claims("a"))
    await until(lambda: holds.holds)
    busy.execute("begin immediate")
    enters = Call(authority, "enters", claims("b"))
    await asyncio.sleep(0.01)
    await holds.leave()
    closing = asyncio.create_task(authority.aclose())
    await asyncio.sleep(0.01)
    busy.execute("commit")
    await closing
    with pytest.raises(LedgerUnavailable, match="being closed"):
        await enters.task
    assert enters.grant is None, "it must not run on what was given back"
    assert other.standing() == []


async def test_a_file_that_is_damaged_while_it_is_used_fails_calls_and_no_release(opened, file):
    authority = opened()
    call = Call(authority, "one", claims("a"))
    await until(lambda: call.holds)
    file().execute("pragma wal_checkpoint(truncate)").fetchall()
    with authority._quick.path.open("r+b") as damaged:
        damaged.write(b"x" * damaged.seek(0, os.SEEK_END))
        damaged.seek(0)
        damaged.write(b"x" * 20_000)
    for connection in (authority._quick, authority._patient):
        connection._db.execute("pragma cache_size = 0")
        connection._db.execute("pragma shrink_memory")
    with pytest.raises(LedgerUnavailable, match="Nothing is held"):
        async with authority.holding(claims("b"), holder("two"), ignore):
            pass
    await call.leave()


async def test_a_deleted_file_fails_who_waits(opened):
    authority = opened()
    holds, waits = Call(authority, "holds", claims("a")), Call(authority, "waits", claims("a"))
    await until(lambda: waits.before)
    authority._quick.path.unlink()
    with pytest.raises(LedgerUnavailable, match="was deleted"):
        await waits.task
    await holds.leave()


async def test_what_was_held_before_a_reboot_is_void(opened):
    held = Call(opened(owners=Said("own_1", boot="1111-1111")), "held", claims("a"))
    await until(lambda: held.holds)
    next_one = Call(opened(owners=Said("own_2", boot="2222-2222")), "next", claims("a"))
    await until(lambda: next_one.holds)
    assert next_one.grant == Grant(waited=False)
    await held.leave()
    await next_one.leave()


async def test_a_file_that_can_not_be_used_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerUnavailable):
        SharedAuthority(tmp_path / "file" / "r.db", Said("own_1"))


FORK = """
import asyncio, os, signal, sys
from pathlib import Path
from callslip.authorities.shared import SharedAuthority
from callslip.core.claim import Claim, Kind
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.ports.authority import Holder

folder = Path(sys.argv[1])
owners = OwnerLocks(folder)
authority = SharedAuthority(folder / "r.db", owners)
claims = [Claim(text="a", kind=Kind.NAMED, shared=False, ids=("a",))]
free = [Claim(text="b", kind=Kind.NAMED, shared=False, ids=("b",))]
holder = Holder(session="s", call_id="c", tool="t")
told, tell = os.pipe()

async def once(wanted, on_wait):
    async with authority.holding(wanted, holder, on_wait) as grant:
        return grant

async def parent():
    async with authority.holding(claims, holder, lambda _: None):
        child = os.fork()
        if child == 0:
            return 0  # unwinds, and gives nothing back
        assert os.read(told, 1) == b"w"
        assert len(authority.standing()) == 2
    assert os.waitpid(child, 0)[1] == 0
    await once(claims, lambda _: None)
    return child

asyncio.run(once(free, lambda _: None))
child = asyncio.run(parent())
if child == 0:
    assert not asyncio.run(once(free, lambda _: None)).waited
    grant = asyncio.run(once(claims, lambda _: os.write(tell, b"w")))
    assert grant.waited
    authority.close()
    os._exit(0)
assert authority.standing() == []
authority.close()
"""


async def test_a_forked_child_is_somebody_of_its_own(tmp_path):
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


HOLD = """
import asyncio, subprocess, sys
from pathlib import Path
from callslip.authorities.shared import SharedAuthority
from callslip.core.claim import Claim, Kind
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.ports.authority import Holder

folder, how = Path(sys.argv[1]), sys.argv[2]
authority = SharedAuthority(folder / "r.db", OwnerLocks(folder))

async def hold():
    wanted = [Claim(text="a", kind=Kind.NAMED, shared=False, ids=("a",))]
    async with authority.holding(wanted, Holder(session="s", call_id="dead", tool="t"), lambda _: None):
        if how == "child":
            subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=0, stdout=2)
        if how == "transaction":
            authority._quick._db.execute("begin immediate")
            authority._quick._db.execute("delete from ticket")
        print("held", flush=True)
        await asyncio.sleep(600)

asyncio.run(hold())
"""


@pytest.mark.parametrize("how", ["plain", "transaction", "child"])
async def test_a_process_that_is_killed_holds_nothing_once_its_children_have_ended(opened, tmp_path, how):
    owners = OwnerLocks(tmp_path)
    authority = opened(owners=owners)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert await asyncio.to_thread(process.stdout.readline) == b"held\n"
        process.kill()
        process.wait()
        waits = Call(authority, "waits", claims("a"))
        if how == "child":
            await until(lambda: waits.before)
            swept = now()
            await until(lambda: now() - swept > 2 * SWEEP)
            assert not waits.holds, "its child goes on"
        process.stdin.close()
        await until(lambda: waits.holds)
        assert [one.call_id for one in waits.grant.waited_for] == ["dead"]
        await waits.leave()
        assert authority.standing() == []
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        with contextlib.suppress(OSError):
            process.stdin.close()
        owners.close()
