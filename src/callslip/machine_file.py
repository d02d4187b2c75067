"""A SQLite file in which the processes of one machine tell each other what nobody misses if it is gone.

So it is never synced. What is only so while they run has a file of its own for each start of the kernel
(:func:`of_boot`): one that a power cut has damaged is never read. Who keeps what outlives a reboot can tell by the rows
themselves whether they are what was written.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from callslip.errors import LedgerUnavailable

_OPENING = 10.0
"""Seconds: many processes may open a new file at once."""
_OLD = 7 * 24 * 3600
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_of_parents: list[object] = []


class Busy(Exception):
    """Another process is in a transaction at this very moment."""


def of_boot(path: Path, boot: str) -> Path:
    """The file of this start of the kernel."""
    return path.with_name(f"{path.stem}-{boot.replace('-', '')[:12]}{path.suffix}") if boot else path


def remove_old(path: Path, boot: str) -> None:
    """Remove the files of earlier starts; another machine's, in a shared folder, is used now and then."""
    mine = of_boot(path, boot).name
    for other in path.parent.glob(f"{path.stem}-*{path.suffix}*"):
        with contextlib.suppress(OSError):
            if not other.name.startswith(mine) and time.time() - other.stat().st_mtime > _OLD:
                other.unlink()


class _Connection(Protocol):
    def execute(self, sql: str, /) -> Any: ...


def to_wal(connection: _Connection, seconds: float) -> None:
    """Change to the write-ahead log. SQLite doesn't wait by itself for another process that does so too, or that is in
    the transaction that makes the file.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            connection.execute("pragma journal_mode = wal").fetchone()
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def leave_to_parent(*inherited: object) -> None:
    """In a forked child: it may not even close what it inherits of SQLite, and must not have it collected."""
    _of_parents.extend(inherited)


class MachineFile:
    """One connection.

    Args:
        patience: how many seconds a busy file is waited for.
        purpose: what the file is for, in errors: "where processes agree on who uses what".
        without: what follows if it can't be used, as a sentence.
        deleted: what to do when it was deleted under those who use it, as a sentence.
        prepare: called in the transaction that opens the file, before anybody sees what was made: to void what can't be
            so any more.

    Raises:
        LedgerUnavailable: the file can't be used.
    """

    def __init__(
        self,
        path: Path,
        schema: str,
        *,
        version: int,
        patience: float,
        purpose: str,
        without: str,
        deleted: str,
        prepare: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        self.path = path
        self._purpose = purpose
        self._without = without
        self._deleted = deleted
        with contextlib.ExitStack() as stack:
            try:
                self._open(stack, schema, version, prepare)
                self.db.execute(f"pragma busy_timeout = {round(patience * 1000)}")
            except Busy as error:
                raise LedgerUnavailable(
                    f"{path.name}, {purpose}, has been busy for {_OPENING:g} seconds. {without} "
                    "See which process holds it, and begin again."
                ) from error
            stack.pop_all()

    def _open(
        self,
        stack: contextlib.ExitStack,
        schema: str,
        version: int,
        prepare: Callable[[sqlite3.Connection], None] | None,
    ) -> None:
        with self.told():
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            self.db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=_OPENING)
            stack.callback(self.db.close)
            to_wal(self.db, _OPENING)
            self.db.execute("pragma synchronous = off")
            with self.transaction():
                (found,) = self.db.execute("pragma user_version").fetchone()
                if found not in {0, version}:
                    raise LedgerUnavailable(
                        f"{self.path.name}, {self._purpose}, was made by another version of Callslip. {self._without} "
                        "End what still runs with that version, then delete the file: it is made anew."
                    )
                for statement in filter(str.strip, schema.split(";")):
                    self.db.execute(statement)
                self.db.execute(f"pragma user_version = {version}")
                if prepare is not None:
                    prepare(self.db)
            self._inode = self._found()

    def _found(self) -> tuple[int, int]:
        seen = os.stat(self.path)  # noqa: PTH116 - a Path would cost as much as the look itself
        return seen.st_dev, seen.st_ino

    def close(self) -> None:
        self.db.close()

    def check(self) -> None:
        """Whoever comes next makes a new file, and would not see what is held in this one.

        Raises:
            LedgerUnavailable: the file was deleted.
        """
        try:
            same = self._found() == self._inode
        except FileNotFoundError:
            same = False
        if not same:
            raise LedgerUnavailable(
                f"{self.path.name}, {self._purpose}, was deleted while this process used it. "
                f"{self._without} {self._deleted}"
            )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            self.db.execute("begin immediate")
            yield
            self.db.execute("commit")
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("rollback")
            raise

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """What SQLite says, as what it means here.

        Raises:
            Busy, LedgerUnavailable.
        """
        try:
            yield
        except (sqlite3.Error, OSError, msgspec.MsgspecError) as error:
            if _is_busy(error):
                raise Busy from error
            raise LedgerUnavailable(
                f"{self.path.name}, {self._purpose}, can't be used ({error}). {self._without} "
                "Make it writable; or, with no Callslip running here, delete it: it is made anew."
            ) from error


def _is_busy(error: Exception) -> bool:
    """The low byte is the code, the rest says more of it."""
    return isinstance(error, sqlite3.OperationalError) and (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _BUSY
