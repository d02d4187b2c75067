"""The line of one process. Most calls find nobody in it, and pay for no more than that."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from callslip.authorities.rules import Bucket, Ticket, decide, in_the_way, standing
from callslip.core.claim import Claim, Kind
from callslip.errors import LedgerUnavailable
from callslip.ports.authority import Blocked, Capacity, Grant, Holder, Standing

_AT_ONCE = Grant(waited=False)


class MemoryAuthority:
    """Implements ``Authority`` within one process and one event loop."""

    def __init__(
        self,
        capacities: Mapping[str, Capacity] | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._capacities = dict(capacities or {})
        self._now = monotonic
        self._line: dict[int, Ticket] = {}
        self._woken: dict[int, asyncio.Future[None]] = {}
        self._ids: Counter[str] = Counter()
        self._above: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._buckets: dict[str, Bucket] = {}
        self._timer: asyncio.TimerHandle | None = None

    @contextlib.asynccontextmanager
    async def holding(self, wanted: Sequence[Claim], holder: Holder, on_wait: Blocked) -> AsyncIterator[Grant]:
        if not wanted:
            yield _AT_ONCE
            return
        ticket = Ticket(number=next(self._numbers), holder=holder, claims=tuple(wanted), since=self._now())
        ticket.granted = self._alone(ticket)
        self._enter(ticket)
        try:
            yield _AT_ONCE if ticket.granted else await self._queued(ticket, on_wait)
        finally:
            self._leave(ticket)

    def standing(self) -> list[Standing]:
        now = self._now()
        return [standing(ticket, now) for ticket in self._line.values()]

    def close(self) -> Sequence[Holder]:
        """Whoever waits is told so."""
        self._set_timer(None)
        holders = [ticket.holder for ticket in self._line.values() if ticket.granted]
        for woken in self._woken.values():
            if not woken.done():
                woken.set_exception(
                    LedgerUnavailable(
                        "This runtime is being closed. Nothing is held by this call. Resume to try again."
                    )
                )
        return holders

    def _alone(self, ticket: Ticket) -> bool:
        """Whether nobody can be in its way: quicker to see than who is."""
        return not any(
            any(name in self._ids for name in (*claim.ids, *claim.above))
            or (claim.kind is Kind.TREE and any(name in self._above for name in claim.ids))
            or (claim.kind is Kind.SLOT and claim.ids[0] in self._capacities)
            for claim in ticket.claims
        )

    def _enter(self, ticket: Ticket) -> None:
        self._line[ticket.number] = ticket
        for claim in ticket.claims:
            self._ids.update(claim.ids)
            self._above.update(claim.above)

    def _leave(self, ticket: Ticket) -> None:
        del self._line[ticket.number]
        self._woken.pop(ticket.number, None)
        for claim in ticket.claims:
            _less(self._ids, claim.ids)
            _less(self._above, claim.above)
        if self._woken:
            self._decide()
        else:
            self._set_timer(None)

    async def _queued(self, ticket: Ticket, on_wait: Blocked) -> Grant:
        self._decide()
        if ticket.granted:
            return _AT_ONCE
        before = tuple(in_the_way(ticket, list(self._line.values()), self._capacities))
        woken = self._woken[ticket.number] = asyncio.get_running_loop().create_future()
        on_wait(before)
        await woken
        return Grant(waited=True, waited_for=before)

    def _decide(self) -> None:
        now = self._now()
        decision = decide(list(self._line.values()), self._capacities, self._buckets, now)
        self._buckets = decision.buckets
        for ticket in decision.granted:
            ticket.granted, ticket.held_since = True, now
            woken = self._woken.pop(ticket.number, None)
            if woken is not None and not woken.done():
                woken.set_result(None)
        self._set_timer(decision.again)

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else asyncio.get_running_loop().call_later(seconds, self._decide)


def _less(counter: Counter[str], names: Sequence[str]) -> None:
    for name in names:
        counter[name] -= 1
        if not counter[name]:
            del counter[name]
