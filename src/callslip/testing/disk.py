"""A disk that can lose its power: what was written and not synced is gone, or is there in part.

For SQLite, as a VFS under a connection such as the ledger uses. Reads and writes go to real files, as through a page
cache; beside each stands what is durable, which only a sync changes. ::

    disk = SimulatedDisk()
    ledger = SqliteLedger(folder / "ledger.db", connect=disk.connect)
    …
    disk.power_cut(elsewhere)                 # what is left: only what was synced
    disk.power_cut(elsewhere, seed=7)         # and a random part of the rest, torn at sector boundaries
    SqliteLedger(elsewhere / "ledger.db")     # on an ordinary disk again

It can also be full (``room``) or fail to sync (``failing_syncs``). Needs ``apsw``, from the extra ``testing``.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import msgspec

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""
_BUSY_MS = 30_000
_JOURNALS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL
_names = itertools.count(1)

Pending = tuple[int, bytes] | int
"""An unsynced change of a file: bytes at an offset, or a new length."""


class _File(msgspec.Struct, kw_only=True):
    """One file, as far as it is durable, and what was done to it since."""

    durable: bytes = b""
    pending: list[Pending] = []
    named: bool = False
    """Its name is durable, by a sync of its folder."""
    removed: bool = False
    """Deleted, but its folder was not synced: it may come back."""
    names: bool = False
    """Its next sync syncs the folder too: so SQLite does with a journal that it has created."""


class SimulatedDisk:
    """One disk, for one process; any number of connections and threads.

    Attributes:
        room: bytes by which files may still grow; ``None`` for no limit. A write that needs more fails, as on a full
            disk.
        failing_syncs: how many of the next syncs fail, leaving what they were to make durable unsynced.
        lying_syncs: how many of the next syncs do their work and report a failure all the same.
        before: called with ``write``, ``sync``, ``truncate`` or ``delete`` before each such operation: the place from
            which to cut the power in the middle of things.
        syncs: how many syncs were made.
    """

    def __init__(self) -> None:
        self.room: int | None = None
        self.failing_syncs = 0
        self.lying_syncs = 0
        self.before: Callable[[str], None] | None = None
        self.syncs = 0
        self._files: dict[str, _File] = {}
        self._lock = threading.RLock()
        self._name = f"callslip-disk-{next(_names)}"
        self._vfs = _Vfs(self._name, self)

    def connect(self, path: Path) -> SimulatedConnection:
        """Open a database on this disk: the ledger's ``connect``."""
        with _translated():
            connection = apsw.Connection(str(path), vfs=self._name)
            connection.set_busy_timeout(_BUSY_MS)
        return SimulatedConnection(connection)

    def power_cut(self, into: Path, *, seed: int | None = None) -> None:
        """Write what a power cut now would leave into a folder, file by file. The disk itself goes on.

        Args:
            into: an existing folder.
            seed: chooses which unsynced sectors survive nevertheless; without it none do.
        """
        dice = None if seed is None else random.Random(seed)  # noqa: S311 - reproducible, not secret
        with self._lock:
            for name, file in self._files.items():
                image = _survivor(file, dice)
                if image is not None:
                    (into / Path(name).name).write_bytes(image)

    def close(self) -> None:
        """Take the disk out of SQLite's list. Connections must be closed before."""
        self._vfs.unregister()

    # What the files say

    @contextlib.contextmanager
    def change(self, name: str, what: str) -> Iterator[_File]:
        """One operation: nobody else's falls between. Used by the VFS."""
        with self._lock:
            if self.before is not None:
                self.before(what)
            yield self._files.setdefault(name, _File())

    def take_room(self, growth: int) -> None:
        """Use up room. Used by the VFS.

        Raises:
            apsw.FullError: there is not so much.
        """
        if self.room is not None and growth > 0:
            if growth > self.room:
                raise apsw.FullError("no room on the simulated disk")
            self.room -= growth

    def adopt(self, name: str, *, journal: bool) -> None:
        """A file is opened, and may have to be made. Used by the VFS."""
        with self._lock:
            path = Path(name)
            file = self._files.setdefault(name, _File())
            if path.exists():
                if not file.named and not file.pending and not file.durable:  # it was there before this disk
                    file.durable, file.named = path.read_bytes(), path.stat().st_size > 0
                return
            if file.removed:
                file.pending, file.removed = [0], False  # under its old name, which may be durable
            file.names = journal

    def sync_names(self, folder: Path) -> None:
        """A folder is synced. Used by the VFS."""
        for name, file in self._files.items():
            if Path(name).parent == folder:
                file.named = not file.removed


def _survivor(file: _File, dice: random.Random | None) -> bytes | None:
    if dice is None:
        return file.durable if file.named and not file.removed else None
    if (file.removed or not file.named) and dice.random() < 0.5:
        return None
    if file.removed:
        return file.durable if file.named else None
    image = bytearray(file.durable)
    for change in file.pending:
        for part in _parts(change):
            if dice.random() < 0.5:
                _apply(image, part)
    return bytes(image)


def _parts(change: Pending) -> list[Pending]:
    """What of a change may survive without the rest: each sector by itself."""
    if isinstance(change, int):
        return [change]
    offset, data = change
    cuts = [0, *range(SECTOR - offset % SECTOR, len(data), SECTOR), len(data)]
    return [(offset + start, data[start:end]) for start, end in itertools.pairwise(cuts)]


def _apply(image: bytearray, change: Pending) -> None:
    if isinstance(change, int):
        del image[change:]
        image.extend(bytes(change - len(image)))
        return
    offset, data = change
    image.extend(bytes(max(0, offset - len(image))))
    image[offset : offset + len(data)] = data


class _Vfs(apsw.VFS):
    """The platform's own VFS, with an ear on what changes."""

    def __init__(self, name: str, disk: SimulatedDisk) -> None:
        self._disk = disk
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is not None:
            self._disk.adopt(path, journal=bool(flags[0] & _JOURNALS))
        return _VfsFile(name, flags, path, self._disk)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        with self._disk.change(filename, "delete") as file:
            super().xDelete(filename, syncdir)
            file.removed, file.pending = True, []
            if syncdir:
                self._disk.sync_names(Path(filename).parent)


class _VfsFile(apsw.VFSFile):
    """One open file. ``path`` is ``None`` for SQLite's own temporary files, which nobody misses."""

    def __init__(
        self, name: str | apsw.URIFilename | None, flags: list[int], path: str | None, disk: SimulatedDisk
    ) -> None:
        self._path = path
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if self._path is None:
            super().xWrite(data, offset)
            return
        with self._disk.change(self._path, "write") as file:
            self._disk.take_room(offset + len(data) - self.xFileSize())
            super().xWrite(data, offset)
            file.pending.append((offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        if self._path is None:
            super().xTruncate(newsize)
            return
        with self._disk.change(self._path, "truncate") as file:
            super().xTruncate(newsize)
            file.pending.append(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        if self._path is None:
            return
        with self._disk.change(self._path, "sync") as file:
            if self._disk.failing_syncs > 0:
                self._disk.failing_syncs -= 1
                raise apsw.IOError("the simulated disk failed to sync")
            image = bytearray(file.durable)
            for change in file.pending:
                _apply(image, change)
            file.durable, file.pending = bytes(image), []
            if file.names:
                file.names = False
                self._disk.sync_names(Path(self._path).parent)
            self._disk.syncs += 1
            if self._disk.lying_syncs > 0:
                self._disk.lying_syncs -= 1
                raise apsw.IOError("the simulated disk synced, and said that it had failed")


class SimulatedCursor:
    """Rows, all of them fetched."""

    def __init__(self, rows: Sequence[Any], lastrowid: int) -> None:
        self._rows = list(rows)
        self.lastrowid: int | None = lastrowid

    def fetchone(self) -> Any:
        """The next row, or ``None``."""
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        rows, self._rows = self._rows, []
        return rows


class SimulatedConnection:
    """Implements the ledger's ``Connection``; errors are those of :mod:`sqlite3`, in its words."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    def execute(self, sql: str, parameters: Any = (), /) -> SimulatedCursor:
        with _translated():
            rows = self._connection.execute(sql, parameters).fetchall()
            return SimulatedCursor(rows, self._connection.last_insert_rowid())

    def executemany(self, sql: str, parameters: Any, /) -> SimulatedCursor:
        with _translated():
            rows = self._connection.executemany(sql, parameters).fetchall()
            return SimulatedCursor(rows, self._connection.last_insert_rowid())

    def close(self) -> None:
        with _translated():
            self._connection.close()


_WORDS: tuple[tuple[type[apsw.Error], type[sqlite3.DatabaseError], str], ...] = (
    (apsw.FullError, sqlite3.OperationalError, "database or disk is full"),
    (apsw.IOError, sqlite3.OperationalError, "disk I/O error"),
    (apsw.ReadOnlyError, sqlite3.OperationalError, "attempt to write a readonly database"),
    (apsw.BusyError, sqlite3.OperationalError, "database is locked"),
    (apsw.CantOpenError, sqlite3.OperationalError, "unable to open database file"),
    (apsw.CorruptError, sqlite3.DatabaseError, "database disk image is malformed"),
    (apsw.NotADBError, sqlite3.DatabaseError, "file is not a database"),
)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except apsw.ConstraintError as error:
        raise sqlite3.IntegrityError(str(error)) from error
    except apsw.Error as error:
        for kind, wanted, words in _WORDS:
            if isinstance(error, kind):
                raise wanted(words) from error
        raise sqlite3.OperationalError(str(error)) from error
