"""What is not kept for ever: payloads of sessions that nobody has touched for long, and payloads that nobody names."""

from __future__ import annotations

from collections.abc import Sequence

from callslip.errors import Busy, CallslipError, UsageError
from callslip.ports.blobs import Erasable
from callslip.ports.ledger import Head
from callslip.runtime.parts import Parts
from callslip.sessions.erase import erase_session, finish
from callslip.sessions.survey import addresses_in

ACTOR = "lifetime"
"""Who erases when time is up."""
_DAY = 86_400_000
_SPARED = 3_600_000
"""Milliseconds for which a payload that nobody names is left alone: its record may be on the way."""
ERASED = "erased"
"""Status of a session that has nothing left to erase."""


class Lifetime:
    """The rule of one installation. Remembers which sessions it has looked at in vain."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._vain: dict[str, int] = {}

    async def expire(self, now: int | None = None) -> Sequence[str]:
        """Finish erasures that were broken off, then erase sessions whose last record is older than ``keep_days`` and
        that wait for nothing. Gives the sessions that were erased by age. For a worker, every hour or so.

        A session that can't be erased (a broken log, an owner elsewhere) does not hold up the others.
        """
        parts = self._parts
        await finish(parts)
        days = parts.data.keep_days
        if days is None or not isinstance(parts.blobs, Erasable):
            return []
        before = (parts.clock.now() if now is None else now) - days * _DAY
        waiting = {row.session for row in await parts.ledger.waits()}
        heads = [head for head in await parts.ledger.heads() if head.updated_at < before and not head.woken]
        return [
            head.session
            for head in heads
            if head.status != ERASED and head.session not in waiting and await self._erased(head, days)
        ]

    async def _erased(self, head: Head, days: int) -> bool:
        if self._vain.get(head.session) == head.seq:
            return False
        try:
            reason = f"nothing was added for {days} days"
            result = await erase_session(self._parts, head.session, reason=reason, by=None, actor=ACTOR)
        except Busy:
            return False
        except CallslipError:
            result = None
        if result is None or not result.anything:
            self._vain[head.session] = head.seq
            return False
        return True


async def expire(parts: Parts, now: int | None = None) -> Sequence[str]:
    """:meth:`Lifetime.expire`, once."""
    return await Lifetime(parts).expire(now)


async def collect(parts: Parts, now: int | None = None) -> int:
    """Remove payloads that no log and no checkpoint names, and what broken writes left. How many.

    Spares what is less than an hour old. Reads every log.

    Raises:
        UsageError: this store forgets nothing.
    """
    store = parts.blobs
    if not isinstance(store, Erasable):
        raise UsageError("This store of payloads can't forget anything. Nothing was removed.")
    await finish(parts)
    before = (parts.clock.now() if now is None else now) - _SPARED
    # What is there is listed first: what is put and named after that is young.
    there = {_digest(address): address for address in await store.listed()}
    for head in await parts.ledger.heads():
        for address in await addresses_in(parts, head.session):
            there.pop(_digest(address), None)
    removed = await store.tidy(before)
    for address in there.values():
        used_at = await store.used_at(address)
        if used_at is not None and used_at < before:
            removed += await store.remove(address)
    return removed


def _digest(address: str) -> str:
    return address.rpartition(":")[2]
