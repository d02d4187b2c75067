"""Take in what the log has become since the last look, and queue the notices that come of it.

Reads positions in order of change, so that nothing is missed; a session's records are queued and its position is moved
on in one commit, so that nothing is queued twice. What is more than a day old is told only if it still waits for
somebody: a log that was imported, or that nobody followed for a week, does not send its whole past.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from callslip.core.event import Stored
from callslip.core.events.wait_opened import WaitOpened
from callslip.errors import LedgerError, LogBroken
from callslip.notify.backoff import GIVE_UP
from callslip.notify.endpoint import Endpoint, fingerprint, place
from callslip.notify.from_log import is_told, notices_of, unexplained
from callslip.notify.notice import Clean, Notice, body, of_error
from callslip.notify.outbox import Body, InThread, Outbox
from callslip.ports.clock import Clock
from callslip.ports.ledger import Head, Ledger

PAGE = 500
"""Records read at a time."""
BACK = 64
"""Records looked through at a time for what a notice is about; mostly it stands just before."""


class Follower:
    """``in_thread`` runs a function that uses the outbox; ``tell`` hears what went wrong and what was done about it."""

    def __init__(
        self,
        ledger: Ledger,
        outbox: Outbox,
        endpoints: Sequence[Endpoint],
        *,
        clock: Clock,
        clean: Clean,
        in_thread: InThread,
        tell: Callable[[str], None],
    ) -> None:
        self._ledger = ledger
        self._outbox = outbox
        self._endpoints = {place(endpoint): endpoint for endpoint in endpoints}
        self._clock = clock
        self._clean = clean
        self._in_thread = in_thread
        self._tell = tell
        self._change: int | None = None

    async def take_in(self) -> None:
        """Queue what is new.

        Raises:
            LedgerError, sqlite3.Error: the log or the outbox can't be used now. What was queued stays queued.
        """
        if self._change is None:
            self._change = await self._start()
        await self._alarms()
        for head in await self._ledger.heads(changed_after=self._change):
            await self._session(head)
            self._change = head.change

    async def _start(self) -> int:
        """Where to go on from; what waits now is queued for endpoints that are new."""
        heads = await self._ledger.heads(changed_after=0)
        latest = max((head.change for head in heads), default=0)
        have = await self._in_thread(self._outbox.change)
        positions = {head.session: head.seq for head in heads}
        if have is None or have > latest:  # the first start, or the log is an older copy
            await self._in_thread(partial(self._outbox.begin, latest, positions))
            have = latest
        else:
            await self._in_thread(partial(self._outbox.at_most, positions))
        settings = {where: fingerprint(endpoint) for where, endpoint in self._endpoints.items()}
        fresh = await self._in_thread(partial(self._outbox.fresh, settings))
        bodies = await self._what_waits({where: self._endpoints[where] for where in fresh}) if fresh else []
        await self._in_thread(partial(self._outbox.know, settings, bodies, now=self._clock.now()))
        return int(have)

    async def _what_waits(self, endpoints: Mapping[str, Endpoint]) -> list[Body]:
        bodies: list[Body] = []
        for row in await self._ledger.waits():
            try:
                opened = await self._ledger.read(row.session, after=row.seq - 1, limit=1)
                notices = await self._notices(row.session, opened)
            except LogBroken as error:
                notices = self._broken(row.session, error)
            bodies += self._bodies(notices, endpoints)
            await asyncio.sleep(0)  # ten thousand waits must not keep the sessions of this process from going on
        return bodies

    async def _session(self, head: Head) -> None:
        seen = await self._in_thread(partial(self._outbox.seen, head.session))
        try:
            whole = False
            while not whole:
                records = await self._ledger.read(head.session, after=seen, limit=PAGE) if seen < head.seq else ()
                notices = await self._notices(head.session, await self._recent(head.session, records))
                seen = records[-1].seq if records else seen
                whole = seen >= head.seq or not records
                await self._queue(head.session, seen, head.change if whole else None, notices)
        except LogBroken as error:
            await self._queue(head.session, seen, head.change, self._broken(head.session, error))
        except (LedgerError, sqlite3.Error):
            raise
        except Exception as error:  # noqa: BLE001 - what can't be told of one session must not silence the others
            self._tell(f"what happened in session {head.session} can't be told: {type(error).__name__}: {error}")
            await self._queue(head.session, head.seq, head.change, ())

    async def _recent(self, session: str, records: Sequence[Stored]) -> Sequence[Stored]:
        """The records without those that are old and over."""
        oldest = self._clock.now() - GIVE_UP
        if all(stored.record.at >= oldest or not is_told(stored.record.event) for stored in records):
            return records
        waiting = {row.wait_id for row in await self._ledger.waits(session)}
        return [stored for stored in records if stored.record.at >= oldest or _matters(stored, waiting)]

    async def _notices(self, session: str, records: Sequence[Stored]) -> list[Notice]:
        wanted = unexplained(records)
        before: list[Stored] = []
        first = records[0].seq if records else 1
        while wanted and first > 1:
            start = max(0, first - 1 - BACK)
            earlier = await self._ledger.read(session, after=start, limit=first - 1 - start)
            before = [*earlier, *before]
            wanted &= unexplained([*before, *records])
            first = start + 1
        return notices_of(session, records, before)

    async def _alarms(self) -> None:
        alarms = await self._in_thread(self._outbox.alarms)
        if alarms:
            bodies = self._bodies((notice for _, notice in alarms), self._endpoints)
            last = alarms[-1][0]
            await self._in_thread(partial(self._outbox.take_alarms, last, bodies, now=self._clock.now()))

    async def _queue(self, session: str, seq: int, change: int | None, notices: Iterable[Notice]) -> None:
        bodies = self._bodies(notices, self._endpoints)
        await self._in_thread(partial(self._outbox.take_in, session, seq, change, bodies, now=self._clock.now()))

    def _bodies(self, notices: Iterable[Notice], endpoints: Mapping[str, Endpoint]) -> list[Body]:
        return [
            (where, notice.id, body(notice, include_private=endpoint.include_arguments, clean=self._clean))
            for notice in notices
            for where, endpoint in endpoints.items()
            if not endpoint.only or notice.kind in endpoint.only
        ]

    def _broken(self, session: str, error: LogBroken) -> list[Notice]:
        notice = of_error(error, session=session, at=self._clock.now())
        return [notice] if notice is not None else []


def _matters(stored: Stored, waiting: set[str]) -> bool:
    """Whether an old record is needed: it opened a wait that is still open, or says what notices are about."""
    event = stored.record.event
    if isinstance(event, WaitOpened):
        return event.wait_id in waiting
    return not is_told(event)
