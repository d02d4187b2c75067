"""The embedded ledger: stdlib SQLite, one file, fsync at every commit."""

from __future__ import annotations

import functools
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import msgspec

from callslip.core.event import Draft, Stored, genesis, link, read
from callslip.errors import LogBroken, Moved, NotFound
from callslip.ledgers import rules
from callslip.ledgers.connection import Connect, Connection, connect, load_statements, open_ledger, translate
from callslip.ledgers.writer import Writer
from callslip.ports.ledger import Checkpoint, Head, Owner, WaitRow

T = TypeVar("T")
SQL = load_statements()
_ALL = -1  # SQLite's LIMIT -1: no limit
_FEW = 64
"""Records that are read more quickly than a thread is woken."""


class SqliteLedger:
    """Implements ``Ledger`` and ``Checkpoints`` in one file. Any number of processes may open it at once.

    Raises:
        LedgerUnavailable: the file can't be opened or written. LogBroken: it is damaged or of a newer format.
    """

    def __init__(self, path: Path, *, connect: Connect = connect) -> None:
        self.path = path
        self._writer = Writer(path, connect)
        self._reader = open_ledger(path, connect)
        self._reading = threading.Lock()
        # Not the threads that tools run in: a hundred busy tools must not keep the log from being read.
        self._threads = anyio.CapacityLimiter(2)

    @property
    def commits(self) -> int:
        """Transactions this process has committed."""
        return self._writer.commits

    async def aclose(self) -> None:
        await anyio.to_thread.run_sync(self.close)

    def close(self) -> None:
        self._writer.close()
        with self._reading:
            self._reader.close()

    async def claim(self, session: str, owner: Owner, *, expected_epoch: int, at: int) -> Head:
        head: Head = await self._writer.submit(_Claim(session, owner, expected_epoch, at))
        return head

    async def append(
        self, session: str, drafts: Sequence[Draft], *, epoch: int, folded: int | None = None
    ) -> Sequence[Stored]:
        admit = functools.partial(rules.admit_owner, drafts=drafts, epoch=epoch, folded=folded)
        return await self._write(session, drafts, admit)

    async def decide(self, session: str, drafts: Sequence[Draft], *, expected: int) -> Sequence[Stored]:
        admit = functools.partial(rules.admit_outsider, drafts=drafts, expected=expected)
        return await self._write(session, drafts, admit)

    async def _write(
        self, session: str, drafts: Sequence[Draft], admit: Callable[[Head], rules.Change]
    ) -> Sequence[Stored]:
        stored: Sequence[Stored] = await self._writer.submit(_Append(session, drafts, admit))
        return stored

    async def read(self, session: str, *, after: int = 0, limit: int | None = None) -> Sequence[Stored]:
        few = self._here(lambda reader: _read(reader, session, after, limit, most=_FEW))
        if few is not None:
            return few
        return await self._in_thread(lambda reader: _read(reader, session, after, limit)) or []

    async def raw(
        self, session: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[tuple[int, bytes, bytes]]:
        """Stored positions, digests and bytes, unchecked: for ``verify``."""
        return await self._in_thread(lambda connection: _raw(connection, session, after, limit))

    async def heads(self, session: str | None = None) -> Sequence[Head]:
        return await self._in_thread(lambda connection: _heads(connection, session))

    async def waits(self, session: str | None = None) -> Sequence[WaitRow]:
        rows = await self._in_thread(lambda connection: connection.execute(SQL["waits"], (session,)).fetchall())
        return [WaitRow(**dict(zip(WaitRow.__struct_fields__, row, strict=True))) for row in rows]

    async def version(self) -> int:
        # data_version changes when *another* connection commits, and the writer is another connection too.
        here = self._here(_data_version)
        return here if here is not None else await self._in_thread(_data_version)

    async def save_checkpoint(self, session: str, checkpoint: Checkpoint) -> None:
        await self._writer.submit(_SaveCheckpoint(session, checkpoint))

    async def load_checkpoint(self, session: str) -> Checkpoint | None:
        return await self._in_thread(lambda connection: _load_checkpoint(connection, session))

    def _here(self, function: Callable[[Connection], T]) -> T | None:
        """In this very thread, for what takes microseconds; ``None`` when another one is reading."""
        if not self._reading.acquire(blocking=False):
            return None
        try:
            return self._call(function)
        finally:
            self._reading.release()

    async def _in_thread(self, function: Callable[[Connection], T]) -> T:
        def locked() -> T:
            with self._reading:
                return self._call(function)

        return await anyio.to_thread.run_sync(locked, limiter=self._threads)

    def _call(self, function: Callable[[Connection], T]) -> T:
        try:
            return function(self._reader)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error


class _Claim:
    def __init__(self, session: str, owner: Owner, expected_epoch: int, at: int) -> None:
        self.session, self.owner, self.expected_epoch, self.at = session, owner, expected_epoch, at

    def run(self, connection: Connection) -> Head:
        found = _find(connection, self.session)
        if found is not None:
            no, head = found
            head = rules.claim(head, self.owner, self.expected_epoch, self.at)
            connection.execute(SQL["update_session"], (*_columns(head)[1:], no))
            return head
        if self.expected_epoch:
            raise Moved(f"Session {self.session!r} does not exist any more.")
        head = rules.new_head(self.session, self.owner, self.at)
        connection.execute(SQL["create_session"], _columns(head))
        return head

    def landed(self, connection: Connection) -> bool:
        found = _find(connection, self.session)
        return found is not None and found[1].epoch == self.expected_epoch + 1 and found[1].owner == self.owner


class _Append:
    def __init__(self, session: str, drafts: Sequence[Draft], admit: Callable[[Head], rules.Change]) -> None:
        self.session, self.drafts, self.admit = session, drafts, admit
        self.change: rules.Change | None = None

    def run(self, connection: Connection) -> Sequence[Stored]:
        found = _find(connection, self.session)
        if found is None:
            raise NotFound(f"There is no session {self.session!r}.")
        no, head = found
        change = self.change = self.admit(head)
        rows = [(no, s.seq, s.digest, d.text) for s, d in zip(change.stored, self.drafts, strict=True)]
        connection.executemany(SQL["append"], rows)
        for wait_id in change.closed:
            connection.execute(SQL["close_wait"], (no, wait_id))
        for row in change.opened:
            connection.execute(SQL["open_wait"], (no, *msgspec.structs.astuple(row)[1:]))
        connection.execute(SQL["update_session"], (*_columns(change.head)[1:], no))
        return change.stored

    def landed(self, connection: Connection) -> bool:
        assert self.change is not None
        found = _find(connection, self.session)
        if found is None or not self.change.stored:
            return False
        last = self.change.stored[-1]
        row = connection.execute(SQL["digest_at"], (found[0], last.seq)).fetchone()
        return row is not None and _digest(row[0]) == last.digest


class _SaveCheckpoint:
    def __init__(self, session: str, checkpoint: Checkpoint) -> None:
        self.session, self.checkpoint = session, checkpoint

    def run(self, connection: Connection) -> None:
        found = _find(connection, self.session)
        if found is None:
            raise NotFound(f"There is no session {self.session!r}.")
        point = self.checkpoint
        connection.execute(SQL["save_checkpoint"], (found[0], point.seq, point.digest, point.body))

    def landed(self, connection: Connection) -> bool:
        return True


def _find(connection: Connection, session: str) -> tuple[int, Head] | None:
    row = connection.execute(SQL["head"], (session,)).fetchone()
    return None if row is None else (row[0], _head(row))


def _head(row: Sequence[Any]) -> Head:
    owner = Owner(id=row[6], host=row[7], boot=row[8], process=row[9]) if row[6] is not None else None
    return Head(
        session=row[1], seq=row[2], digest=_digest(row[3]), epoch=row[4], outsider_seq=row[5], owner=owner,
        status=row[10], woken=bool(row[11]), updated_at=row[12],
    )  # fmt: skip


def _digest(value: Any) -> bytes:
    if not isinstance(value, bytes):  # SQLite keeps whatever type was put there
        raise LogBroken(
            "A digest in the database is no digest any more: it was altered. Nothing was executed. "
            "Run `callslip verify` for the whole report."
        )
    return value


def _columns(head: Head) -> tuple[Any, ...]:
    owner = head.owner
    return (
        head.session, head.seq, head.digest, head.epoch, head.outsider_seq,
        owner and owner.id, owner and owner.host, owner and owner.boot, owner and owner.process,
        head.status, int(head.woken), head.updated_at,
    )  # fmt: skip


def _heads(connection: Connection, session: str | None) -> Sequence[Head]:
    if session is None:
        return [_head(row) for row in connection.execute(SQL["heads"]).fetchall()]
    found = _find(connection, session)
    return [found[1]] if found else []


def _raw(connection: Connection, session: str, after: int, limit: int | None) -> list[tuple[int, bytes, bytes]]:
    found = _find(connection, session)
    if found is None:
        return []
    rows: list[tuple[int, bytes, bytes]] = connection.execute(
        SQL["read"], (found[0], after, _ALL if limit is None else limit)
    ).fetchall()
    return rows


def _data_version(connection: Connection) -> int:
    return int(connection.execute("pragma data_version").fetchone()[0])


def _read(
    connection: Connection, session: str, after: int, limit: int | None, most: int | None = None
) -> Sequence[Stored] | None:
    """Records after a position; ``None`` when there are more than ``most``."""
    connection.execute("begin")  # head and records of one instant
    try:
        found = _find(connection, session)
        if found is None:
            return []
        no, head = found
        if most is not None and head.seq - after > most:
            return None
        rows = connection.execute(SQL["read"], (no, after, _ALL if limit is None else limit)).fetchall()
        before = connection.execute(SQL["digest_at"], (no, after)).fetchone() if after else (genesis(session),)
    finally:
        connection.execute("rollback")
    if before is None:
        raise _missing(session, after)
    stored = _check_chain(session, after, _digest(before[0]), rows)
    if limit is None or len(rows) < limit:
        last = stored[-1] if stored else None
        seq, digest = (last.seq, last.digest) if last else (after, _digest(before[0]))
        if (seq, digest) != (head.seq, head.digest):
            raise _missing(session, head.seq)
    return stored


def _check_chain(session: str, after: int, previous: bytes, rows: Sequence[Any]) -> list[Stored]:
    stored = []
    for position, (seq, digest, text) in enumerate(rows, start=after + 1):
        if seq != position:
            raise _missing(session, position)
        if not isinstance(text, bytes) or link(previous, text) != digest:
            raise LogBroken(
                f"Record {seq} of session {session!r} is not what was written: its bytes, or those of its digest, "
                "were altered. Nothing was executed. Run `callslip verify` for the whole report.",
                seq=seq,
            )
        stored.append(Stored(seq=seq, digest=digest, record=read(text, seq)))
        previous = digest
    return stored


def _missing(session: str, seq: int) -> LogBroken:
    return LogBroken(
        f"Record {seq} of session {session!r} is missing though it was committed: the log was cut. "
        "Nothing was executed. Restore the database, and run `callslip verify`.",
        seq=seq,
    )


def _load_checkpoint(connection: Connection, session: str) -> Checkpoint | None:
    found = _find(connection, session)
    row = connection.execute(SQL["load_checkpoint"], (found[0],)).fetchone() if found else None
    if row is None or row[1] != row[3] or not isinstance(row[2], bytes):
        return None
    return Checkpoint(seq=row[0], digest=_digest(row[1]), body=row[2])
