"""One SQLite connection, opened the only way the ledger may be: WAL, fsync at each commit, migrated, or refused."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from callslip.errors import LedgerError, LedgerUnavailable, LogBroken
from callslip.machine_file import to_wal

BUSY_SECONDS = 30
_SQL = Path(__file__).with_name("sql")
WAL_PAGES = 256
"""The WAL file grows to this and is then written over: a sync that need not extend the file takes half the time."""

_IOERR, _CANTOPEN, _READONLY = 10, 14, 8
"""SQLite's primary result codes."""


class Cursor(Protocol):
    """What the ledger needs of a cursor."""

    @property
    def lastrowid(self) -> int | None: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """What the ledger needs of a connection; :mod:`sqlite3` has it, and so has the simulated disk of the tests."""

    @property
    def in_transaction(self) -> bool: ...
    def execute(self, sql: str, parameters: Any = ..., /) -> Cursor: ...
    def executemany(self, sql: str, parameters: Any, /) -> Cursor: ...
    def close(self) -> None: ...


Connect = Callable[[Path], Connection]


def connect(path: Path) -> Connection:
    """A plain connection in autocommit mode, usable from any one thread at a time."""
    # SQLite would create the file by the umask; the log is its owner's alone.
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)


def open_ledger(path: Path, connect: Connect) -> Connection:
    """Open, set up and migrate the database.

    Raises:
        LedgerUnavailable: it can't be opened or written. LogBroken: it is damaged, no Callslip ledger, or newer.
    """
    try:
        connection = connect(path)
    except (sqlite3.Error, OSError) as error:
        raise translate(error, path) from error
    try:
        to_wal(connection, BUSY_SECONDS)
        connection.execute("pragma synchronous = full")
        connection.execute(f"pragma wal_autocheckpoint = {WAL_PAGES}").fetchone()
        connection.execute("pragma foreign_keys = on")
        _migrate(connection, path)
    except (sqlite3.Error, OSError) as error:
        connection.close()
        raise translate(error, path) from error
    except LedgerError:
        connection.close()
        raise
    return connection


def _migrate(connection: Connection, path: Path) -> None:
    """Apply what is missing. Each file runs in one transaction with the version it leads to."""
    wanted = list(migrations())
    have = _version(connection)
    if have > len(wanted):
        raise _newer(path, have, len(wanted))
    for number, script in enumerate(wanted, start=1):
        if number <= have:
            continue
        connection.execute("begin immediate")
        if _version(connection) < number:  # another process may have come first
            for statement in filter(str.strip, script.split(";")):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")
        connection.execute("commit")


def _newer(path: Path, have: int, known: int) -> LogBroken:
    return LogBroken(
        f"{path.name} has format {have}; this Callslip knows up to {known}. Nothing was changed. "
        "Use the newer Callslip that wrote it."
    )


def _version(connection: Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


def migrations() -> Iterator[str]:
    """The migration scripts in order; their names are ``NN_pre|post_what.sql``."""
    for entry in sorted(_SQL.iterdir(), key=lambda entry: entry.name):
        if re.fullmatch(r"\d\d_(pre|post)_\w+\.sql", entry.name):
            yield re.sub(r"--[^\n]*", "", entry.read_text())


def look_at(version: int) -> str:
    """The script that makes a file of an earlier format look like one of today's, on a connection that can't migrate
    it; empty for today's.
    """
    entry = _SQL / f"look_at_{version:02}.sql"
    return entry.read_text() if entry.is_file() else ""


def load_statements() -> dict[str, str]:
    """The named statements of ``statements.sql``."""
    text = (_SQL / "statements.sql").read_text()
    parts = re.split(r"-- name: (\w+)\n", text)[1:]
    return {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}


def translate(error: Exception, path: Path) -> LedgerError:
    """An error of SQLite or the file system, as one that says what is the matter, what is safe and what to do."""
    text = str(error)
    full = "full" in text or (isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT})
    told = primary_code(error) if isinstance(error, sqlite3.Error) else 0
    refused = isinstance(error, OSError) or any(word in text for word in ("disk I/O", "readonly", "read-only"))
    if full or refused or "unable to open" in text or told in {_CANTOPEN, _IOERR, _READONLY}:
        cause = Cause("the disk is full", "Make room") if full else why_refused(path)
        if cause is None and "disk I/O" in text:
            cause = Cause("the disk refused to read or write", "See what the system's log says of the disk")
        if cause is None:
            cause = Cause("the system refused", "Check the state folder and what is in it")
        return LedgerUnavailable(
            f"{path} can't be opened or written: {cause.what} ({text}). Nothing was written. {cause.advice}, then "
            "go on as before."
        )
    if "locked" in text or "busy" in text:
        return LedgerUnavailable(f"{path.name} is locked by another program. Nothing was written. Try again.")
    return LogBroken(
        f"{path.name} is damaged or no Callslip ledger ({text}). Nothing was executed. "
        "Keep the file, and restore a backup beside it."
    )


class Cause(NamedTuple):
    """Why a file can't be opened or written, and what to do about it."""

    what: str
    advice: str


def why_refused(path: Path) -> Cause | None:
    """What stands against opening the ledger for writing; ``None`` when nothing is to be seen."""
    folder = path.parent
    if path.is_dir():
        return Cause(f"{path.name} is a directory", "Put the ledger itself there")
    if not folder.is_dir():
        return Cause(f"{folder} is no folder", "Make it, or name another")
    with contextlib.suppress(OSError):
        room = os.statvfs(folder)
        if room.f_flag & os.ST_RDONLY:
            return Cause("its disk is mounted read-only", "Mount it for writing")
        if room.f_blocks and not room.f_bavail:
            return Cause("the disk is full", "Make room")
    if not os.access(folder, os.W_OK | os.X_OK):
        return Cause("its folder can't be written by you", "Make it writable (chmod u+wx)")
    if not path.exists():
        return None
    try:
        if not _is_open(path):  # closing a file would give up the locks that SQLite has on it in this process
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return Cause(f"the file can't be written ({error.strerror})", "See its mode, and lsattr for chattr +i")
    return None


def _is_open(path: Path) -> bool:
    """Whether this process has the file open; when that can't be seen, it counts as open."""
    try:
        wanted = path.stat()
        for entry in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                info = entry.stat()
                if (info.st_dev, info.st_ino) == (wanted.st_dev, wanted.st_ino):
                    return True
    except OSError:
        return True
    return False


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


# Looking without writing


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection that can't write, for a disk that is full, a read-only mount, or a backup.

    Raises:
        sqlite3.Error: it can't be read that way either: there are changes beside it (a ``-wal``), and no way to take
        them in here.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    beside = path.with_name(path.name + "-wal")
    for more in ("", "&immutable=1"):
        if more and beside.exists() and beside.stat().st_size:
            break  # what stands in it would be overlooked
        connection = sqlite3.connect(
            uri + more, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS
        )
        try:
            connection.execute("select count(*) from sqlite_master").fetchone()
        except sqlite3.Error as error:
            connection.close()
            if primary_code(error) not in {_CANTOPEN, _IOERR, _READONLY}:
                raise
            refused = error
            continue
        return connection
    raise refused


def check_version(connection: Connection, path: Path) -> int:
    """The format of the file.

    Raises:
        LogBroken: it is newer than this Callslip, or older than any.
    """
    have, known = _version(connection), len(list(migrations()))
    if have > known:
        raise _newer(path, have, known)
    if not have:
        raise LogBroken(f"{path.name} is no Callslip ledger: it holds nothing. Keep the file, and restore a backup.")
    return have
