"""The file of all processes: what becomes of it when it is old, damaged, deleted, full or in use (PARA-03, RESI-04)."""

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from callslip import machine_file
from callslip.errors import LedgerUnavailable
from callslip.machine_file import Busy, MachineFile, leave_to_parent, of_boot, remove_old

pytestmark = [pytest.mark.requirement("PARA-03"), pytest.mark.requirement("RESI-04")]

SCHEMA = """
create table if not exists held (name text primary key, what blob);
create table if not exists told (one integer primary key);
insert or ignore into told values (1);
"""
TEXTS = {"purpose": "where a test looks", "without": "The test goes on.", "deleted": "Look elsewhere."}


@pytest.fixture
def opened(tmp_path):
    files = []

    def open_one(patience=0, version=1, prepare=None):
        files.append(
            MachineFile(
                tmp_path / "t.db", SCHEMA, version=version, patience=patience,
                **TEXTS, prepare=prepare,
            )
        )  # fmt: skip
        return files[-1]

    yield open_one
    for file in files:
        file.close()


@pytest.fixture
def other(opened, tmp_path):
    """Somebody else's connection."""
    opened()
    connection = sqlite3.connect(tmp_path / "t.db", isolation_level=None, check_same_thread=False)
    yield connection
    connection.close()


def hold(file, name="a", what=b""):
    with file.told(), file.transaction():
        file.check()
        file.db.execute("insert into held values (?, ?)", (name, what))


def held(file):
    with file.told():
        return [name for (name,) in file.db.execute("select name from held order by name")]


class TestOpening:
    def test_the_file_is_for_its_owner_only(self, opened, tmp_path):
        opened()
        assert stat.S_IMODE((tmp_path / "t.db").stat().st_mode) == 0o600

    def test_nothing_is_ever_synced_and_whoever_reads_waits_for_nobody(self, opened):
        file = opened()
        assert file.db.execute("pragma synchronous").fetchone() == (0,)
        assert file.db.execute("pragma journal_mode").fetchone() == ("wal",)

    def test_what_is_held_in_it_is_there_for_the_next(self, opened):
        hold(opened())
        assert held(opened()) == ["a"]

    def test_an_empty_file_is_as_good_as_none(self, opened, tmp_path):
        (tmp_path / "t.db").touch()
        hold(opened())

    @pytest.mark.parametrize(
        "content",
        [
            b"this is not a database, and long enough to be one" * 100,
            b"\0" * 4096,
            b"SQLite format 3\0" + b"\xff" * 5000,
        ],
    )
    def test_a_damaged_file_is_named_and_what_follows_is_said(self, opened, tmp_path, content):
        (tmp_path / "t.db").write_bytes(content)
        with pytest.raises(LedgerUnavailable, match=r"t\.db, where a test looks.*The test goes on\. Make .*delete it"):
            opened()
        (tmp_path / "t.db").unlink()
        hold(opened())

    def test_what_another_version_made_is_left_alone(self, opened):
        hold(opened())
        with pytest.raises(LedgerUnavailable, match="another version"):
            opened(version=2)
        assert held(opened()) == ["a"]

    def test_a_folder_that_can_not_be_used_is_named(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(LedgerUnavailable, match=r"t\.db"):
            MachineFile(tmp_path / "file" / "t.db", SCHEMA, version=1, patience=0, **TEXTS)
        if os.geteuid() != 0:
            tmp_path.chmod(0o500)
            with pytest.raises(LedgerUnavailable, match="Make it writable"):
                MachineFile(tmp_path / "t.db", SCHEMA, version=1, patience=0, **TEXTS)

    def test_what_fails_to_open_leaves_no_file_open(self, opened, tmp_path):
        def fail(_):
            raise RuntimeError

        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with pytest.raises(RuntimeError):
                opened(prepare=fail)
        (tmp_path / "t.db").write_bytes(b"damaged" * 1000)
        for _ in range(3):
            with pytest.raises(LedgerUnavailable):
                opened()
        assert len(os.listdir("/proc/self/fd")) == before

    def test_many_may_make_it_at_once(self, opened):
        go = threading.Barrier(8)
        failed = []

        def work():
            go.wait()
            try:
                opened()
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []

    def test_one_that_stays_busy_is_given_up_and_named(self, opened, other, monkeypatch):
        monkeypatch.setattr(machine_file, "_OPENING", 0.01)
        other.execute("begin immediate")
        with pytest.raises(LedgerUnavailable, match=r"looks, has been busy for 0\.01 seconds\. The test goes on"):
            opened()
        other.execute("commit")
        opened()

    def test_a_busy_one_is_waited_for_by_whoever_opens_it_however_impatient(self, opened, other):
        other.execute("begin immediate")
        other.execute("insert into held values ('a', '')")
        timer = threading.Timer(0.05, lambda: other.execute("commit"))
        timer.start()
        seen = []
        opened(patience=0, prepare=lambda db: seen.extend(db.execute("select name from held").fetchall()))
        timer.join()
        assert seen == [("a",)]


class TestPreparing:
    def test_what_can_not_be_so_any_more_is_void_before_anybody_sees_it(self, opened, other):
        hold(opened())

        def void(db):
            assert other.execute("select count(*) from held").fetchone() == (1,)
            db.execute("delete from held")
            assert other.execute("select count(*) from held").fetchone() == (1,), "it is one transaction"

        assert held(opened(prepare=void)) == []

    def test_one_that_fails_leaves_no_trace(self, opened, tmp_path):
        def fail(db):
            db.execute("insert into held values ('x', '')")
            raise LedgerUnavailable("no")

        with pytest.raises(LedgerUnavailable, match=r"^no$"):
            opened(prepare=fail)
        with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as connection:
            assert connection.execute("select name from sqlite_master").fetchall() == []


class TestUsing:
    def test_a_busy_file_is_waited_for_no_longer_than_is_said(self, opened, other):
        file = opened(patience=0.01)
        other.execute("begin immediate")
        with pytest.raises(Busy):
            hold(file)
        assert held(file) == []
        other.execute("rollback")
        hold(file)

    def test_one_that_is_free_again_in_time_is_used(self, opened, other):
        file = opened(patience=60)
        other.execute("begin immediate")
        timer = threading.Timer(0.05, lambda: other.execute("commit"))
        timer.start()
        hold(file)
        timer.join()
        assert held(file) == ["a"]

    def test_a_transaction_that_fails_leaves_no_trace_and_the_next_one_goes(self, opened):
        file = opened()
        (pages,) = file.db.execute("pragma page_count").fetchone()
        file.db.execute(f"pragma max_page_count = {pages}")
        with pytest.raises(LedgerUnavailable, match="full"):
            hold(file, what=b"x" * 100_000)
        file.db.execute("pragma max_page_count = 100000")
        assert held(file) == []
        hold(file, what=b"x" * 100_000)

    def test_a_transaction_that_is_broken_off_is_not_left_open(self, opened):
        file = opened()
        with pytest.raises(KeyboardInterrupt), file.told(), file.transaction():
            file.db.execute("insert into held values ('x', '')")
            raise KeyboardInterrupt
        assert held(file) == []
        hold(opened())

    def test_a_file_that_was_moved_and_is_back_is_used_again(self, opened, tmp_path):
        file = opened()
        (tmp_path / "t.db").rename(tmp_path / "away")
        with pytest.raises(LedgerUnavailable, match=r"t\.db, where a test looks, was deleted"):
            hold(file)
        (tmp_path / "away").rename(tmp_path / "t.db")
        hold(file)

    @pytest.mark.parametrize("again", [False, True])
    def test_a_file_that_was_deleted_meanwhile_is_noticed(self, opened, tmp_path, again):
        """Whoever comes next would not see what is held in it."""
        file = opened()
        hold(file)
        for one in tmp_path.iterdir():
            one.unlink()
        if again:
            hold(opened())
        with pytest.raises(LedgerUnavailable, match=r"was deleted.*it\. The test goes on\. Look elsewhere\.$"):
            file.check()


class TestStartsOfTheKernel:
    def test_each_has_its_own_file(self, tmp_path):
        path = tmp_path / "resources.db"
        one = of_boot(path, "0d5a4d4e-3a3f-4d5c-9f0e-000000000001")
        assert one.parent == tmp_path
        assert one != of_boot(path, "1d5a4d4e-3a3f-4d5c-9f0e-000000000001")
        assert of_boot(path, "") == path, "where the kernel tells none"

    def test_files_of_earlier_ones_are_removed_once_they_are_old(self, tmp_path):
        path = tmp_path / "resources.db"
        mine, old, new = (of_boot(path, boot * 12) for boot in "abc")
        for one in (mine, old, new):
            for name in (one.name, one.name + "-wal", one.name + "-shm"):
                (tmp_path / name).touch()
        (tmp_path / "ledger.db").touch()
        for one in (mine, old, tmp_path / "ledger.db"):
            for name in (one.name, one.name + "-wal", one.name + "-shm"):
                if (tmp_path / name).exists():
                    os.utime(tmp_path / name, (0, 0))
        remove_old(path, "a" * 12)
        assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
            ["ledger.db", *(one.name + end for one in (mine, new) for end in ("", "-wal", "-shm"))]
        )


FORK = """
import os, sys
from pathlib import Path
from callslip.machine_file import MachineFile, leave_to_parent

def opened():
    schema = "create table if not exists held (name text)"
    return MachineFile(Path(sys.argv[1]) / "t.db", schema, version=1, patience=10, purpose="x", without="", deleted="")

def hold(file, name):
    with file.told(), file.transaction():
        file.check()
        file.db.execute("insert into held values (?)", (name,))

file = opened()
hold(file, "before")
child = os.fork()
if child == 0:
    leave_to_parent(file)
    file = opened()
    hold(file, "child")
    file.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
hold(file, "parent")
assert [name for (name,) in file.db.execute("select name from held")] == ["before", "child", "parent"]
"""


class TestForks:
    def test_a_child_opens_a_connection_of_its_own(self, tmp_path):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def test_what_is_left_to_the_parent_is_not_collected(self, monkeypatch):
        monkeypatch.setattr(machine_file, "_of_parents", [])
        gone = []

        class Inherited:
            def __del__(self):
                gone.append(self)

        leave_to_parent(Inherited(), Inherited())
        assert gone == []
