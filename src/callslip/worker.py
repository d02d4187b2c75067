"""Drive sessions that can go on: answered while nobody drove them, left behind by a dead owner, or due by the clock.

Any number of workers may run; the ledger's claim decides who drives a session. A worker is told of changes by the
ledger's version, and looks now and then all the same, since a dead owner changes nothing. A look costs what might go
on, not what waits: the ledger knows by its indexes which sessions are owned, woken or due (bench/waits.py).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from callslip.application import Runtime
from callslip.core.wait import WaitKind
from callslip.errors import Busy, CallslipError, NotFound
from callslip.ports.ledger import Head, Owner
from callslip.ports.owners import Liveness
from callslip.sessions.lifetime import Lifetime

POLL = 0.2
"""Seconds between two looks at the ledger's version."""
SWEEP = 2.0
"""Seconds between two looks when nothing changes."""
TIDY = 3600.0
"""Seconds between two looks at what is kept no longer."""
BACK_OFF = 30.0
"""Seconds before a session whose drive failed is tried again, unless it changes before; doubled each time."""
LONGEST_BACK_OFF = 3600.0

_BY_ITSELF = {WaitKind.TIME, WaitKind.BACKGROUND}
"""Waits that a session wakes from by the clock."""

OnSession = Callable[[str, str], None]
OnError = Callable[[str, CallslipError], Awaitable[None]]


class _Failure(NamedTuple):
    """A drive that failed here: where the log stood, until when it is left alone, and the pause after that."""

    seq: int
    until: float
    pause: float


class Worker:
    """``on_session`` is told of each session and what became of it: ``driving``, a run's status, or an error;
    ``on_error`` of the error itself.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        concurrency: int = 4,
        on_session: OnSession | None = None,
        on_error: OnError | None = None,
    ) -> None:
        self._runtime = runtime
        self._concurrency = concurrency
        self._tell = on_session or (lambda _session, _what: None)
        self._fail = on_error
        self._tidied = float("-inf")
        self._lifetime: Lifetime | None = None
        self._running: dict[str, asyncio.Task[None]] = {}
        self._failed: dict[str, _Failure] = {}
        self._drives = 0

    async def serve(self, stop: asyncio.Event, *, once: bool = False) -> int:
        """Work until ``stop`` is set, then let what runs come to an end.

        With ``once``: until nothing is left to do. Returns how many drives were made.
        """
        seen, swept = None, float("-inf")
        clock = self._runtime.parts.clock
        while not stop.is_set():
            version = await self._runtime.parts.ledger.version()
            if version != seen or clock.monotonic() - swept >= SWEEP:
                seen, swept = version, clock.monotonic()
                await self._start_ready()
                if once and not self._running:
                    break
            await self._pause(stop)
        await self._drain()
        return self._drives

    async def _pause(self, stop: asyncio.Event) -> None:
        """Until something ends, a stop, or the next look."""
        stopping = asyncio.ensure_future(stop.wait())
        timer = asyncio.ensure_future(self._runtime.parts.clock.sleep(POLL))
        await asyncio.wait([stopping, timer, *self._running.values()], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        timer.cancel()
        self._running = {session: task for session, task in self._running.items() if not task.done()}

    async def _drain(self) -> None:
        """Ask each session to stop at its next boundary: what is in the world settles, nothing new begins."""
        for session in list(self._running):
            self._runtime.pause(session, leave=True)
        if self._running:
            await asyncio.wait(self._running.values())

    async def _tidy(self) -> None:
        """Now and then: finish what an erasure left, and erase what is kept no longer."""
        parts = self._runtime.parts
        if parts.clock.monotonic() - self._tidied < TIDY:
            return
        self._tidied = parts.clock.monotonic()
        self._lifetime = self._lifetime or Lifetime(parts)
        with contextlib.suppress(CallslipError):  # tried again in an hour; a drive must not wait for it
            await self._lifetime.expire()

    async def _start_ready(self) -> None:
        await self._tidy()
        with contextlib.suppress(CallslipError):  # one session's trouble; the ledger's own is met again below
            await self._runtime.sweep()  # a question that nobody answered in time ends here, which wakes its session
        if self._runtime.parts.audit is not None:
            await self._runtime.parts.audit.catch_up()
        for head in await self._ready():
            if len(self._running) >= self._concurrency:
                return
            if head.session not in self._running:
                self._drives += 1
                self._running[head.session] = asyncio.create_task(self._drive(head))

    async def _ready(self) -> list[Head]:
        ledger, now = self._runtime.parts.ledger, self._runtime.parts.clock.now()
        # An approval or client's answer that is late is nothing to go on with by itself.
        due = {row.session for row in await ledger.waits(due_at=now) if row.kind in _BY_ITSELF}
        heads = await ledger.heads(ready_at=now)
        ended = self._ended({head.owner.id: head.owner for head in heads if head.owner is not None})
        heads = [head for head in heads if self._can_go_on(head, due, ended)]
        heads += await self._failed_here(besides={head.session for head in heads})
        return [head for head in heads if not self._backs_off(head)]

    def _can_go_on(self, head: Head, due: set[str], ended: set[str]) -> bool:
        if head.owner is None:
            return head.woken or head.session in due
        if head.owner.id == self._runtime.parts.owners.me().id:
            return not self._runtime.is_active(head.session)  # a run of this process that broke off
        return head.owner.id in ended

    def _ended(self, others: dict[str, Owner]) -> set[str]:
        """Which owners have ended, each looked at once, however many sessions it holds."""
        others.pop(self._runtime.parts.owners.me().id, None)
        gone = {Liveness.LOCK_FREE, Liveness.REBOOTED}
        return {name for name, owner in others.items() if self._runtime.parts.owners.liveness(owner) in gone}

    async def _failed_here(self, besides: set[str]) -> list[Head]:
        """Sessions whose run failed here and whose pause is over: nothing else says that they are to be tried again."""
        again, now = [], self._runtime.parts.clock.monotonic()
        for session in [name for name, failure in self._failed.items() if failure.until <= now]:
            if session in besides or session in self._running:
                continue
            head = next(iter(await self._runtime.parts.ledger.heads(session)), None)
            if head is None or (head.owner is None and head.status != "failed"):
                del self._failed[session]  # it went on elsewhere
            elif head.owner is None:
                again.append(head)
        return again

    def _backs_off(self, head: Head) -> bool:
        failure = self._failed.get(head.session)
        if failure is None or failure.seq != head.seq:
            return False
        return self._runtime.parts.clock.monotonic() < failure.until

    async def _drive(self, head: Head) -> None:
        latest = await self._runtime.parts.ledger.heads(head.session)
        if not latest or latest[0].epoch != head.epoch:
            self._drives -= 1
            return  # somebody else has driven it since
        self._tell(head.session, "driving")
        try:
            run = await self._runtime.resume(head.session)
        except (Busy, NotFound):
            self._drives -= 1
            self._tell(head.session, "taken")  # somebody else was quicker
        except CallslipError as error:
            await self._back_off(head)
            self._tell(head.session, f"{error.code}: {error}")
            if self._fail is not None:
                await self._fail(head.session, error)
        except Exception as error:  # noqa: BLE001 - one session's trouble, whatever it is, must not end the worker
            await self._back_off(head)
            self._tell(head.session, f"error: {type(error).__name__}: {error}")
        else:
            self._failed.pop(head.session, None)
            self._tell(head.session, run.status)

    async def _back_off(self, head: Head) -> None:
        latest = await self._runtime.parts.ledger.heads(head.session)
        earlier = self._failed.get(head.session)
        pause = min(earlier.pause * 2, LONGEST_BACK_OFF) if earlier is not None else BACK_OFF
        until = self._runtime.parts.clock.monotonic() + pause
        self._failed[head.session] = _Failure(latest[0].seq if latest else head.seq, until, pause)
