"""Who is alive: a lock that ends with its process, and the children that outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import msgspec
import pytest

from callslip.errors import LedgerUnavailable
from callslip.ledgers import owner_lock
from callslip.ledgers.owner_lock import MARK, OwnerLocks, descendants
from callslip.ports.ledger import Owner
from callslip.ports.owners import Liveness

pytestmark = pytest.mark.requirement("LEDG-03")

PROGRAM = """
import subprocess, sys
from pathlib import Path
from callslip.ledgers.owner_lock import OwnerLocks
import msgspec
owner = OwnerLocks(Path(sys.argv[1])).me()
if sys.argv[2] == "child":
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=0, stdout=subprocess.DEVNULL)
print(msgspec.json.encode(owner).decode(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def locks(tmp_path):
    made = OwnerLocks(tmp_path)
    yield made
    made.close()


class Other:
    """Another process that drives sessions."""

    def __init__(self, folder, *, child: bool = False):
        command = [sys.executable, "-c", PROGRAM, str(folder), "child" if child else "alone"]
        self.input, ours = os.pipe()
        self.release = ours
        self.process = subprocess.Popen(command, stdin=self.input, stdout=subprocess.PIPE)
        os.close(self.input)
        self.owner = msgspec.json.decode(self.process.stdout.readline(), type=Owner)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def close(self):
        os.close(self.release)  # whoever still reads, ends


def soon(condition) -> bool:
    for _ in range(2000):
        if condition():
            return True
        time.sleep(0.005)
    return False


def test_a_live_process_is_alive_until_it_is_killed(tmp_path, locks):
    other = Other(tmp_path)
    assert locks.liveness(other.owner) is Liveness.ALIVE
    other.kill()
    assert locks.liveness(other.owner) is Liveness.LOCK_FREE
    other.close()


def test_a_child_that_outlives_it_is_seen_until_it_ends_too(tmp_path, locks):
    other = Other(tmp_path, child=True)
    assert locks.liveness(other.owner) is Liveness.ALIVE
    other.kill()
    assert locks.liveness(other.owner) is Liveness.STILL_RUNNING
    other.close()
    assert soon(lambda: locks.liveness(other.owner) is Liveness.LOCK_FREE)


def test_a_missing_lock_file_means_ended(tmp_path, locks):
    owner = locks.me()
    other = OwnerLocks(tmp_path)
    assert other.liveness(owner) is Liveness.ALIVE
    locks.close()
    assert list(tmp_path.glob(f"{owner.id}*")) == []
    assert other.liveness(owner) is Liveness.LOCK_FREE


def test_a_forked_child_is_an_owner_of_its_own(locks):
    mine = locks.me()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, locks.me().id.encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(read, 100).decode()
    os.close(read)
    os.close(write)
    assert theirs.startswith("own_")
    assert theirs != mine.id
    assert locks.me() == mine


def test_the_mark_is_inherited_and_taken_back(locks, monkeypatch):
    monkeypatch.delenv(MARK, raising=False)
    owner = locks.me()
    assert owner.id in os.environ[MARK]
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    assert soon(lambda: descendants(owner.id) == [child.pid])
    child.communicate()
    assert descendants(owner.id) == []
    locks.close()
    assert MARK not in os.environ


def test_locks_of_long_ago_are_swept_unless_they_are_held(tmp_path):
    held, left = OwnerLocks(tmp_path), tmp_path / "own_left.lock"
    living = tmp_path / f"{held.me().id}.lock"
    left.touch()
    long_ago = time.time() - owner_lock._OLD - 60
    for path in (living, left):
        os.utime(path, (long_ago, long_ago))
    young = tmp_path / "own_young.lock"
    young.touch()
    other = OwnerLocks(tmp_path)
    other.me()
    assert not left.exists()
    assert living.exists()
    assert young.exists()
    other.close()
    held.close()


def test_without_a_place_for_the_lock_nothing_is_driven(tmp_path):
    with pytest.raises(LedgerUnavailable, match=r"can't be taken .*Nothing was written"):
        OwnerLocks(tmp_path / "missing").me()


def test_a_host_without_a_machine_id_has_its_name(monkeypatch, tmp_path):
    monkeypatch.setattr(owner_lock, "_MACHINE_ID", tmp_path / "none")
    monkeypatch.setattr(owner_lock, "_BOOT_ID", tmp_path / "none")
    assert owner_lock.host_id()
    assert owner_lock.boot_id() == ""
