"""Tools' vectors in a file, so that what was embedded once is not embedded, and paid for, again.

Other processes share the file. One that is damaged is replaced, for it can serve nobody; one that is locked, or belongs
to somebody else, is left alone: vectors are then in memory only.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

_SETUP = """
create table if not exists vector (embedder text, identity text, row blob not null, primary key (embedder, identity))
without rowid
"""
_LIVE = "create temp table live (identity text primary key)"
_READ = "select identity, row from vector where embedder = ? and identity in (select identity from live)"
_SWEEP = """
delete from vector where (select count(*) from vector) > ? * (select count(*) from live) + ?
and (embedder <> ? or identity not in (select identity from live))
"""
_TIMES = 4
_SPARE = 10_000
"""How many vectors are kept, beside so many times those that are live: for others, too, that share the state folder."""
_SOUND = frozenset(
    (
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL,
    )
)  # fmt: skip
"""What says nothing of the file's content."""
_WAIT = 5.0
"""Seconds that another process may have the file to itself."""
_OFF = 0.01
"""How far from 1 a vector's length may be."""


def beside(index: Path) -> Path:
    """Where the vectors of an index are kept."""
    return index.with_name(f"{index.name}.vectors")


def damaged(error: Exception) -> bool:
    """Whether a file is of no use to anybody, rather than locked, forbidden or somewhere else."""
    code = getattr(error, "sqlite_errorcode", None)
    return not isinstance(error, OSError) and (code is None or code & 0xFF not in _SOUND)


def begun(db: sqlite3.Connection) -> bool:
    """Whether there is a table for vectors. Without one, a file is not damaged: somebody may just be setting it up."""
    return bool(db.execute("select count(*) from sqlite_master where name = 'vector'").fetchone()[0])


class KeptVectors:
    """Those of one embedder. ``numpy``: the module; ``path``: none keeps nothing."""

    def __init__(self, path: Path | None, key: str, dimensions: int, numpy: Any) -> None:
        self._path = path
        self._key = key
        self._dimensions = dimensions
        self._np = numpy
        self.trouble = ""
        """Why they can't be kept, or could not be used, and what follows; nothing more is tried with such a file."""
        self._off = path is None

    def read(self, wanted: Collection[str]) -> dict[str, Any]:
        """Those of the identities that are there and are vectors of length 1."""
        self.trouble, self._off = "", self._path is None
        if self._path is None:
            return {}
        try:
            if not self._path.is_file():
                return {}
            with contextlib.closing(sqlite3.connect(self._path, timeout=_WAIT)) as db:
                if not begun(db):
                    return {}
                db.execute(_LIVE)
                db.executemany("insert into live values (?)", ((each,) for each in wanted))
                stored = db.execute(_READ, (self._key,)).fetchall()
        except (sqlite3.Error, OSError) as error:
            self._failed(self._path, error)
            return {}
        size = 4 * self._dimensions
        sized = [(key, row) for key, row in stored if isinstance(row, bytes) and len(row) == size]
        if not sized:
            return {}
        rows = self._np.frombuffer(b"".join(row for _, row in sized), dtype="<f4").reshape(len(sized), -1)
        with self._np.errstate(all="ignore"):
            good = abs(self._np.linalg.norm(rows, axis=1) - 1) < _OFF  # of what is no number, this is false
        return {key: row for (key, _), row, sound in zip(sized, rows, good.tolist(), strict=True) if sound}

    def keep(self, rows: Mapping[str, Any]) -> None:
        """Add vectors, by identity."""
        self._change(
            "insert or replace into vector values (?, ?, ?)",
            ((self._key, identity, row.astype("<f4").tobytes()) for identity, row in rows.items()),
        )

    def sweep(self, live: Iterable[str]) -> None:
        """Forget all others, if there are many: other applications, and other embedders, may need theirs again."""
        rows = ((each,) for each in live)
        self._change("insert or ignore into live values (?)", rows, _SWEEP, _TIMES, _SPARE, self._key)

    def _change(self, each: str, rows: Iterable[tuple[Any, ...]], then: str = "", *given: str | int) -> None:
        if self._off or self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            with contextlib.closing(sqlite3.connect(self._path, timeout=_WAIT)) as db, db:
                db.execute(_SETUP)
                db.execute(_LIVE)
                db.executemany(each, rows)
                if then:
                    db.execute(then, given)
        except (sqlite3.Error, OSError) as error:
            self._off = True
            self._say(f"The vectors could not be kept at {self._path} ({error}); the next process makes them anew.")

    def _failed(self, path: Path, error: Exception) -> None:
        if not damaged(error):
            self._off = True
            self._say(
                f"The kept vectors at {path} could not be used ({error}), and were left alone. They are made in memory."
            )
            return
        try:
            path.unlink(missing_ok=True)
        except OSError as refused:
            self._off = True
            self._say(f"The kept vectors at {path} are damaged ({error}) and could not be replaced ({refused}).")
            return
        self._say(f"The kept vectors at {path} could not be used ({error}) and were made anew.")

    def _say(self, trouble: str) -> None:
        self.trouble = f"{self.trouble} {trouble}".strip()
