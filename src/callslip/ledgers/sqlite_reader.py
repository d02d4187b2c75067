"""The ledger of a state folder that can't be written, for looking: a read-only mount, a full disk, a backup."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from callslip.errors import LedgerUnavailable, LogBroken
from callslip.ledgers.connection import check_version, look_at, open_to_read, primary_code, translate, why_refused
from callslip.ledgers.sqlite import SqliteLedger
from callslip.ledgers.writer import Work, Writer

_MOST_DAMAGES = 20
_INTERRUPT = 9
"""SQLite's code for a statement that was broken off."""


class SqliteReader(SqliteLedger):
    """Reads what the file and its ``-wal`` hold, of an earlier format too, and refuses whatever would write.

    Raises:
        LedgerUnavailable: it can't be read either. LogBroken: it is damaged or of a newer format.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held = contextlib.ExitStack()
        try:
            self._reader = self._held.enter_context(looking(path))
            self._reader.executescript(look_at(check_version(self._reader, path)))
        except (sqlite3.Error, OSError) as error:
            self._held.close()
            raise translate(error, path) from error
        except LogBroken:
            self._held.close()
            raise
        self._writer = _NoWriter(path)
        self._reading = threading.Lock()
        self._threads = anyio.CapacityLimiter(2)

    def close(self) -> None:
        super().close()
        self._held.close()


class _NoWriter(Writer):
    def __init__(self, path: Path) -> None:
        self.commits = 0
        self._path = path

    async def submit(self, work: Work) -> Any:
        cause = why_refused(self._path)
        why = f": {cause.what}" if cause is not None else ""
        raise LedgerUnavailable(f"{self._path} is open for reading only{why}. Nothing was written.")

    def close(self) -> None:
        return


@contextlib.contextmanager
def looking(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to read by, to the file itself or, where that can't be, to a copy of it.

    Raises:
        sqlite3.Error, OSError: it can't be read.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no {path.name}")
    with contextlib.ExitStack() as held:
        try:
            connection = open_to_read(path)
        except sqlite3.OperationalError:
            beside = path.with_name(path.name + "-wal")
            if not beside.exists():
                raise
            # What was committed last stands in the -wal, which SQLite takes in only where it may write.
            there = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="callslip-"))) / path.name
            shutil.copyfile(path, there)
            shutil.copyfile(beside, there.with_name(beside.name))
            connection = sqlite3.connect(there, isolation_level=None, check_same_thread=False)
        yield held.enter_context(contextlib.closing(connection))


def damages(path: Path, *, whole: bool, seconds: float | None = None) -> list[str] | None:
    """What SQLite itself finds wrong with the file: its pages, its trees, and with ``whole`` its indexes.

    Returns ``None`` when it was not done within the ``seconds``.

    Raises:
        sqlite3.Error: it can't be opened to read.
    """
    found: list[str] = []
    until = None if seconds is None else time.monotonic() + seconds
    with looking(path) as connection:
        if until is not None:
            connection.set_progress_handler(lambda: time.monotonic() > until, 1000)
        try:
            rows = connection.execute(f"pragma {'integrity' if whole else 'quick'}_check({_MOST_DAMAGES})")
            for (text,) in rows:
                found += [line.strip() for line in text.splitlines() if not line.startswith("*** in database")]
        except sqlite3.Error as error:
            if primary_code(error) == _INTERRUPT:
                return None
            found.append(str(error))
    return [] if found == ["ok"] else found
