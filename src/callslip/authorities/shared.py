"""Who may use what, over all processes that share a state folder (PARA-03).

Whoever is alive keeps what it holds, however long it takes: a claim is only ever taken from a process whose lock is
free, which the kernel proves, and whose children have ended. So there is no time after which a holder that merely
stalled could meet its successor (docs/adr/0017).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import anyio.to_thread

from callslip.authorities.rules import Ticket, in_the_way, standing
from callslip.authorities.table import Table, now
from callslip.core.claim import Claim
from callslip.errors import LedgerUnavailable
from callslip.machine_file import Busy, leave_to_parent, of_boot, remove_old
from callslip.ports.authority import Blocked, Capacity, Grant, Holder, Standing
from callslip.ports.ledger import Owner
from callslip.ports.owners import Liveness, Owners

T = TypeVar("T")
_AT_ONCE = Grant(waited=False)
_LOOK = 0.005
"""Seconds between two looks of the next in line; of one with others before it, so much for each of them."""
_LOOK_AT_MOST = 0.2
SWEEP: Final = 1.0
"""Seconds between two looks whether everybody in the line is alive. One process of all does it."""
_PATIENCE = 10.0
_GONE = frozenset({Liveness.LOCK_FREE, Liveness.REBOOTED})


class SharedAuthority:
    """Implements ``Authority`` over a file, for one event loop in each process.

    Raises:
        LedgerUnavailable: the file can't be used.
    """

    def __init__(self, path: Path, owners: Owners, capacities: Mapping[str, Capacity] | None = None) -> None:
        self._path = path
        self._owners = owners
        self._capacities = dict(capacities or {})
        self._open()

    def _open(self) -> None:
        boot = self._owners.me().boot
        path = of_boot(self._path, boot)
        remove_old(self._path, boot)
        self._process = os.getpid()
        self._quick = Table(path, self._capacities, patience=0)
        try:
            self._patient = Table(path, self._capacities, patience=_PATIENCE)
        except BaseException:
            self._quick.close()
            raise
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "callslip-authority")
        self._closed = False
        self._places: set[int] = set()
        """In the line, of this process."""
        self._owed: set[int] = set()
        """Those that could not be given back yet."""
        self._bells: set[asyncio.Future[None]] = set()

    @contextlib.asynccontextmanager
    async def holding(self, wanted: Sequence[Claim], holder: Holder, on_wait: Blocked) -> AsyncIterator[Grant]:
        if not wanted:
            yield _AT_ONCE
            return
        if os.getpid() != self._process:  # a forked child is somebody of its own
            leave_to_parent(self._quick, self._patient, self._thread)
            self._open()
        ticket, at_once = await self._enter(wanted, holder)
        try:
            yield await self._granted(ticket, at_once, on_wait)
        finally:
            self._leave(ticket.number)

    def standing(self) -> list[Standing]:
        if self._closed:
            return []
        try:
            line, gone = self._living(self._quick)
        except Busy:
            line, gone = self._thread.submit(self._work, self._living).result()
        at = now()
        return [standing(ticket, at, gone=ticket.holder.owner in gone) for ticket in line]

    def close(self) -> Sequence[Holder]:
        """Give everything up; whoever waits is told so. Waits while the file is busy."""
        return self._end() if self._begin_to_close() else ()

    async def aclose(self) -> Sequence[Holder]:
        """The same, and the loop goes on meanwhile."""
        return await anyio.to_thread.run_sync(self._end) if self._begin_to_close() else ()

    def _begin_to_close(self) -> bool:
        if self._closed or os.getpid() != self._process:
            return False
        self._closed = True
        self._tell()
        return True

    def _end(self) -> Sequence[Holder]:
        self._thread.shutdown()
        holders: list[Holder] = []
        with contextlib.suppress(Busy, LedgerUnavailable):  # it stands until this process ends
            if self._places:
                mine = [ticket for ticket in self._patient.line() if ticket.number in self._places - self._owed]
                holders = [ticket.holder for ticket in mine if ticket.granted]
                self._patient.leave(sorted(self._places))
        self._quick.close()
        self._patient.close()
        return holders

    async def _granted(self, ticket: Ticket, at_once: bool, on_wait: Blocked) -> Grant:
        self._check_open()  # closed while it entered: it was given back by that
        if ticket.granted:
            return _AT_ONCE if at_once else Grant(waited=True)
        before = tuple(in_the_way(ticket, await self._do(Table.line), self._capacities))
        await self._sweep()
        pause = await self._look(ticket.number)
        if pause is not None:
            on_wait(before)
        swept = now()
        while pause is not None:
            await self._rung(pause)
            if now() - swept >= SWEEP:
                await self._sweep()
                swept = now()
            pause = await self._look(ticket.number)
        return Grant(waited=True, waited_for=before)

    async def _look(self, number: int) -> float | None:
        """Seconds until the next look; ``None`` when it is granted."""
        look = await self._do(lambda table: table.look(number))
        if not look.granted and look.due is not None and look.due <= now():
            await self._do(Table.decide)
            self._tell()
            look = await self._do(lambda table: table.look(number))
        if look.granted:
            return None
        pause = min(_LOOK * (look.earlier + 1), _LOOK_AT_MOST)
        return pause if look.due is None else max(0.0, min(pause, look.due - now()))

    async def _rung(self, seconds: float) -> None:
        """Wait until something has changed in this process, or it is time to look what others did."""
        bell = asyncio.get_running_loop().create_future()
        self._bells.add(bell)
        try:
            await asyncio.wait({bell}, timeout=seconds)
        finally:
            self._bells.discard(bell)

    def _tell(self) -> None:
        """Wake whoever waits in this process; the others look for themselves."""
        for bell in self._bells:
            if not bell.done():
                bell.set_result(None)

    async def _sweep(self) -> None:
        """Free what the dead held, of this machine's processes, and what could not be given back before."""
        owed = sorted(self._owed)
        if owed:
            await self._do(lambda table: table.leave(owed))
            self._owed.difference_update(owed)
            self._places.difference_update(owed)
        me = self._owners.me()
        owners = await self._do(lambda table: table.sweepable(SWEEP))
        others = [owner for owner in owners if owner.id != me.id]
        if others:
            await self._in_thread(lambda: self._drop_ended(others))
            self._tell()

    def _living(self, table: Table) -> tuple[list[Ticket], set[str]]:
        """Everybody in the line, and the ids of owners that have ended before what they had started. Of those that were
        killed in it nobody is told: what they held is free.
        """
        me = self._owners.me()
        found = [(owner, self._owners.liveness(owner)) for owner in table.owners() if owner.id != me.id]
        ended = [owner for owner, liveness in found if liveness in _GONE]
        if ended:
            table.drop(ended)
        return table.line(), {owner.id for owner, liveness in found if liveness is Liveness.STILL_RUNNING}

    def _drop_ended(self, others: Sequence[Owner]) -> None:
        ended = self._ended(others)
        if ended:
            self._work(lambda table: table.drop(ended))

    def _ended(self, others: Sequence[Owner]) -> list[Owner]:
        return [owner for owner in others if self._owners.liveness(owner) in _GONE]

    async def _enter(self, wanted: Sequence[Claim], holder: Holder) -> tuple[Ticket, bool]:
        """A place in the line, and whether the world has stood still since it was asked for."""
        self._check_open()
        me = self._owners.me()
        try:
            ticket = self._quick.enter(me, holder, wanted)
        except Busy:
            return await self._enter_patiently(me, wanted, holder), False
        self._places.add(ticket.number)
        return ticket, True

    async def _enter_patiently(self, me: Owner, wanted: Sequence[Claim], holder: Holder) -> Ticket:
        """A place that is taken while, or after, we are cancelled is given back."""
        entering = _Entering()

        def enter(table: Table) -> Ticket:
            ticket = table.enter(me, holder, wanted)
            self._places.add(ticket.number)
            if not entering.arrived(ticket.number):
                self._leave_patiently(ticket.number)
            return ticket

        try:
            return await self._in_thread(lambda: self._work(enter))
        except BaseException:
            number = entering.give_up()
            if number is not None:
                self._leave(number)
            raise

    def _leave(self, number: int) -> None:
        """Give a place back, now or as soon as the file is free; the caller need not wait for that."""
        if self._closed or os.getpid() != self._process:  # what a parent holds is not its child's to give back
            return
        try:
            self._quick.leave([number])
        except Busy:
            self._thread.submit(self._leave_patiently, number)
        except LedgerUnavailable:
            self._owed.add(number)  # it stands for now, and others say who holds it
        else:
            self._places.discard(number)
        self._tell()

    def _leave_patiently(self, number: int) -> None:
        try:
            self._work(lambda table: table.leave([number]))
        except LedgerUnavailable:
            self._owed.add(number)
        else:
            self._places.discard(number)

    async def _do(self, work: Callable[[Table], T]) -> T:
        """At once if nobody else is in the file; else in a thread, so that the loop goes on meanwhile."""
        self._check_open()
        try:
            return work(self._quick)
        except Busy:
            return await self._in_thread(lambda: self._work(work))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _work(self, work: Callable[[Table], T]) -> T:
        """In the thread."""
        try:
            return work(self._patient)
        except Busy as error:
            raise LedgerUnavailable(
                f"{self._patient.path.name} has been busy for {_PATIENCE:g} seconds. Nothing is held by this call. "
                "See which process holds it; resume to try again."
            ) from error

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerUnavailable("This runtime is being closed. Nothing is held by this call. Resume to try again.")


class _Entering:
    """A place that a thread takes for one that may have gone meanwhile: one of the two gives it back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number: int | None = None
        self._given_up = False

    def arrived(self, number: int) -> bool:
        """Whether it is still wanted."""
        with self._lock:
            self._number = number
            return not self._given_up

    def give_up(self) -> int | None:
        """The place, if it was taken before."""
        with self._lock:
            self._given_up = True
            return self._number
