"""Where the audit stands: how much of the book is known to be good, and how far each session has been told.

Only a cache, in a SQLite file of its own beside the book, written after the book has been synced: it may be behind the
book, never before it. It can be removed at any time, and is made again from the book.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import msgspec

from callslip.audit.entry import GENESIS
from callslip.audit.story import Story
from callslip.machine_file import to_wal

_VERSION = 1
_BUSY_SECONDS = 5
_SETUP = """
create table tip (one integer primary key check (one = 1), count integer, digest blob, size integer,
                  change integer, changed text, changed_to text);
create table sessions (session text primary key, seq integer, digest text, story blob, unread text) without rowid;
create index unread on sessions (session) where unread <> '';
"""


class Tip(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the book: how many entries, the chain's digest there, and bytes up to there."""

    count: int = 0
    digest: bytes = GENESIS
    size: int = 0


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """How far the ledger has been followed: up to this ``change``, …"""

    change: int = 0
    session: str = ""
    """… which was of this session, …"""
    digest: str = ""
    """… and left its log with this digest, hex: another ledger would have another one there."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """How far a session has been told."""

    seq: int = 0
    """Position of the last record that has an entry, …"""
    digest: str = ""
    """… and its digest, hex."""
    story: Story | None = None
    unread: str = ""
    """Why the rest could not be read."""


_stories = msgspec.json.Decoder(Story)


class Index:
    """Used by whoever holds the book's lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._inode = 0

    def open(self) -> None:
        """Open, or make, the file; one that is damaged is made anew.

        Raises:
            OSError, sqlite3.Error: it can't be written.
        """
        if self._connection is not None and self.path.exists() and self.path.stat().st_ino == self._inode:
            return
        self.close()
        for again in (True, False):
            try:
                self._connection = self._opened()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) or not again:
                    raise
                self.remove()  # no database, or one that was torn
            else:
                break
        self._inode = self.path.stat().st_ino

    def _opened(self) -> sqlite3.Connection:
        if not self.path.exists():  # SQLite would make it by the umask
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS)
        try:
            to_wal(connection, _BUSY_SECONDS)
            connection.execute("pragma synchronous = off")
            version = connection.execute("pragma user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise sqlite3.DatabaseError(f"an index of version {version}")
            if not version:
                connection.executescript("begin immediate;" + _SETUP)
                connection.execute("insert into tip values (1, 0, ?, 0, 0, '', '')", (GENESIS,))
                connection.execute(f"pragma user_version = {_VERSION}")
                connection.execute("commit")
            connection.execute("select count, digest, size, change from tip").fetchone()
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def remove(self) -> None:
        """Away with it: the next :meth:`open` makes an empty one."""
        self.close()
        for end in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection

    def tip(self) -> Tip:
        count, digest, size = self._db.execute("select count, digest, size from tip").fetchone()
        return Tip(count=count, digest=digest, size=size)

    def cursor(self) -> Cursor:
        """How far the ledger has been followed."""
        change, session, digest = self._db.execute("select change, changed, changed_to from tip").fetchone()
        return Cursor(change=change, session=session, digest=digest)

    def row(self, session: str) -> Row:
        found = self._db.execute(
            "select seq, digest, story, unread from sessions where session = ?", (session,)
        ).fetchone()
        if found is None:
            return Row()
        story = None
        if found[2] is not None:
            with contextlib.suppress(msgspec.DecodeError):  # of another version: it is told again from the beginning
                story = _stories.decode(found[2])
        return Row(seq=found[0], digest=found[1], story=story, unread=found[3])

    def unread(self) -> list[str]:
        """Sessions of which something could not be read."""
        return [row[0] for row in self._db.execute("select session from sessions where unread <> ''").fetchall()]

    def put(self, tip: Tip, rows: Mapping[str, Row], *, cursor: Cursor | None = None) -> None:
        """Keep where things stand, all or nothing."""
        values = [
            (name, row.seq, row.digest, None if row.story is None else msgspec.json.encode(row.story), row.unread)
            for name, row in rows.items()
        ]
        self._db.execute("begin immediate")
        try:
            self._db.executemany("insert or replace into sessions values (?, ?, ?, ?, ?)", values)
            self._db.execute("update tip set count = ?, digest = ?, size = ?", (tip.count, tip.digest, tip.size))
            if cursor is not None:
                there = (cursor.change, cursor.session, cursor.digest)
                self._db.execute("update tip set change = ?, changed = ?, changed_to = ?", there)
            self._db.execute("commit")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("rollback")
            raise
