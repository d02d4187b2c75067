"""Read the log for what turns had to find: page by page, and only sessions in which something has happened since."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

from callslip.core.event import Stored
from callslip.core.payload import Payload
from callslip.errors import LogBroken, NotFound
from callslip.ports.ledger import Head, Ledger
from callslip.stats.collect import PAGE, heads_of
from callslip.stats.routing.fold import Turns
from callslip.stats.routing.turn import Turn

ReadPayload = Callable[[Payload], Awaitable[bytes]]


class Reading:
    """:meth:`turns`, and then what was read. ``since``: milliseconds since 1970; a turn from before is left out."""

    def __init__(
        self, ledger: Ledger, payload: ReadPayload, sessions: Iterable[str] | None = None, since: int | None = None
    ) -> None:
        self.sessions = self.records = 0
        self.unread: list[str] = []
        """Sessions whose log is broken."""
        self._ledger, self._payload = ledger, payload
        self._wanted, self._since = sessions, since

    async def turns(self) -> AsyncIterator[Turn]:
        """Those in which tools had to be found, of all sessions or of these.

        Raises:
            NotFound: one of the sessions is not there. LedgerUnavailable.
        """
        for head in await heads_of(self._ledger, self._wanted):
            if self._since is not None and head.updated_at < self._since:
                continue
            self.sessions += 1
            turns = Turns(head.session)
            try:
                await self._read(head, turns)
            except LogBroken:  # one broken session must not hide the others
                self.unread.append(head.session)
            for turn in turns.found:
                if turn.finds and (self._since is None or turn.at >= self._since):
                    yield turn

    async def _read(self, head: Head, turns: Turns) -> None:
        done = 0
        while done < head.seq:
            limit = min(PAGE, head.seq - done)
            try:
                page = await self._ledger.read(head.session, after=done, limit=limit)
            except LogBroken as error:
                good = (error.seq or 1) - 1 - done
                if good > 0:
                    await self._take(await self._ledger.read(head.session, after=done, limit=good), turns)
                raise
            if not page:
                raise LogBroken(f"Records of session {head.session!r} are missing at its end.", seq=done)
            await self._take(page, turns)
            done = page[-1].seq

    async def _take(self, page: Sequence[Stored], turns: Turns) -> None:
        for stored in page:
            wanted = turns.wants(stored.record.event)
            turns.add(stored, None if wanted is None else await self._text(wanted))
            self.records += 1

    async def _text(self, payload: Payload) -> bytes | None:
        """``None``: it can't be read; that of the turn which stands in the records is counted all the same."""
        try:
            return await self._payload(payload)
        except (LogBroken, NotFound):
            return None
