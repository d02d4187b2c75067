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
from callslip.errors import LogBroken, Moved, NotFound, UsageError
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
    """Implements ``Ledger``, ``Adopts`` and ``Checkpoints`` in one file. Any number of processes may open it at once.

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

    async def adopt(self, session: str, drafts: Sequence[Draft]) -> Head:
        head: Head = await self._writer.submit(_Adopt(session, drafts))
        return head

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

    async def heads(
        self,
        session: str | None = None,
        *,
        changed_after: int | None = None,
        ready_at: int | None = None,
        limit: int | None = None,
    ) -> Sequence[Head]:
        def ask(connection: Connection) -> Sequence[Head]:
            return _heads(connection, session, changed_after, ready_at, limit)

        few = session is not None and ready_at is None
        return await self._quickly(ask, few=few)

    async def waits(
        self, session: str | None = None, *, wait_id: str | None = None, due_at: int | None = None
    ) -> Sequence[WaitRow]:
        def ask(connection: Connection) -> Sequence[WaitRow]:
            return _waits(connection, session, wait_id, due_at)

        return await self._quickly(ask, few=wait_id is not None)

    async def version(self) -> int:
        # data_version changes when *another* connection commits, and the writer is another connection too.
        return await self._quickly(_data_version, few=True)

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

    async def _quickly(self, function: Callable[[Connection], T], *, few: bool) -> T:
        """In this thread where it is known to find few rows, and nobody reads; else in another one."""
        here = self._here(function) if few else None
        return here if here is not None else await self._in_thread(function)

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
        elif self.expected_epoch:
            raise Moved(f"Session {self.session!r} does not exist any more.")
        else:
            head = rules.new_head(self.session, self.owner, self.at)
            connection.execute(SQL["create_session"], _columns(head))
        return _head(connection.execute(SQL["head"], (self.session,)).fetchone())  # with the change it was given

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
        _keep(connection, no, change, self.drafts)
        _update(connection, no, head, change.head)
        return change.stored

    def landed(self, connection: Connection) -> bool:
        assert self.change is not None
        found = _find(connection, self.session)
        if found is None or not self.change.stored:
            return False
        last = self.change.stored[-1]
        row = connection.execute(SQL["digest_at"], (found[0], last.seq)).fetchone()
        return row is not None and _digest(row[0]) == last.digest


class _Adopt:
    def __init__(self, session: str, drafts: Sequence[Draft]) -> None:
        self.session, self.drafts = session, drafts
        self.change = rules.adopt(session, drafts)

    def run(self, connection: Connection) -> Head:
        if _find(connection, self.session) is not None:
            raise UsageError(f"Session {self.session!r} is here already. Nothing was written.")
        connection.execute(SQL["create_session"], _columns(self.change.head))
        row = connection.execute(SQL["head"], (self.session,)).fetchone()
        _keep(connection, row[0], self.change, self.drafts)
        return _head(row)

    def landed(self, connection: Connection) -> bool:
        found = _find(connection, self.session)
        return found is not None and found[1].digest == self.change.head.digest


def _keep(connection: Connection, no: int, change: rules.Change, drafts: Sequence[Draft]) -> None:
    """Write an append's records and waits."""
    rows = [(no, s.seq, s.digest, d.text) for s, d in zip(change.stored, drafts, strict=True)]
    connection.executemany(SQL["append"], rows)
    for wait_id in change.closed:
        connection.execute(SQL["close_wait"], (no, wait_id))
    for row in change.opened:
        connection.execute(SQL["open_wait"], (no, *msgspec.structs.astuple(row)[1:]))
    for wait_id, wake_at in change.moved:
        connection.execute(SQL["move_wait"], (wake_at, no, wait_id))


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
        status=row[10], woken=bool(row[11]), updated_at=row[12], change=row[13],
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


def _update(connection: Connection, no: int, before: Head, after: Head) -> None:
    """Write the row. Most appends leave the columns alone by which workers search, and need not touch their index."""
    if (before.owner, before.status, before.woken) == (after.owner, after.status, after.woken):
        connection.execute(SQL["advance_session"], (after.seq, after.digest, after.outsider_seq, after.updated_at, no))
    else:
        connection.execute(SQL["update_session"], (*_columns(after)[1:], no))


def _heads(
    connection: Connection,
    session: str | None,
    changed_after: int | None,
    ready_at: int | None,
    limit: int | None,
) -> Sequence[Head]:
    if ready_at is not None:
        found = connection.execute(SQL["heads_ready"], (ready_at, session)).fetchall()
    elif session is not None:
        found = connection.execute(SQL["head"], (session,)).fetchall()
    elif changed_after is not None:
        found = connection.execute(SQL["heads_changed"], (changed_after, _ALL if limit is None else limit)).fetchall()
    else:
        found = connection.execute(SQL["heads"]).fetchall()
    heads = map(_head, found)
    return [head for head in heads if changed_after is None or head.change > changed_after][:limit]


def _waits(connection: Connection, session: str | None, wait_id: str | None, due_at: int | None) -> Sequence[WaitRow]:
    if wait_id is not None:
        found = connection.execute(SQL["waits_by_id"], (wait_id, session)).fetchall()
    elif due_at is not None:
        found = connection.execute(SQL["waits_due"], (due_at, session)).fetchall()
    elif session is not None:
        found = connection.execute(SQL["waits_of_session"], (session,)).fetchall()
    else:
        found = connection.execute(SQL["waits"]).fetchall()
    rows = (WaitRow(**dict(zip(WaitRow.__struct_fields__, row, strict=True))) for row in found)
    return [row for row in rows if due_at is None or (row.wake_at is not None and row.wake_at <= due_at)]


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
        stored.append(Stored(seq=seq, digest=digest, record=read(text, seq), size=len(text)))
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
