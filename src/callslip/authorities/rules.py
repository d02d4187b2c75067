"""Who is next: a pure decision over the line of callers, the same in one process and over many (PARA-02, PARA-04).

A caller is granted when nothing that it claims is held, or wanted by somebody who came earlier and waits for that. One
that only waits for a slot is the first to be looked at when one is free, and bars nobody from its files and from other
slots meanwhile: limited services never block unrelated work. So that it isn't passed by for ever, it bars everything it
claims once it has waited for ``PATIENCE``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from callslip.authorities.taken import Taken
from callslip.core.claim import Claim, Kind
from callslip.ports.authority import Capacity, Holder, Standing

PATIENCE: Final = 30.0
"""Seconds."""
_ROUNDING = 1e-6
"""Of a call: what a time in seconds may lack for being a float."""


class Ticket(msgspec.Struct, kw_only=True):
    """A place in the line. ``number`` is its order."""

    number: int
    holder: Holder
    claims: tuple[Claim, ...]
    since: float
    """Seconds of a clock that never steps back."""
    granted: bool = False
    held_since: float | None = None
    """By the same clock; ``None``: it was granted at once, or is not."""

    def conflicts(self, other: Ticket) -> bool:
        return any(mine.conflicts(theirs) for mine in self.claims for theirs in other.claims)

    def slots(self) -> list[str]:
        """Names of the limited services it takes part in, each once."""
        return list(dict.fromkeys(claim.ids[0] for claim in self.claims if claim.kind is Kind.SLOT))


class Bucket(msgspec.Struct, frozen=True, array_like=True):
    """What is left of a rate: so many calls at that time."""

    left: float
    at: float

    def now(self, capacity: Capacity, now: float) -> Bucket:
        """Filled up since. A clock that steps back fills nothing, and no time twice."""
        assert capacity.calls is not None
        passed = max(0.0, now - self.at)
        left = min(float(capacity.calls), self.left + passed * capacity.calls / capacity.per)
        return Bucket(left, self.at + passed)

    def wait(self, capacity: Capacity, now: float) -> float:
        """Seconds until one call is left."""
        assert capacity.calls is not None
        missing = 1.0 - self.now(capacity, now).left
        return missing * capacity.per / capacity.calls if missing > _ROUNDING else 0.0


class Decision(msgspec.Struct, frozen=True):
    """Who is granted now, what is left of the rates then, and when to decide again if nobody comes or goes."""

    granted: list[Ticket]
    buckets: dict[str, Bucket]
    again: float | None


def decide(
    line: Sequence[Ticket], capacities: Mapping[str, Capacity], buckets: Mapping[str, Bucket], now: float
) -> Decision:
    """Grant to whoever can be granted, in order. ``line`` is sorted by number; nothing is changed."""
    deciding = _Deciding(line, capacities, buckets, now)
    for ticket in line:
        if not ticket.granted:
            deciding.look_at(ticket)
    return Decision(deciding.granted, deciding.left, deciding.again)


class _Deciding:
    """Who holds what so far, as the line is gone through."""

    def __init__(
        self,
        line: Sequence[Ticket],
        capacities: Mapping[str, Capacity],
        buckets: Mapping[str, Bucket],
        now: float,
    ) -> None:
        self.granted: list[Ticket] = []
        self.left = dict(buckets)
        self.again: float | None = None
        self._now = now
        self._capacities = capacities
        self._taken = Taken()
        """What nobody later may have: somebody holds it, or waits for it."""
        self._used: Counter[str] = Counter()
        self._queued: set[str] = set()
        """Slots that nobody later may have: somebody has waited for them too long."""
        for ticket in line:
            if ticket.granted:
                self._taken.add(ticket.claims)
                self._used.update(ticket.slots())

    def look_at(self, ticket: Ticket) -> None:
        patient = self._now - ticket.since >= PATIENCE
        slots = ticket.slots()
        if self._taken.meets(ticket.claims):
            self._taken.add(ticket.claims)
            if patient:
                self._queued.update(slots)
            return
        pauses = {name: pause for name in slots if (pause := self._pause(name)) != 0}
        if not pauses:
            self._grant(ticket)
            return
        if patient:
            self._taken.add(ticket.claims)
            self._queued.update(slots)
        known = [pause for pause in pauses.values() if pause is not None]
        if len(known) == len(pauses):
            self._look_again(max(known))

    def _grant(self, ticket: Ticket) -> None:
        self.granted.append(ticket)
        self._taken.add(ticket.claims)
        for name in ticket.slots():
            self._used[name] += 1
            capacity = self._capacities.get(name)
            if capacity is not None and capacity.calls is not None:
                bucket = self._bucket(name, capacity)
                self.left[name] = Bucket(bucket.left - 1, bucket.at)

    def _pause(self, name: str) -> float | None:
        """Seconds until a slot is free; ``None`` when that depends on others, and 0 when one is."""
        capacity = self._capacities.get(name)
        if capacity is None:
            return 0.0
        if name in self._queued:
            return None
        if capacity.at_once is not None and self._used[name] >= capacity.at_once:
            return None
        return 0.0 if capacity.calls is None else self._bucket(name, capacity).wait(capacity, self._now)

    def _bucket(self, name: str, capacity: Capacity) -> Bucket:
        assert capacity.calls is not None
        return self.left.get(name, Bucket(float(capacity.calls), self._now)).now(capacity, self._now)

    def _look_again(self, seconds: float) -> None:
        self.again = seconds if self.again is None else min(self.again, seconds)


def in_the_way(ticket: Ticket, line: Sequence[Ticket], capacities: Mapping[str, Capacity]) -> list[Holder]:
    """Who stands before it, for the one that waits: those whose claims conflict, or who share a limited slot."""
    slots = {name for name in ticket.slots() if name in capacities}
    return [
        other.holder
        for other in line
        if other.number < ticket.number and (ticket.conflicts(other) or not slots.isdisjoint(other.slots()))
    ]


def standing(ticket: Ticket, now: float, *, gone: bool = False) -> Standing:
    """The ticket as people are shown it."""
    since = ticket.since if ticket.held_since is None else ticket.held_since
    return Standing(
        holder=ticket.holder,
        claims=tuple(claim.text for claim in ticket.claims),
        granted=ticket.granted,
        seconds=max(0.0, now - ticket.since),
        held=max(0.0, now - since) if ticket.granted else None,
        gone=gone,
    )
