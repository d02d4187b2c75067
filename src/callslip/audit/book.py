"""The book: one file that is only ever appended to, by one process at a time, with one chain over all of it.

A crash may leave the end of the file half written. Whoever opens the book next cuts that off: it was told to nobody
as written, follows from the log, and is written again. What was synced is never cut, and a book that is not what the
index says it was is not written to any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from callslip import failpoint
from callslip.audit import lines
from callslip.audit.entry import TURNING, Entry, Read, blank, read, write
from callslip.audit.index import Cursor, Index, Row, Tip
from callslip.errors import LedgerUnavailable, LogBroken

FILE = "book.jsonl"
INDEX = "index.db"
_PIECE = 1 << 16
_KEEP = (
    "Nothing was written to it. Run `callslip audit verify`, then move the folder elsewhere and keep it: a new book is "
    "written from the log."
)


class Book:
    """The folder ``audit`` of a state folder. All but :meth:`take` and :meth:`give_back` need the lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE
        self.index = Index(folder / INDEX)
        self._lock: int | None = None

    def take(self) -> bool:
        """Take the lock, making the folder if need be; false when another process has it."""
        with _translated(self.path):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            fd = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return False
        self._lock = fd
        return True

    def give_back(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def close(self) -> None:
        self.give_back()
        self.index.close()

    def ready(self) -> Tip:
        """Where the book ends, after others' entries have been taken in and a torn end has been cut off.

        Raises:
            LogBroken: it was altered since. LedgerUnavailable: it can't be read or written.
        """
        with _translated(self.path):
            self.index.open()
            tip, size = self.index.tip(), self._size()
            if size < tip.size:
                raise LogBroken(f"{self.path} was cut: {tip.size - size:,} bytes of it are gone. {_KEEP}")
            if tip.count and not self._ends_at(tip):
                raise LogBroken(f"{self.path} was altered: entry {tip.count} is not the one written there. {_KEEP}")
            return self._take_in(tip) if size > tip.size else tip

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def _ends_at(self, tip: Tip) -> bool:
        try:
            there = lines.last(self.path, tip.size)
        except LogBroken:
            return False
        return there is not None and there.line.n == tip.count and there.digest == tip.digest

    def _take_in(self, tip: Tip) -> Tip:
        """Read what stands after the known part; cut off what is no good."""
        rows: dict[str, Row] = {}
        known = tip.count > 0
        for offset, text, whole in lines.lines(self.path, tip.size):
            found = _follows(text, tip) if whole else None
            if found is None:
                if not known and any(_is_line(later.text) for later in lines.lines(self.path, offset) if later.whole):
                    raise LogBroken(f"{self.path} was altered: what follows entry {tip.count} does not fit it. {_KEEP}")
                self._cut(offset)
                break
            tip = Tip(count=found.line.n, digest=found.digest, size=offset + len(text) + 1)
            entry = found.line.entry
            if entry.seq:
                before = rows.get(entry.session) or self.index.row(entry.session)
                rows[entry.session] = msgspec.structs.replace(before, seq=entry.seq, digest=entry.digest)
        self.index.put(tip, rows)
        return tip

    def _cut(self, size: int) -> None:
        fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        try:
            os.ftruncate(fd, size)
            os.fsync(fd)
        finally:
            os.close(fd)

    def row(self, session: str) -> Row:
        """How far the session has been told."""
        with _translated(self.path):
            return self.index.row(session)

    def append(
        self,
        tip: Tip,
        entries: Sequence[tuple[Entry, bytes]],
        rows: Mapping[str, Row],
        *,
        cursor: Cursor | None = None,
    ) -> Tip:
        """Write the entries, each with its detail, after the tip, durable when this returns; then how far that goes.

        Raises:
            LedgerUnavailable: not all were written.
        """
        written, digest, count = [], tip.digest, tip.count
        for entry, detail in entries:
            count += 1
            text, digest = write(entry, detail, n=count, prev=digest)
            written.append(text + b"\n")
        data = b"".join(written)
        with _translated(self.path):
            if data:
                self._write(data)
            failpoint.hit("audit.written")
            tip = Tip(count=count, digest=digest, size=tip.size + len(data))
            self.index.put(tip, rows, cursor=cursor)
        failpoint.hit("audit.noted")
        return tip

    def _write(self, data: bytes) -> None:
        fresh = not self.path.exists()
        fd = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(data)
            while view:
                failpoint.hit("audit.writing")
                view = view[os.write(fd, view[:_PIECE]) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        if fresh:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def erase(self, session: str, addresses: Collection[str]) -> int:
        """Take the details away that were read from these payloads, in the session's entries. The chain still verifies.

        Returns:
            In how many entries.
        """
        done = 0
        with _translated(self.path):
            fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            try:
                for offset, text, whole in lines.lines(self.path):
                    found = _read(text) if whole else None
                    if found is None or found.erased or found.line.entry.session != session:
                        continue
                    entry = found.line.entry
                    if entry.arguments_blob in addresses and entry.detail_size:
                        os.pwrite(fd, blank(entry.detail_size), offset + len(text) - 1 - entry.detail_size)
                        done += 1
                os.fsync(fd)
            finally:
                os.close(fd)
        return done

    def told(self, session: str) -> dict[int, str]:
        """The digests of the session's records that have entries, by position. Where the log was put back to an earlier
        state and the audit was told so, what came after that state is left out.
        """
        found: dict[int, str] = {}
        with _translated(self.path):
            for one in lines.readable(self.path):
                entry = one.line.entry
                if entry.session == session and entry.seq:
                    if entry.kind == TURNING:
                        found = {seq: digest for seq, digest in found.items() if seq < entry.seq}
                    found[entry.seq] = entry.digest
        return found

    def digest_at(self, count: int) -> bytes | None:
        """The chain's digest after so many entries; ``None`` when there are not so many."""
        for text in lines.lines(self.path):
            found = _read(text.text) if text.whole else None
            if found is not None and found.line.n == count:
                return found.digest
        return None


def _follows(text: bytes, tip: Tip) -> Read | None:
    """The line, if it is the one after the tip and whole in itself."""
    found = _read(text)
    if found is None or found.line.n != tip.count + 1 or found.line.prev != tip.digest.hex() or found.detail_altered:
        return None
    return found


def _is_line(text: bytes) -> bool:
    return _read(text) is not None


def _read(text: bytes) -> Read | None:
    try:
        return read(text)
    except LogBroken:
        return None


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LedgerUnavailable(
            f"The audit {path} can't be read or written ({error.strerror or error}). What it lacks is still in the "
            "log. Check the folder, and the room on its disk."
        ) from error
    except sqlite3.Error as error:
        raise LedgerUnavailable(
            f"The index beside the audit {path} can't be used ({error}). What the audit lacks is still in the log. "
            f"Remove {INDEX}; it is made again."
        ) from error
