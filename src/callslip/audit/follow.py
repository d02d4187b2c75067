"""Follow the log: whatever is new in any session becomes entries of the book. It never holds up a call by itself.

Any number of processes may follow at once; the book's lock lets one of them write at a time. Each goes on from where
the book ends, so it does not matter who has told how much.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from callslip.audit.anchors import Anchors
from callslip.audit.book import Book
from callslip.audit.catch_up import CatchUp
from callslip.audit.dress import Cleaner, clean
from callslip.audit.entry import READ, Entry
from callslip.audit.index import Cursor, Tip
from callslip.audit.records import StoredLog
from callslip.core import canon
from callslip.core.event import read
from callslip.errors import CallslipError, LedgerUnavailable, LogBroken
from callslip.ports.blobs import Blobs
from callslip.ports.clock import Clock

T = TypeVar("T")

_TURN = 10.0
"""Seconds for which another process may hold the book."""
_LOOK = 0.05
_SOME = 50
"""Sessions that are looked at to say since when something has been left out."""


class Follower:
    """Implements ``Audit`` over a book. ``anchors`` says where its heads are kept."""

    def __init__(
        self,
        log: StoredLog,
        blobs: Blobs,
        book: Book,
        cleaner: Cleaner,
        clock: Clock,
        *,
        anchors: Anchors | None = None,
    ) -> None:
        self._log, self._blobs, self._book, self._cleaner, self._clock = log, blobs, book, cleaner, clock
        self.anchors = anchors
        self.unread: dict[str, str] = {}
        """Sessions whose log can't be read, and why; they are told no further until it can."""
        self._cursor: int | None = None
        """The ledger's change up to which all is told, as far as this process knows; at first it knows nothing."""
        self._looked = False
        self._tip = Tip()
        self._failed_at: float | None = float("-inf")
        """On the monotonic clock; minus infinity: nobody can say since when, and at first nobody has looked."""
        self._failure = "It has not been looked at yet."
        self._turn = anyio.Lock()
        self._threads = anyio.CapacityLimiter(1)

    # The port

    async def catch_up(self) -> None:
        try:
            async with self._turn:
                await self._catch_up()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the audit's trouble and no call's
            await self._failed(error)
        else:
            self._looked, self._failed_at, self._failure = True, None, ""

    def failing_since(self) -> int | None:
        if self._failed_at is None:
            return None
        passed = self._clock.monotonic() - self._failed_at
        return 0 if passed == float("inf") else self._clock.now() - round(passed * 1000)

    def failure(self) -> str:
        return self._failure

    async def read_of_payload(self, actor: str, session: str, address: str) -> None:
        entry = Entry(
            at=self._clock.now(), kind=READ, session=canon.scrub(session), actor=canon.scrub(actor), output=address
        )
        async with self._turn, self._locked() as tip:
            await self._in_thread(lambda: self._book.append(tip, [(clean(entry, self._cleaner), b"")], {}))

    def close(self) -> None:
        """Close the book's files."""
        self._book.close()

    # Following

    async def _catch_up(self) -> None:
        if self._cursor is not None and not await self._log.heads(changed_after=self._cursor):
            if self.anchors is not None and self.anchors.failure:
                await self.anchors.keep_up(self._tip)
            return
        async with self._locked() as tip:
            work = CatchUp(self._log, self._blobs, self._book, self._cleaner, self._in_thread, tip)
            await work.everything(again=self._cursor is None)
        self._cursor, self._tip = work.cursor.change, work.tip
        self.unread |= work.unread
        if self.anchors is not None:
            await self.anchors.keep_up(work.tip)
        if work.trouble:
            raise LogBroken(work.trouble)

    @contextlib.asynccontextmanager
    async def _locked(self) -> AsyncIterator[Tip]:
        """While inside, the book is this process's alone, and ready to be written."""
        began = self._clock.monotonic()
        try:
            while not self._book.take():
                if self._clock.monotonic() - began > _TURN:
                    raise LedgerUnavailable(
                        f"Another process has been writing the audit for more than {_TURN:.0f} s. See what it is doing."
                    )
                await self._clock.sleep(_LOOK)
            yield await self._in_thread(self._book.ready)
        finally:
            self._book.give_back()

    async def _in_thread(self, function: Callable[[], T]) -> T:
        """To its end, whatever happens to the caller: nobody gives the lock back while the book is being written."""
        task = asyncio.ensure_future(anyio.to_thread.run_sync(function, limiter=self._threads))
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None and task.exception() is None:
            raise cancelled
        return task.result()

    # Failing

    async def _failed(self, error: Exception) -> None:
        self._failure = str(error) if isinstance(error, CallslipError) else f"{type(error).__name__}: {error}"
        if self._looked and self._failed_at is not None:
            return
        self._looked = True
        now = self._clock.monotonic()
        # One that has been up to date has left nothing out until now; a new process may be the hundredth that fails.
        self._failed_at = now if self._cursor is not None else now - await self._behind()

    async def _behind(self) -> float:
        """Seconds since the oldest record that has no entry was written, as far as the index says; infinity when it
        can't be told.
        """
        try:
            oldest = None
            cursor = await self._in_thread(self._peek)
            for head in (await self._log.heads(changed_after=cursor.change))[:_SOME]:
                row = await self._in_thread(functools.partial(self._book.row, head.session))
                told = row.story.seq if row.story is not None else row.seq
                with contextlib.suppress(LogBroken):  # of a broken log nothing is left out that could be told
                    for seq, _, text in await self._log.raw(head.session, after=told, limit=1):
                        at = read(text, seq).at
                        oldest = min(at, oldest or at)
        except Exception:  # noqa: BLE001 - a failure while a failure is looked into
            return float("inf")
        return 0.0 if oldest is None else max(0.0, (self._clock.now() - oldest) / 1000)

    def _peek(self) -> Cursor:
        self._book.index.open()
        return self._book.index.cursor()
