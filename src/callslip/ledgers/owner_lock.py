"""Who is alive on this host: a lock file for each process that drives sessions, and the processes it started.

The kernel releases a ``flock`` when its last holder ends, however it ends, so a free lock proves that the owner is
gone; children it forked without ``exec`` hold the lock too. Children that were started with ``exec`` inherit the
environment variable ``CALLSLIP_OWNER`` and are found in ``/proc``. A process that cleans its environment and closes
its files can't be seen (docs/explain/limits.md).
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from pathlib import Path

from callslip.core.ids import random_id
from callslip.errors import LedgerUnavailable
from callslip.ports.ledger import Owner
from callslip.ports.owners import Liveness

MARK = "CALLSLIP_OWNER"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MACHINE_ID = Path("/etc/machine-id")
_OLD = 7 * 24 * 3600
_EXEC_LOOKS = 20
_EXEC_PAUSE = 0.005


class OwnerLocks:
    """Implements ``Owners`` over a folder of lock files. One instance is one owner."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fd: int | None = None
        self._me: Owner | None = None

    def me(self) -> Owner:
        if self._me is None or self._me.process != os.getpid():  # a forked child is an owner of its own
            owner = Owner(id=random_id("own"), host=host_id(), boot=boot_id(), process=os.getpid())
            path = self._path(owner)
            try:
                self._sweep()
                self._fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise LedgerUnavailable(
                    f"The lock {path.name} can't be taken ({error.strerror}). Nothing was written. "
                    "Check that the state folder is writable."
                ) from error
            os.environ[MARK] = ",".join([*_marks(os.environ.get(MARK, "")), owner.id])
            self._me = owner
        return self._me

    def close(self) -> None:
        """Give the lock back: from now on everybody sees this owner as ended."""
        if self._fd is not None and self._me is not None:
            self._path(self._me).unlink(missing_ok=True)
            os.close(self._fd)
            left = [mark for mark in _marks(os.environ.get(MARK, "")) if mark != self._me.id]
            if left:
                os.environ[MARK] = ",".join(left)
            else:
                os.environ.pop(MARK, None)
        self._fd = self._me = None

    def liveness(self, owner: Owner) -> Liveness:
        if owner.host != host_id():
            return Liveness.ELSEWHERE
        if owner.boot != boot_id():
            return Liveness.REBOOTED
        if self._held(owner):
            return Liveness.ALIVE
        return Liveness.STILL_RUNNING if descendants(owner.id) else Liveness.LOCK_FREE

    def _held(self, owner: Owner) -> bool:
        if self._me is not None and owner.id == self._me.id:
            return True
        try:
            fd = os.open(self._path(owner), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who look must not take each other for it
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def _path(self, owner: Owner) -> Path:
        return self._folder / f"{owner.id}.lock"

    def _sweep(self) -> None:
        """Remove lock files of owners that ended long ago; a missing file means ended just the same."""
        for path in self._folder.glob("own_*.lock"):
            try:
                if time.time() - path.stat().st_mtime < _OLD:
                    continue
                fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
            except BlockingIOError:
                continue
            finally:
                os.close(fd)


def descendants(owner_id: str) -> list[int]:
    """Process ids that carry the owner's mark, except this process."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if owner_id in _marks(_environment(entry)) and b") Z " not in (entry / "stat").read_bytes():
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def _environment(process: Path) -> str:
    """The process's mark, as it was when its program was started."""
    prefix = f"{MARK}=".encode()
    block = (process / "environ").read_bytes()
    for _ in range(_EXEC_LOOKS):
        if block or not (process / "exe").exists():  # a thread of the kernel has neither
            break
        # In the middle of an exec: the lock it inherited is closed, and its new environment is not there yet.
        time.sleep(_EXEC_PAUSE)
        block = (process / "environ").read_bytes()
    for variable in block.split(b"\0"):
        if variable.startswith(prefix):
            return variable[len(prefix) :].decode(errors="replace")
    return ""


def _marks(value: str) -> list[str]:
    """A process may carry several marks: of each owner in it, and of the owners it descends from."""
    return [mark for mark in value.split(",") if mark]


def host_id() -> str:
    """This host's machine id, or its name where there is none."""
    try:
        return _MACHINE_ID.read_text().strip() or socket.gethostname()
    except OSError:
        return socket.gethostname()


def boot_id() -> str:
    """New at every start of the kernel; empty where the kernel gives none."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


class SoleOwner:
    """Implements ``Owners`` for a ledger in memory: there is one process, and it is alive."""

    def __init__(self) -> None:
        self._me = Owner(id=random_id("own"), host=host_id(), boot=boot_id(), process=os.getpid())

    def me(self) -> Owner:
        return self._me

    def close(self) -> None:
        """Nothing to give back."""

    def liveness(self, owner: Owner) -> Liveness:
        return Liveness.ALIVE if owner.id == self._me.id else Liveness.LOCK_FREE
