"""One SQLite connection, opened the only way the ledger may be: WAL, fsync at each commit, migrated, or refused."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

from callslip.errors import LedgerError, LedgerUnavailable, LogBroken

BUSY_SECONDS = 30
WAL_PAGES = 256
"""The WAL file grows to this and is then written over: a sync that need not extend the file takes half the time."""


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
        connection.execute("pragma journal_mode = wal").fetchone()
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
        raise LogBroken(
            f"{path.name} has format {have}; this Callslip knows up to {len(wanted)}. Nothing was changed. "
            "Use the newer Callslip that wrote it."
        )
    for number, script in enumerate(wanted, start=1):
        if number <= have:
            continue
        connection.execute("begin immediate")
        if _version(connection) < number:  # another process may have come first
            for statement in filter(str.strip, script.split(";")):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")
        connection.execute("commit")


def _version(connection: Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


def migrations() -> Iterator[str]:
    """The migration scripts in order; their names are ``NN_pre|post_what.sql``."""
    folder = resources.files("callslip.ledgers") / "sql"
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if re.fullmatch(r"\d\d_(pre|post)_\w+\.sql", entry.name):
            yield re.sub(r"--[^\n]*", "", entry.read_text())


def load_statements() -> dict[str, str]:
    """The named statements of ``statements.sql``."""
    text = (resources.files("callslip.ledgers") / "sql" / "statements.sql").read_text()
    parts = re.split(r"-- name: (\w+)\n", text)[1:]
    return {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}


def translate(error: Exception, path: Path) -> LedgerError:
    """An error of SQLite or the file system, as one that says what is safe and what to do."""
    text = str(error)
    full = "full" in text or (isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT})
    if full or "disk I/O" in text:
        what = "The disk is full" if full or _no_room(path) else "The disk refused to write"
        return LedgerUnavailable(f"{what} ({text}). Nothing was written to {path.name}. Make room, then resume.")
    if "readonly" in text or "read-only" in text or isinstance(error, PermissionError):
        return LedgerUnavailable(
            f"{path.name} can't be written ({text}). Nothing was written. Make its folder writable, then resume."
        )
    if "unable to open" in text or isinstance(error, OSError):
        return LedgerUnavailable(f"{path} can't be opened ({text}). Nothing was written. Check the state folder.")
    if "locked" in text or "busy" in text:
        return LedgerUnavailable(f"{path.name} is locked by another program. Nothing was written. Try again.")
    return LogBroken(
        f"{path.name} is damaged or no Callslip ledger ({text}). Nothing was executed. "
        "Keep the file, restore a backup beside it, and run `callslip verify`."
    )


def _no_room(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.statvfs(path.parent).f_bavail == 0
    return False
