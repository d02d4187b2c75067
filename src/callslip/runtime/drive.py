"""A drive: one owner's hold on a session. The folded state, and the only way to append to it as its owner."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from callslip.core import fold
from callslip.core.activation import Found
from callslip.core.event import Draft, Event, Stored, draft
from callslip.core.events.run_ended import RunEnded
from callslip.core.state import SessionState
from callslip.errors import LedgerError, LedgerUnavailable, Moved
from callslip.ports.breakers import Pass
from callslip.runtime.live import Recorded
from callslip.runtime.order import Order
from callslip.runtime.parts import Parts

if TYPE_CHECKING:
    from callslip.runtime.trail import Trail

T = TypeVar("T")
_UNTIMED = contextlib.nullcontext()


async def finished(task: asyncio.Future[T], on_cancel: Callable[[], None] | None = None) -> T:
    """The task's result, awaited to its end whatever happens to the caller; a cancellation is raised after it.

    However often the caller is cancelled meanwhile: a scope may do so at every pass of the loop.
    """
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            if cancelled is None and on_cancel is not None:
                on_cancel()
            cancelled = error
    if cancelled is not None and (task.cancelled() or task.exception() is None):
        raise cancelled
    return task.result()


class Drive:
    """Made by ``sessions/acquire``. ``state`` is never behind what this drive has appended.

    ``changed`` is set whenever an outsider's record was taken in.
    """

    def __init__(self, parts: Parts, state: SessionState, *, epoch: int, run: str, owner: str) -> None:
        self.parts = parts
        self.state = state
        self.epoch = epoch
        self.run = run
        self.changed = asyncio.Event()
        self.paused = False
        self.left = False
        """With ``paused``: whoever works next is to go on."""
        self.out_of_time = False
        """The turn has used its time, and something was not begun or not awaited for it."""
        self.why_stopped = ""
        """Why calls in the world were told to stop, as the end of a sentence; the first reason stays."""
        self._turn: tuple[int, float] | None = None
        self._lost = False
        self.rested = 0
        """Until when a pause before the model is asked again was to last that is over, whatever a clock that was set
        back says; milliseconds since 1970."""
        self._pauses: dict[str, tuple[int, float]] = {}
        """By call, or "" for the model: when its pause is over, by the log and by the monotonic clock."""
        self._resting: set[asyncio.Future[None]] = set()
        self.order = Order()
        """In which the calls of a step come to what they claim."""
        self.asking: set[str] = set()
        """Calls about which a person is just being asked."""
        self.activating: dict[str, Sequence[Found]] = {}
        """By call: tools that its search has found room for, until they stand in the log."""
        self.trails: list[Trail] = []
        """What goes on of calls that have their answers."""
        self.ways: dict[str, Pass] = {}
        """By call: its way through the breaker, until it is known how it ended."""
        self._owner = owner
        self._taking = asyncio.Lock()
        self.recording = asyncio.Lock()
        """Held while a dispatcher's step is taken into the log: two of them at once would contradict each other."""
        self.settling = asyncio.Lock()
        """Held while the open calls are being settled: two hands on one call would dispatch it twice."""

    @property
    def session(self) -> str:
        return self.state.session

    async def append(self, *events: Event, judged: int | None = None) -> Sequence[Stored]:
        """Append events, all or none; durable and folded when this returns.

        Every append is rehearsed against all that is in the log, what came from outside included. ``judged`` names
        the last outsider's record that was known when the caller decided: a newer one refuses the append.

        Raises:
            Moved: something newer than ``judged`` is there, and has been folded. Fenced, LedgerUnavailable,
            CommitUnknown. LogBroken: the log with these events could not be true; nothing was written.
        """
        if self._lost:
            raise LedgerUnavailable(
                f"An earlier write of session {self.session!r} was given up before its fate was known. Nothing more "
                "was written by this run. Go on in a new one: it begins from what is in the log."
            )
        at = self.parts.clock.now()
        drafts = [draft(event, at=at, by=self._owner, epoch=self.epoch, run=self.run) for event in events]
        try:
            return await self._append(drafts, judged)
        except asyncio.CancelledError:
            # Its write may be on the way all the same. Nobody leaves before that is known and folded, or the next
            # append would be rehearsed against less than what is there.
            await finished(asyncio.ensure_future(self._catch_up()))
            raise

    async def _catch_up(self) -> None:
        self._lost = True
        with contextlib.suppress(LedgerError, TimeoutError):
            async with asyncio.timeout(self.parts.limits.grace):
                # Comes after whatever was handed over before.
                await self.parts.ledger.append(self.session, [], epoch=self.epoch)
                await self.refresh()
            self._lost = False

    async def _append(self, drafts: Sequence[Draft], judged: int | None) -> Sequence[Stored]:
        while True:
            folded = self.state.outsider_seq
            if judged is not None and judged < folded:
                raise Moved
            fold.rehearse(self.state, drafts)
            try:
                stored = await self.parts.ledger.append(self.session, drafts, epoch=self.epoch, folded=folded)
            except Moved:
                await self.refresh()
                continue
            await self._take(stored)
            return stored

    @staticmethod
    def cancelling() -> bool:
        """Whether somebody cancels the current task, rather than a tool having cancelled itself."""
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0

    def pause(self, *, leave: bool = False) -> None:
        """Begin nothing new in this run, and end it at the next boundary; ``leave`` it to the next worker."""
        self.paused = True
        self.left = self.left or leave
        self.changed.set()
        self.stir()

    def will_pause(self, whose: str, at: int, *, now: int) -> None:
        """Something has just failed, and is made again at that time; both are milliseconds since 1970."""
        self._pauses[whose] = (at, self.parts.clock.monotonic() + (at - now) / 1000)

    def pause_left(self, whose: str, at: int) -> float:
        """Seconds until that time. A pause that was decided upon in this run is not made longer by a clock that is set
        back.
        """
        clock = self.parts.clock
        left, known = (at - clock.now()) / 1000, self._pauses.get(whose)
        return left if known is None or known[0] != at else min(left, known[1] - clock.monotonic())

    async def rest(self, seconds: float, over: Callable[[], bool]) -> bool:
        """Let so much time pass, or as much as it takes until ``over()``; whether all of it has passed.

        ``over`` is asked at first, and again at each :meth:`stir`.
        """
        timer = asyncio.ensure_future(self.parts.clock.sleep(max(seconds, 0.001)))
        try:
            return await self.unless(timer, over)
        finally:
            timer.cancel()

    async def unless(self, work: asyncio.Future[Any], over: Callable[[], bool]) -> bool:
        """Wait for the work, or until ``over()``, which is asked at first and at each :meth:`stir`.

        Returns:
            Whether the work is done.
        """
        while not work.done() and not over():
            stirred: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._resting.add(stirred)
            try:
                await asyncio.wait([work, stirred], return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._resting.discard(stirred)
        return work.done()

    def stir(self) -> None:
        """Let whoever rests look whether they still should."""
        for stirred in self._resting:
            if not stirred.done():
                stirred.set_result(None)

    def time_left(self, *, new_turn: bool = False) -> float | None:
        """Seconds until the turn has used its time, negative if it has; ``None``: it may take as long as it likes.

        Read off the log once, and counted by the monotonic clock from there.
        """
        seconds, clock = self.parts.limits.turn_seconds, self.parts.clock
        if seconds is None or new_turn:
            return seconds
        began = self.state.turn_from
        if not self.state.turn_open or not began:
            return None
        if self._turn is None or self._turn[0] != began:
            used = max(clock.now() - began, 0) / 1000
            self._turn = (began, clock.monotonic() + seconds - used)
        return self._turn[1] - clock.monotonic()

    def may_begin(self) -> bool:
        """Whether anything new may be begun in this run."""
        if self.paused or self.out_of_time:
            return False
        if self.parts.limits.turn_seconds is None:
            return True
        left = self.time_left()
        self.out_of_time = left is not None and left <= 0
        return not self.out_of_time

    def timed(self, *, new_turn: bool = False) -> contextlib.AbstractAsyncContextManager[None]:
        """While inside, ``out_of_time`` and ``changed`` are set when the turn has used its time."""
        left = self.time_left(new_turn=new_turn)
        return _UNTIMED if left is None else self._timed(left)

    @contextlib.asynccontextmanager
    async def _timed(self, left: float) -> AsyncIterator[None]:
        timer = asyncio.ensure_future(self._time_out(left))
        try:
            yield
        finally:
            timer.cancel()

    async def _time_out(self, left: float) -> None:
        await self.parts.clock.sleep(max(left, 0))
        self.out_of_time = True
        self.changed.set()
        self.stir()

    async def end_idle(self) -> None:
        """End a dispatcher's run."""
        while True:
            try:
                await self.append(RunEnded(status="idle"), judged=self.state.outsider_seq)
            except Moved:
                continue
            return

    async def refresh(self) -> None:
        """Take in what others have appended."""
        async with self._taking:
            self._apply(await self.parts.ledger.read(self.session, after=self.state.seq))

    async def _take(self, stored: Sequence[Stored]) -> None:
        if stored and stored[0].seq > self.state.seq + 1:  # something of others lies between
            await self.refresh()
        self._apply(stored)

    def _apply(self, stored: Sequence[Stored]) -> None:
        for one in stored:
            if one.seq != self.state.seq + 1:
                continue  # taken in already, by a refresh of a concurrent call
            fold.apply(self.state, one)
            if one.record.epoch == 0:
                self.changed.set()
                self.stir()
            self.parts.watch(Recorded(session=self.session, seq=one.seq, record=one.record))

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """While inside, look now and then whether an outsider appended something."""
        listener: asyncio.Task[None] | None = None

        def begin() -> None:
            nonlocal listener
            listener = asyncio.ensure_future(self._listen())

        timer = asyncio.get_running_loop().call_later(self.parts.limits.poll, begin)  # most steps end before
        try:
            yield
        finally:
            timer.cancel()
            if listener is not None:
                listener.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await listener

    async def _listen(self) -> None:
        ledger, seen = self.parts.ledger, None
        while True:
            with contextlib.suppress(LedgerUnavailable):  # the next append will say so, if it lasts
                version = await ledger.version()
                if version != seen:
                    seen = version
                    await self.refresh()
            await asyncio.sleep(self.parts.limits.poll)
