"""The one writer thread of a process: group commit, and the lock that processes take turns with.

Jobs handed over in one pass of the event loop share a commit, and so do jobs that arrive while one is under way.
On a disk that commits faster than two threads can talk to each other, the event loop commits by itself when the
writer is idle (docs/adr/0005); on a slower one, or when another process holds the lock, the thread does.
A job refuses by raising before it writes anything, so its group-mates are never disturbed. A commit that fails says
nothing by itself: the database is opened anew and each job looks whether it took place.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from callslip import failpoint
from callslip.errors import CallslipError, CommitUnknown, LedgerError, LedgerUnavailable
from callslip.ledgers.connection import Connect, Connection, open_ledger, translate

QUICK_COMMIT = 0.005
"""Seconds. While commits take less than this on average, blocking the loop costs less than waking a thread."""


class Work(Protocol):
    """What a job does inside the transaction."""

    def run(self, connection: Connection) -> Any:
        """Write, and give the result; or raise a :class:`CallslipError` before anything was written."""
        ...

    def landed(self, connection: Connection) -> bool:
        """After a failed commit, in a fresh connection: whether the write is there."""
        ...


class _Job:
    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def deliver(self) -> None:
        if self.future.done():  # its waiter was cancelled; the write stands all the same
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Writer:
    """Owns the writing connection. ``commits`` counts the transactions that reached the disk."""

    def __init__(self, path: Path, connect: Connect) -> None:
        self.commits = 0
        self._path = path
        self._connect = connect
        self._connection: Connection | None = open_ledger(path, connect)
        self._lock_fd = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._incoming: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        self._process = os.getpid()
        self._ready: deque[_Job] = deque()
        self._condition = threading.Condition()
        self._committing = threading.Lock()
        self._pace = 0.0
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="callslip-writer", daemon=True)
        self._thread.start()

    async def submit(self, work: Work) -> Any:
        """Run the work in a transaction and give its result once that is durable."""
        if os.getpid() != self._process:
            raise LedgerUnavailable(
                "The ledger was opened by the process this one was forked from. Nothing was written. "
                "Make a Runtime after the fork."
            )
        loop = asyncio.get_running_loop()
        job = _Job(work, loop)
        with self._condition:
            if loop not in self._incoming:
                # Handed over at the end of this pass of the loop, so that tasks running now share the commit.
                self._incoming[loop] = []
                loop.call_soon(self._hand_over, loop)
            self._incoming[loop].append(job)
        return await job.future  # a waiter that is cancelled leaves; the write stands all the same

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._condition:
            jobs = self._incoming.pop(loop)
            refused = self._closing
            if not refused and (self._ready or not self._take_turn()):
                self._ready.extend(jobs)
                self._condition.notify()
                return
        if refused:
            for job in jobs:
                job.error = LedgerUnavailable("The ledger was closed. Nothing was written.")
        else:  # the turn is ours, and a close() that comes now waits for it
            try:
                self._commit(jobs)
            finally:
                self._committing.release()
        _run_all([job.deliver for job in jobs])

    def _take_turn(self) -> bool:
        """Whether the loop may commit by itself now: a quick disk, an idle writer, and nobody else at the file."""
        if self._pace > QUICK_COMMIT or not self._committing.acquire(blocking=False):
            return False
        try:
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # held by another process; or broken, and the thread will say so
            self._committing.release()
            return False
        return True

    def close(self) -> None:
        """Finish what was handed over, then end the thread and close the database."""
        with self._condition:
            self._closing = True
            self._condition.notify()
        if self._process == os.getpid():
            self._thread.join()
        with self._committing:
            self._discard()
        os.close(self._lock_fd)

    def _serve(self) -> None:
        while True:
            with self._condition:
                while not self._ready and not self._closing:
                    self._condition.wait()
            with self._committing:  # taken before the jobs, so that the loop can't overtake them
                with self._condition:
                    jobs = list(self._ready)
                    self._ready.clear()
                if not jobs:
                    if self._closing:
                        return
                    continue
                self._lock_and_commit(jobs)
            _deliver(jobs)

    def _lock_and_commit(self, jobs: Sequence[_Job]) -> None:
        try:
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX)
        except OSError as error:
            for job in jobs:
                job.error = translate(error, self._path)
            return
        self._commit(jobs)

    def _commit(self, jobs: Sequence[_Job]) -> None:
        """Run the jobs in one transaction, holding the lock between processes; each job gets its result or error."""
        began = time.perf_counter()
        try:
            self._transaction(jobs)
        except BaseException as error:  # noqa: BLE001 - a waiter must always hear of it
            self._discard()  # with whatever was open in it: nobody else may be locked out
            for job in jobs:
                job.error = job.error or error
        finally:
            fcntl.flock(self._lock_fd, fcntl.LOCK_UN)
            self._pace += 0.2 * (time.perf_counter() - began - self._pace)

    def _transaction(self, jobs: Sequence[_Job]) -> None:
        try:
            connection = self._open()
            connection.execute("begin immediate")
            for job in jobs:
                try:
                    job.result = job.work.run(connection)
                except CallslipError as refusal:
                    job.error = refusal
        except LedgerError as error:  # it could not be opened
            for job in jobs:
                job.error = error
            return
        except Exception as error:  # noqa: BLE001 - a value that SQLite can't hold is as bad as a disk that can't write
            self._discard()
            if len(jobs) == 1:
                known = isinstance(error, sqlite3.Error | OSError)
                jobs[0].error = translate(error, self._path) if known else error
                return
            for job in jobs:  # one of them can't be written: find out which, sparing the others
                job.error = None
                self._transaction([job])
            return
        if all(job.error is not None for job in jobs):
            connection.execute("rollback")
            return
        self._finish(connection, [job for job in jobs if job.error is None])

    def _finish(self, connection: Connection, jobs: Sequence[_Job]) -> None:
        failpoint.hit("commit.before")
        try:
            connection.execute("commit")
        except (sqlite3.Error, OSError) as error:
            self._look(jobs, error)
            return
        self.commits += 1
        failpoint.hit("commit.after")

    def _look(self, jobs: Sequence[_Job], error: Exception) -> None:
        """A failed COMMIT means unknown: open anew and see."""
        self._discard()
        try:
            connection = self._open()
            if "full" not in str(error):  # a full disk has taken only a part, which is nothing
                _commit_anew(connection)
            landed = [job.work.landed(connection) for job in jobs]
        except (sqlite3.Error, OSError, LedgerError) as second:
            for job in jobs:
                job.error = CommitUnknown(
                    f"A commit failed ({error}) and the log could not be read back ({second}). It may or may not "
                    "have been written: nothing further is executed. Resume once the disk works; the log decides."
                )
            return
        for job, there in zip(jobs, landed, strict=True):
            job.error = None if there else translate(error, self._path)

    def _open(self) -> Connection:
        if self._connection is None:
            self._connection = open_ledger(self._path, self._connect)
        return self._connection

    def _discard(self) -> None:
        """Close the connection, which rolls back whatever it had open."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            try:
                connection.close()
            except sqlite3.Error:
                return


def _commit_anew(connection: Connection) -> None:
    """Settle what a failed sync left open: the commit may stand whole in the WAL, unseen until the next recovery
    makes it true. A commit that works writes over it, or, if it is seen, makes it durable.
    """
    version = connection.execute("pragma user_version").fetchone()[0]
    connection.execute("begin immediate")
    connection.execute(f"pragma user_version = {version}")
    connection.execute("commit")


def _deliver(jobs: Sequence[_Job]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[Callable[[], None]]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job.deliver)
    for loop, deliveries in by_loop.items():
        with contextlib.suppress(RuntimeError):  # a loop that was closed meanwhile has no waiters any more
            loop.call_soon_threadsafe(_run_all, deliveries)


def _run_all(deliveries: Sequence[Callable[[], None]]) -> None:
    for deliver in deliveries:
        deliver()
