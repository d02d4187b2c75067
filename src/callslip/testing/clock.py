"""Time that stands where a test puts it: seconds pass without being waited for."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math

_NANOSECONDS = 1_000_000_000


class FakeClock:
    """Implements ``Clock``. Time moves when :meth:`advance` moves it, and not otherwise. ::

        clock = FakeClock()
        runtime = Runtime(clock=clock, …)
        clock.advance(30)          # whoever slept for at most 30 seconds goes on

    With ``auto``, a sleep of at most so many seconds moves the time itself and is over at the next pass of the event
    loop; longer ones wait for :meth:`advance`. So pauses and quiet periods cost a test nothing, while a deadline beside
    running work does not pass of itself. Used from one event loop.

    Args:
        now: the time at first, in milliseconds since 1970, UTC.
        auto: the longest sleep, in seconds, that moves the time itself.
    """

    def __init__(self, *, now: int = 1_700_000_000_000, auto: float = 0.0) -> None:
        self._start = now * 1_000_000
        self._now = self._start
        self._auto = auto
        self._set = 0
        self._order = itertools.count()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []

    def now(self) -> int:
        return (self._now + self._set) // 1_000_000

    def monotonic(self) -> float:
        return (self._now - self._start) / _NANOSECONDS

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        wake = self._now + math.ceil(seconds * _NANOSECONDS)
        future: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._sleepers, (wake, next(self._order), future))
        if seconds <= self._auto:
            loop.call_soon(self._jump, wake, future)
        await future

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass; sleepers that are due wake in the order of their times."""
        self._move(self._now + math.ceil(seconds * _NANOSECONDS))

    def step(self, seconds: float) -> None:
        """Set the clock forward, or back with a negative number, as an operator does: no time passes by that."""
        self._set += round(seconds * _NANOSECONDS)

    @property
    def sleepers(self) -> int:
        """How many sleep now."""
        return sum(not future.done() for _, _, future in self._sleepers)

    def until_next(self) -> float | None:
        """Seconds until the next sleeper wakes; ``None`` when nobody sleeps."""
        wakes = [wake for wake, _, future in self._sleepers if not future.done()]
        return (min(wakes) - self._now) / _NANOSECONDS if wakes else None

    def _jump(self, wake: int, future: asyncio.Future[None]) -> None:
        if not future.done():  # else it was cancelled, or somebody advanced the time past it
            self._move(wake)

    def _move(self, until: int) -> None:
        while self._sleepers and self._sleepers[0][0] <= until:
            wake, _, future = heapq.heappop(self._sleepers)
            self._now = max(self._now, wake)
            if not future.done():
                future.set_result(None)
        self._now = max(self._now, until)
