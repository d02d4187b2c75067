"""One catch-up: tell every session that has changed, from where it was told last, and write it into the book."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from callslip.audit.book import Book
from callslip.audit.dress import Cleaner, Remembering, dress
from callslip.audit.entry import Entry
from callslip.audit.index import Cursor, Row, Tip
from callslip.audit.records import StoredLog, digest_at, records
from callslip.audit.story import Story, begin
from callslip.audit.telling import tell
from callslip.core.event import Stored
from callslip.core.events.session_imported import SessionImported
from callslip.errors import LogBroken
from callslip.ports.blobs import Blobs
from callslip.ports.ledger import Head

_PAGE = 500
"""Records read at once."""
_BATCH = 1000
_BATCH_BYTES = 4 << 20
"""Entries, and bytes of their details, after which the book is synced though there is more to write."""

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


class CatchUp:
    """Made and used under the book's lock. Each batch is synced once, and only then does the index say so."""

    def __init__(
        self, log: StoredLog, blobs: Blobs, book: Book, cleaner: Cleaner, in_thread: InThread, tip: Tip
    ) -> None:
        self._log, self._blobs, self._book, self._in_thread = log, blobs, book, in_thread
        self._cleaner = Remembering(cleaner)
        self.tip = tip
        self.cursor = Cursor()
        """How far the ledger has been followed, and the book says so."""
        self.trouble = ""
        """Why a session could not be told, though its log can be read; whatever changed after it is looked at again."""
        self.unread: dict[str, str] = {}
        """Sessions whose log can't be read, and why."""
        self._turned = False
        """A session's log is another one than it was; then the whole ledger may be."""
        self._entries: list[tuple[Entry, bytes]] = []
        self._bytes = 0
        self._rows: dict[str, Row] = {}

    async def everything(self, *, again: bool) -> None:
        """Tell whatever is new. ``again``: also try sessions that could not be read."""
        before = self._book.index.cursor()
        if await self._is_there(before):
            self.cursor = before  # else the ledger is not the one that was followed, but perhaps an older copy of it
        if again:
            for session in self._book.index.unread():
                for head in await self._log.heads(session):
                    await self._session(head)
        await self._follow()
        if self._turned and before.change and (again or not self.trouble):
            self.cursor = Cursor()
            await self._follow()
        if self._entries or self._rows or self.cursor != before:
            await self._write()

    async def _follow(self) -> None:
        """From the cursor on, some sessions at a time: their number must cost no memory."""
        after = self.cursor.change
        while heads := await self._log.heads(changed_after=after, limit=_PAGE):
            for head in heads:
                await self._session(head)
                if not self.trouble:
                    self.cursor = Cursor(change=head.change, session=head.session, digest=head.digest.hex())
            after = heads[-1].change
            if len(self._rows) >= _BATCH:
                await self._write()

    async def _is_there(self, cursor: Cursor) -> bool:
        """Whether the last change that was followed is still there, or a later one of the same session."""
        if not cursor.change:
            return True
        heads = await self._log.heads(cursor.session)
        return any(head.change > cursor.change or head.digest.hex() == cursor.digest for head in heads)

    async def _session(self, head: Head) -> None:
        row = self._rows.get(head.session) or self._book.row(head.session)
        story = row.story or begin(head.session)
        unread = ""
        try:
            if not await self._goes_on(head, story, row):
                story, row = await self._turn(head.session, max(story.seq, row.seq))
            while story.seq < head.seq:
                for stored in await records(self._log, head.session, after=story.seq, digest=story.digest, limit=_PAGE):
                    row = await self._record(story, row, stored)
        except _TurnedBack as error:
            self.trouble = str(error)
            return
        except LogBroken as error:
            self.unread[head.session] = unread = str(error)
        self._rows[head.session] = Row(seq=row.seq, digest=row.digest, story=story, unread=unread)

    async def _goes_on(self, head: Head, story: Story, row: Row) -> bool:
        """Whether the log still has what was told of it."""
        seq, digest = (story.seq, story.digest) if story.seq >= row.seq else (row.seq, row.digest)
        if seq >= head.seq:
            return seq == head.seq and head.digest.hex() == digest
        return not seq or await digest_at(self._log, head.session, seq) == digest

    async def _turn(self, session: str, known: int) -> tuple[Story, Row]:
        """Begin again with a session whose log is another one than it was, if it says so itself.

        Raises:
            _TurnedBack: it does not.
        """
        self._turned = True
        since = await self._turning(session, await self._in_thread(lambda: self._book.told(session)))
        if since is None:
            raise _TurnedBack(
                f"The audit knows record {known} of session {session!r} as another one than the log has now: the log "
                "was put back to an earlier state, or altered. Nothing more is told of the session. Run `callslip "
                "audit verify`."
            )
        return begin(session), Row(seq=since - 1)

    async def _turning(self, session: str, told: dict[int, str]) -> int | None:
        """Where the log says itself that it was put back to an earlier state, before the first record that differs."""
        story, turning = begin(session), None
        with contextlib.suppress(LogBroken):
            while page := await records(self._log, session, after=story.seq, digest=story.digest, limit=_PAGE):
                for stored in page:
                    digest = stored.digest.hex()
                    if isinstance(stored.record.event, SessionImported) and told.get(stored.seq) != digest:
                        turning = stored.seq  # one that has been told explains nothing that was told after it
                    if told.get(stored.seq, digest) != digest:
                        return turning
                    story.seq, story.digest = stored.seq, digest
        return turning if max(told, default=0) > story.seq else None

    async def _record(self, story: Story, row: Row, stored: Stored) -> Row:
        """Tell one record; how far the session has been told with it."""
        told = tell(story, stored)
        if told is None or stored.seq <= row.seq:
            return row
        if told.erases:  # after what they were read for is in the book
            await self._write()
            await self._in_thread(lambda: self._book.erase(story.session, told.erases))
        entry, detail = await dress(told, self._blobs, self._cleaner)
        self._entries.append((entry, detail))
        self._bytes += len(detail)
        self._rows[story.session] = row = Row(seq=stored.seq, digest=entry.digest, story=story)
        if len(self._entries) >= _BATCH or self._bytes >= _BATCH_BYTES:
            await self._write()
        return row

    async def _write(self) -> None:
        entries, rows, tip, cursor = self._entries, self._rows, self.tip, self.cursor
        self.tip = await self._in_thread(lambda: self._book.append(tip, entries, rows, cursor=cursor))
        self._entries, self._bytes, self._rows = [], 0, {}


class _TurnedBack(Exception):
    """A session's log is not the one that was told, and does not say why."""
