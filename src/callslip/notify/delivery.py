"""Deliver what is due to one endpoint: one notice at a time, each within its time, until it fails or nothing is due.

Endpoints know nothing of each other: one that hangs holds up its own notices only.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial

from callslip.notify.backoff import pause
from callslip.notify.channel import Channel, Delivered, Failed, Gone, Outcome
from callslip.notify.deadline import within
from callslip.notify.outbox import Due, InThread, Outbox
from callslip.ports.clock import Clock

TIMEOUT = 10.0
"""Seconds for one attempt, everything in it."""


class Delivery:
    """One endpoint's. ``tell`` hears of the first failure in a row, of what is given up, and of the success after."""

    def __init__(
        self,
        place: str,
        label: str,
        channel: Channel,
        outbox: Outbox,
        *,
        clock: Clock,
        chance: random.Random,
        in_thread: InThread,
        tell: Callable[[str], None],
    ) -> None:
        self.place = place
        self._label = label
        self._channel = channel
        self._outbox = outbox
        self._clock = clock
        self._chance = chance
        self._in_thread = in_thread
        self._tell = tell
        self._alone = asyncio.Lock()

    async def deliver(self) -> None:
        """Try what is due.

        Raises:
            sqlite3.Error: the outbox can't be used now.
        """
        async with self._alone:
            while True:
                due = await self._in_thread(partial(self._outbox.due, self.place, now=self._clock.now()))
                if due is None or not await self._one(due):
                    return

    async def _one(self, due: Due) -> bool:
        outcome = await self._attempt(due)
        standing = await self._in_thread(partial(self._outbox.standing, self.place))
        before = standing.failures if standing is not None else 0
        now = self._clock.now()
        if isinstance(outcome, Delivered):
            await self._in_thread(partial(self._outbox.delivered, self.place, due.no, now=now))
            if before:
                self._tell(f"{self._label} takes notices again")
            return True
        if isinstance(outcome, Gone):
            lost = await self._in_thread(partial(self._outbox.gone, self.place))
            self._tell(
                f"{self._label} answered 410: it wants no more notices, and {_counted(lost)} will not reach it. "
                "It is left alone until its settings in callslip.toml change"
            )
            return False
        await self._failed(due, outcome, before, now)
        return False

    async def _attempt(self, due: Due) -> Outcome:
        try:
            return await within(self._clock, TIMEOUT, self._channel.send(due.parcel))
        except TimeoutError:
            return Failed(reason=f"no answer within {TIMEOUT:.0f} seconds")
        except Exception as error:  # noqa: BLE001 - whatever goes wrong with one attempt, the next one is made
            return Failed(reason=f"{type(error).__name__}: {error}")

    async def _failed(self, due: Due, outcome: Failed, before: int, now: int) -> None:
        wait = max(pause(before + 1, self._chance), outcome.retry_after_ms)
        own = pause(due.attempts + 1, self._chance)
        lost = await self._in_thread(
            partial(self._outbox.failed, self.place, due.no, outcome.reason, now=now, pause=wait, own_pause=own)
        )
        if not before:
            self._tell(f"{self._label} was not told: {outcome.reason}. It is tried again for a day")
        if lost:
            self._tell(
                f"{self._label} was not told for a day, and {_counted(lost)} will not reach it: {outcome.reason}"
            )


def _counted(notices: int) -> str:
    return f"{notices} notice{'s' if notices != 1 else ''}"
