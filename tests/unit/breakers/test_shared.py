"""Over all processes: exactly one of them tries it, the dead free its place, a file that can't be used (RESI-04)."""

import logging
import os
import sqlite3
import subprocess
import sys

import pytest

from callslip.breakers.shared import HANDED_IN, LOOKED_AT, SharedBreakers
from callslip.core.breaker import BreakerRules, Heard
from callslip.errors import LedgerUnavailable
from callslip.ledgers.owner_lock import OwnerLocks, boot_id
from callslip.machine_file import of_boot
from callslip.ports.breakers import Barred, Pass

pytestmark = pytest.mark.requirement("RESI-04")

RULES = BreakerRules(least=5)


class Time:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def opened(tmp_path, time):
    """As this process sees them, however often it is asked for."""
    every = []
    owners = OwnerLocks(tmp_path)

    def open_one():
        every.append(SharedBreakers(tmp_path / "breakers.db", owners, RULES, time, seen_within=0))
        return every[-1]

    yield open_one
    for one in every:
        one.close()
    owners.close()


@pytest.fixture
def file(tmp_path, opened):
    """The file itself, as somebody else has it open."""
    opened().seen()
    connection = sqlite3.connect(of_boot(tmp_path / "breakers.db", boot_id()), isolation_level=None)
    yield connection
    connection.close()


def fail(breakers, times=5, key="k"):
    told = []
    for _ in range(times):
        way = breakers.enter(key, 60)
        assert isinstance(way, Pass)
        told.append(breakers.leave(way, Heard.FAILURE))
    return told


TRY = """
import sys
from pathlib import Path
from callslip.breakers.shared import SharedBreakers
from callslip.core.breaker import BreakerRules, Heard
from callslip.ledgers.owner_lock import OwnerLocks
from callslip.ports.breakers import Pass

place, now, callers = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
breakers = SharedBreakers(place / "breakers.db", OwnerLocks(place), BreakerRules(), lambda: now)
breakers.seen()
print("ready", flush=True)
sys.stdin.readline()
ways = [breakers.enter("k", 60) for _ in range(callers)]
print(sum(isinstance(way, Pass) for way in ways), flush=True)
sys.stdin.readline()
"""

KILLED = """
import subprocess, sys
from pathlib import Path
from callslip.breakers.shared import SharedBreakers
from callslip.core.breaker import BreakerRules
from callslip.ledgers.owner_lock import OwnerLocks

place, now = Path(sys.argv[1]), float(sys.argv[2])
breakers = SharedBreakers(place / "breakers.db", OwnerLocks(place), BreakerRules(), lambda: now)
if sys.argv[3] == "child":
    subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=0, stdout=2)
print(breakers.enter("k", 1000).trial > 0, flush=True)
sys.stdin.read()
"""


def started(program, *arguments):
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ended(process):
    process.stdin.close()
    process.stdout.close()
    process.wait()


def test_of_a_hundred_callers_in_five_processes_exactly_one_tries_it(opened, time, tmp_path):
    fail(opened())
    processes = [started(TRY, tmp_path, time.now + 30, 20) for _ in range(5)]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        assert sum(int(process.stdout.readline()) for process in processes) == 1
    finally:
        for process in processes:
            ended(process)


@pytest.mark.parametrize("how", ["plain", "child"])
def test_one_that_is_killed_while_it_tries_leaves_the_place_to_others(opened, time, tmp_path, how):
    breakers = opened()
    fail(breakers)
    time.now += 30
    process = started(KILLED, tmp_path, time.now, how)
    try:
        assert process.stdout.readline() == "True\n"
        assert breakers.enter("k", 60) == Barred(
            key="k", open_for=30, again_in=None, reason="5 of its last 5 calls failed"
        )
        process.kill()
        process.wait()
        time.now += LOOKED_AT
        assert [(one.phase, one.again_in) for one in opened().seen()] == [("half-open", 0.0)]
        # A call asks twice, and no second passes in between: before it is judged, and before it is made.
        assert breakers.barred("k") is None
        way = breakers.enter("k", 60)
        assert isinstance(way, Pass)
        assert isinstance(opened().enter("k", 60), Barred)
    finally:
        process.kill()
        ended(process)


def test_the_next_one_to_try_it_is_not_taken_for_the_one_that_was_killed(opened, time, tmp_path):
    breakers = opened()
    fail(breakers)
    time.now += 30
    processes = [first := started(KILLED, tmp_path, time.now, "plain")]
    try:
        assert first.stdout.readline() == "True\n"
        first.kill()
        first.wait()
        assert breakers.barred("k") is None
        processes.append(second := started(KILLED, tmp_path, time.now, "plain"))
        assert second.stdout.readline() == "True\n"
        assert isinstance(breakers.enter("k", 60), Barred)
    finally:
        for process in processes:
            process.kill()
            ended(process)


def test_whoever_tries_it_is_looked_at_now_and_then_only(opened, time, tmp_path, monkeypatch):
    breakers = opened()
    fail(breakers)
    time.now += 30
    process = started(KILLED, tmp_path, time.now, "plain")
    try:
        assert process.stdout.readline() == "True\n"
        looks = []
        seen = breakers._owners.liveness
        breakers._owners.liveness = lambda owner: (looks.append(owner), seen(owner))[1]
        for _ in range(100):
            assert isinstance(breakers.enter("k", 60), Barred)
        assert len(looks) == 1
    finally:
        del breakers._owners.liveness
        process.kill()
        ended(process)


def test_successes_cost_no_write_until_they_are_due(opened, time, file):
    breakers = opened()

    def version():
        return file.execute("pragma data_version").fetchone()

    breakers.seen()
    before = version()
    for _ in range(1000):
        breakers.leave(breakers.enter("k", 60), Heard.SUCCESS)
    assert version() == before
    time.now += HANDED_IN
    breakers.leave(breakers.enter("k", 60), Heard.SUCCESS)
    assert version() != before
    assert [one.good for one in opened().seen()] == [1001]


def test_successes_go_along_with_the_next_failure(opened):
    one, other = opened(), opened()
    for _ in range(10):
        one.leave(one.enter("k", 60), Heard.SUCCESS)
    assert fail(one, 1) == [None]
    assert fail(other, 5)[-1] is None, "6 of 16"
    assert [(seen.good, seen.bad) for seen in other.seen()] == [(10, 6)]


def test_a_closing_process_hands_in_what_it_has(opened):
    one = opened()
    for _ in range(10):
        one.leave(one.enter("k", 60), Heard.SUCCESS)
    one.close()
    one.close()
    assert [seen.good for seen in opened().seen()] == [10]


def test_a_success_ends_a_row_of_timeouts_for_everybody(opened):
    one, other = opened(), opened()
    for _ in range(2):
        one.leave(one.enter("k", 60), Heard.TIMEOUT)
    for _ in range(3):
        other.leave(other.enter("k", 60), Heard.SUCCESS)
    assert one.leave(one.enter("k", 60), Heard.TIMEOUT) is None
    assert one.seen()[0].timeouts == 1


class TestABusyFile:
    def test_a_closed_breaker_lets_through(self, opened, file):
        breakers = opened()
        fail(breakers, 1)
        file.execute("begin immediate")
        assert breakers.enter("k", 60) == Pass("k")
        assert breakers.leave(Pass("k"), Heard.FAILURE) is None
        file.execute("commit")
        assert breakers.seen()[0].bad == 2, "it is handed in later"

    def test_an_open_one_lets_nobody_try_it(self, opened, file, time):
        breakers = opened()
        fail(breakers)
        time.now += 30
        file.execute("begin immediate")
        assert isinstance(breakers.enter("k", 60), Barred)
        file.execute("commit")
        assert isinstance(breakers.enter("k", 60), Pass)

    def test_who_tried_it_says_so_as_soon_as_possible(self, opened, file, time):
        breakers = opened()
        fail(breakers)
        time.now += 30
        way = breakers.enter("k", 60)
        file.execute("begin immediate")
        breakers.leave(way, Heard.SUCCESS)
        file.execute("commit")
        assert breakers.enter("k", 60) == Pass("k")

    def test_nothing_is_said_to_be_reset_that_was_not(self, opened, file):
        breakers = opened()
        fail(breakers)
        file.execute("begin immediate")
        with pytest.raises(LedgerUnavailable, match="Nothing was reset"):
            breakers.reset(None)
        file.execute("commit")


class TestAFileThatCantBeUsed:
    def test_each_process_goes_on_by_itself_and_says_so_once(self, opened, tmp_path, caplog):
        of_boot(tmp_path / "breakers.db", boot_id()).write_bytes(b"this is no database" * 1000)
        breakers = opened()
        with caplog.at_level(logging.WARNING):
            fail(breakers)
            assert isinstance(breakers.enter("k", 60), Barred)
        assert len(caplog.records) == 1
        assert [one.key for one in breakers.seen()] == ["k"]
        assert breakers.reset(None) == ["k"]

    def test_so_it_does_when_the_file_is_deleted(self, opened, tmp_path, file, caplog):
        breakers = opened()
        fail(breakers, 1)
        for one in tmp_path.glob("breakers*"):
            one.unlink()
        fail(breakers, 6)
        assert isinstance(breakers.enter("k", 60), Barred)
        assert len(caplog.records) == 1


def test_what_was_written_before_a_reboot_is_void_where_no_boot_id_tells(opened, time):
    one = opened()
    fail(one)
    one.close()
    time.now = 3.0
    assert opened().enter("k", 60) == Pass("k")


def test_a_forked_child_is_somebody_of_its_own(opened):
    breakers = opened()
    fail(breakers)
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.write(writes, b"1" if isinstance(breakers.enter("k", 60), Barred) else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reads, 1) == b"1"
    os.close(reads)
    os.close(writes)
    assert isinstance(breakers.enter("k", 60), Barred)
