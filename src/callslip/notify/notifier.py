"""Tell people and programs what needs them: a follower of the log with an outbox of its own (RESI-07).

It reads the log and never writes to it; nothing waits for it, and nothing that goes wrong in it reaches a session. A
notice is told at least once: whoever is told twice sees the same id. Of several processes on one state folder, one
tells; another takes over when it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import anyio
import anyio.to_thread

from callslip.core.shown import visible
from callslip.notify.channel import Channel
from callslip.notify.command import Command
from callslip.notify.deadline import within
from callslip.notify.delivery import Delivery
from callslip.notify.dial import Resolve, SystemResolver
from callslip.notify.endpoint import CommandEndpoint, Endpoint, LogEndpoint, check, label, place
from callslip.notify.follow import Follower
from callslip.notify.log import Log
from callslip.notify.notice import Clean, of_error
from callslip.notify.outbox import FILE, Outbox, Standing, set_aside
from callslip.notify.turn import Turn
from callslip.ports.clock import Clock
from callslip.ports.ledger import Ledger

POLL = 1.0
"""Seconds between two looks at the log's version and at what is due."""
LAST = 5.0
"""Seconds for what is left to tell when it ends."""
T = TypeVar("T")


class Notifier:
    """Tells ``endpoints`` what the ledger's logs become.

    ``folder`` is the state folder (``None``: everything in memory), ``clean`` takes secrets out of a text, and ``tell``
    hears, in a sentence, of what could not be told. ``resolve``, ``tls`` and ``chance`` stand in for the system's own.

    Raises:
        ConfigError: an endpoint can't work. StateRefused: a secret file is open to others.
    """

    def __init__(
        self,
        ledger: Ledger,
        endpoints: Sequence[Endpoint],
        *,
        clock: Clock,
        folder: Path | None,
        clean: Clean,
        tell: Callable[[str], None] = lambda _said: None,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
        chance: random.Random | None = None,
    ) -> None:
        check(endpoints)
        self._ledger = ledger
        self._endpoints = tuple(endpoints)
        self._clock = clock
        self._path = folder / FILE if folder is not None else None
        self._clean = clean
        self._hear = tell
        self._chance = chance or random.SystemRandom()
        self._channels = {place(one): _channel(one, clock, resolve, tls) for one in endpoints}
        self._turn = Turn(folder)
        self._open: _Open | None = None
        self._damaged = False
        self._troubled = ""
        self._looking = asyncio.Lock()
        self._opening = asyncio.Lock()
        # One thread, and not of those that tools run in.
        self._thread = anyio.CapacityLimiter(1)

    async def look(self) -> None:
        """Take in what is new, and try once what is due. Returns when that is done; never raises.

        Does nothing when another process tells.
        """
        opened = await self._take_in()
        if opened is not None:
            await asyncio.gather(*map(self._deliver, opened.deliveries))

    async def serve(self, stop: asyncio.Event) -> None:
        """Tell until ``stop`` is set; then, for a few seconds, what the last moments gave. Never raises."""
        running: dict[str, asyncio.Task[None]] = {}
        try:
            while not stop.is_set():
                opened = await self._take_in()
                for delivery in opened.deliveries if opened is not None else ():
                    if delivery.place not in running or running[delivery.place].done():
                        running[delivery.place] = asyncio.create_task(self._deliver(delivery))
                await self._pause(stop)
            with contextlib.suppress(TimeoutError):
                await within(self._clock, LAST, self.look())
        finally:
            for task in running.values():
                task.cancel()
            await asyncio.gather(*running.values(), return_exceptions=True)

    async def report(self, error: BaseException, session: str = "") -> None:
        """Hand over an error that closes a session or the installation, in whichever process it was met. Other errors
        are not told. Never raises.
        """
        notice = of_error(error, session=session, at=self._clock.now())
        if notice is None or not self._endpoints:
            return
        try:
            outbox = (await self._opened()).outbox
            await self._in_thread(partial(outbox.alarm, notice))
        except Exception as failure:  # noqa: BLE001 - who is told is no concern of whoever met the error
            self._trouble(failure)

    async def standing(self) -> dict[str, Standing]:
        """How each endpoint does, by its name in messages; those that were never looked after are missing.

        Raises:
            sqlite3.Error, StateRefused: the outbox can't be read.
        """
        if self._path is not None and not self._path.exists():
            return {}
        outbox = (await self._opened()).outbox
        found = {label(one): await self._in_thread(partial(outbox.standing, place(one))) for one in self._endpoints}
        return {name: standing for name, standing in found.items() if standing is not None}

    async def aclose(self) -> None:
        """Close the outbox, and let another process tell."""
        opened, self._open = self._open, None
        if opened is not None:
            await self._in_thread(opened.outbox.close)
        self._turn.give_back()

    async def _take_in(self) -> _Open | None:
        """Queue what is new; ``None`` when another process tells, or nothing can be queued now."""
        if not self._endpoints:
            return None
        async with self._looking:
            try:
                if not self._turn.take():
                    return None
                opened = await self._opened()
            except Exception as error:  # noqa: BLE001 - see the class: nothing that goes wrong here goes further
                self._trouble(error)
                return None
            try:
                await opened.follower.take_in()
            except Exception as error:  # noqa: BLE001
                self._trouble(error)
                await self.report(error)
            else:
                self._troubled = ""
            return opened

    async def _deliver(self, delivery: Delivery) -> None:
        try:
            await delivery.deliver()
        except Exception as error:  # noqa: BLE001 - see the class
            self._trouble(error)

    async def _pause(self, stop: asyncio.Event) -> None:
        stopping = asyncio.ensure_future(stop.wait())
        timer = asyncio.ensure_future(self._clock.sleep(POLL))
        try:
            await asyncio.wait([stopping, timer], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            timer.cancel()

    async def _opened(self) -> _Open:
        async with self._opening:
            if self._damaged and self._open is not None:
                opened, self._open = self._open, None
                await self._in_thread(opened.outbox.close)
            if self._open is None:
                outbox = await self._in_thread(self._open_outbox)
                deliveries = [self._delivery(outbox, endpoint) for endpoint in self._endpoints]
                self._open = _Open(outbox, self._following(outbox), deliveries)
            return self._open

    def _open_outbox(self) -> Outbox:
        """Open the file; a damaged one is put aside by whoever's turn it is, since all it knew can be found again."""
        try:
            if not self._damaged:
                return Outbox(self._path)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            self._damaged = True
        assert self._path is not None
        if not self._turn.take():
            raise sqlite3.DatabaseError(f"{self._path.name} is damaged")
        aside = set_aside(self._path)
        self._damaged = False
        self._say(f"{self._path.name} was damaged and is now {aside.name}. What waits is told again")
        return Outbox(self._path)

    def _following(self, outbox: Outbox) -> Follower:
        return Follower(
            self._ledger, outbox, self._endpoints, clock=self._clock, clean=self._clean, in_thread=self._in_thread,
            tell=self._say,
        )  # fmt: skip

    def _delivery(self, outbox: Outbox, endpoint: Endpoint) -> Delivery:
        return Delivery(
            place(endpoint), label(endpoint), self._channels[place(endpoint)], outbox, clock=self._clock,
            chance=self._chance, in_thread=self._in_thread, tell=self._say,
        )  # fmt: skip

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(function, limiter=self._thread)

    def _trouble(self, error: Exception) -> None:
        """Say what went wrong, once while it lasts."""
        if isinstance(error, sqlite3.DatabaseError) and _is_damage(error) and self._path is not None:
            self._damaged = True
        said = f"notices can't be told now: {type(error).__name__}: {error}"
        if said != self._troubled:
            self._troubled = said
            self._say(said)

    def _say(self, said: str) -> None:
        with contextlib.suppress(Exception):  # that nobody listens is no reason to stop
            self._hear(visible(self._clean(said)))


class _Open(NamedTuple):
    """What is there while the outbox is open."""

    outbox: Outbox
    follower: Follower
    deliveries: list[Delivery]


async def run_notifier(
    ledger: Ledger,
    endpoints: Sequence[Endpoint],
    *,
    clock: Clock,
    folder: Path | None,
    clean: Clean,
    stop: asyncio.Event,
    tell: Callable[[str], None] = lambda _said: None,
) -> None:
    """Tell until ``stop`` is set.

    Raises:
        ConfigError, StateRefused: before anything was started: an endpoint can't work, or a secret is open to others.
    """
    notifier = Notifier(ledger, endpoints, clock=clock, folder=folder, clean=clean, tell=tell)
    try:
        await notifier.serve(stop)
    finally:
        await notifier.aclose()


def _channel(endpoint: Endpoint, clock: Clock, resolve: Resolve | None, tls: ssl.SSLContext | None) -> Channel:
    if isinstance(endpoint, CommandEndpoint):
        return Command(endpoint)
    if isinstance(endpoint, LogEndpoint):
        return Log(endpoint)
    from callslip.notify.webhook import Webhook  # noqa: PLC0415 - its HTTP client costs a start 40 ms

    return Webhook(endpoint, clock, resolve=resolve or SystemResolver(), tls=tls)


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is no database any more; full disks, locks and the like pass."""
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
