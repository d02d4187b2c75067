"""Read the log for the statistics: page by page, and only sessions in which something has happened since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from callslip.core.event import Stored, genesis, link, read
from callslip.errors import LogBroken, NotFound
from callslip.ports.ledger import Head, Ledger
from callslip.stats.figures import Stats
from callslip.stats.tally import Tally

PAGE = 5_000
"""Records in memory at once."""


@runtime_checkable
class RawLog(Protocol):
    """A ledger that gives its stored bytes. What is counted stands in clear text also in encrypted records, so these
    need no key, and cost a third.
    """

    async def raw(
        self, session: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[tuple[int, bytes, bytes]]: ...


async def collect(ledger: Ledger, sessions: Iterable[str] | None = None, since: int | None = None) -> Stats:
    """What the log says of tools and models, of all sessions or of these. ``since``: milliseconds since 1970.

    Raises:
        NotFound: one of these sessions is not there. LedgerUnavailable.
    """
    tally = Tally(since)
    for head in await heads_of(ledger, sessions):
        if since is not None and head.updated_at < since:
            continue
        tally.begin()
        try:
            await _read(ledger, head, tally)
        except LogBroken:  # one broken session must not hide the others
            tally.unread.append(head.session)
    return tally.stats()


async def heads_of(ledger: Ledger, sessions: Iterable[str] | None) -> list[Head]:
    """All sessions, or these.

    Raises:
        NotFound: one of them is not there.
    """
    if sessions is None:
        return list(await ledger.heads())
    found: list[Head] = []
    for session in dict.fromkeys(sessions):
        heads = await ledger.heads(session)
        if not heads:
            raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
        found += heads
    return found


async def _read(ledger: Ledger, head: Head, tally: Tally) -> None:
    done, previous = 0, genesis(head.session)
    while done < head.seq:
        before, limit = done, min(PAGE, head.seq - done)
        if isinstance(ledger, RawLog):
            for seq, digest, text in await ledger.raw(head.session, after=done, limit=limit):
                previous = _checked(head.session, previous, seq, digest, text)
                tally.add(Stored(seq=seq, digest=digest, record=read(text, seq)))
                done = seq
        else:
            for stored in await ledger.read(head.session, after=done, limit=limit):
                tally.add(stored)
                done = stored.seq
        if done == before:
            raise LogBroken(f"Records of session {head.session!r} are missing at its end.", seq=done)


def _checked(session: str, previous: bytes, seq: int, digest: Any, text: Any) -> bytes:
    if not isinstance(text, bytes) or link(previous, text) != digest:
        raise LogBroken(f"Record {seq} of session {session!r} is not what was written.", seq=seq)
    return bytes(digest)
