"""The sessions of this process: each is driven by one task, or held between the dispatches that share it.

Whoever takes a session or lets it go has a turn with it, and others wait for theirs: so two dispatches that come at
once share what one of them takes, and none finds a session that is just being let go of.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from weakref import WeakValueDictionary

from callslip.errors import Busy, UsageError
from callslip.runtime import trail
from callslip.runtime.drive import Drive
from callslip.runtime.execute import IN_CALL

_LOOK = 0.02

Take = Callable[[str, frozenset[str], bool], Awaitable[Drive]]
"""Take a session, which of the others this process has, and whether it is made if it isn't there."""


class Held:
    """A session that dispatches share.

    ``broken``: a write failed. What was not written is not known here either, so it must be taken anew from its log.
    """

    def __init__(self, drive: Drive) -> None:
        self.drive = drive
        self.users = 0
        self.broken = False


class Holding:
    """Whoever takes a session takes it here."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self.active: set[str] = set()
        """Those that are driven, held, or being taken."""
        self.driven: dict[str, Drive] = {}
        self.held: dict[str, Held] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._under_way = 0
        self._closing = False

    @contextlib.asynccontextmanager
    async def driving(self, session: str, *, create: bool) -> AsyncIterator[Drive]:
        """The session, for one run. It is let go of first where dispatches hold it.

        Raises:
            Busy: a dispatch of it is under way, or another process has it. UsageError: from within a call of it, or the
                runtime is being closed. Nothing was executed.
        """
        async with self._turn(session):
            await self._let_go(session)
            drive = self.driven[session] = await self._acquire(session, create=create)
        try:
            self._refuse_if_closing()
            yield drive
        finally:
            try:
                await trail.over(drive)
            finally:
                self.active.discard(session)
                del self.driven[session]

    async def hold(self, session: str) -> Held:
        """The session, for one dispatch of several; made if it isn't there, and held on to afterwards.
        :meth:`leave` follows, whatever becomes of the dispatch.

        Raises:
            Busy, UsageError: as of :meth:`driving`.
        """
        held = self.held.get(session)
        if held is None:
            async with self._turn(session):
                held = self.held.get(session)
                if held is None:
                    held = self.held[session] = Held(await self._acquire(session, create=True))
                    self._refuse_if_closing()
                    held.users += 1
                    return held
        _outside(session)
        self._refuse_if_closing()
        if held.broken:
            raise Busy(f"Session {session!r} could not be written to, and a dispatch of it still ends. Try again.")
        held.users += 1  # before the first await: from here on nobody lets go of it
        try:
            await held.drive.refresh()
        except BaseException:
            await self.leave(held)
            raise
        return held

    async def leave(self, held: Held) -> None:
        """A dispatch is over. One that is broken is let go of by the last: the next takes it over from its log."""
        held.users -= 1
        session = held.drive.session
        if not held.broken or held.users or self.held.get(session) is not held:
            return
        async with self._lock(session):
            if self.held.get(session) is held:
                del self.held[session]
                try:
                    await trail.over(held.drive)
                finally:
                    self.active.discard(session)

    async def release(self, session: str) -> bool:
        """Let go of a session that dispatches hold. Whether there was one.

        Raises:
            Busy: a dispatch of it is under way.
        """
        async with self._lock(session):
            return await self._let_go(session)

    async def settled(self) -> bool:
        """Let what is in the world settle and nothing new begin; then let go of everything. Whether there was any.
        Until :meth:`opened`, nothing more is taken.
        """
        self._closing = True
        for drive in [*self.driven.values(), *(held.drive for held in self.held.values() if held.users)]:
            drive.pause()
        while self._under_way or self.driven or any(held.users for held in self.held.values()):  # noqa: ASYNC110 - each of them ends in its own way
            await asyncio.sleep(_LOOK)
        held = list(self.held)
        for session in held:
            with contextlib.suppress(Exception):  # closing must go on; an unreleased session is taken over later
                await self.release(session)
        return bool(held)

    def opened(self) -> None:
        """Sessions may be taken again."""
        self._closing = False

    @contextlib.contextmanager
    def under_way(self) -> Iterator[None]:
        """Something that :meth:`settled` waits for."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    @contextlib.asynccontextmanager
    async def _turn(self, session: str) -> AsyncIterator[None]:
        """With the session, for taking it."""
        _outside(session)
        self._refuse_if_closing()
        with self.under_way():
            async with self._lock(session):
                self._refuse_if_closing()
                yield

    def _lock(self, session: str) -> asyncio.Lock:
        lock = self._turns.get(session)
        if lock is None:
            lock = self._turns[session] = asyncio.Lock()
        return lock

    async def _let_go(self, session: str) -> bool:
        held = self.held.get(session)
        if held is None:
            return False
        if held.users:
            raise Busy(f"A dispatch of session {session!r} is under way in this process. Nothing was written.")
        del self.held[session]
        try:
            await trail.over(held.drive)
            await held.drive.end_idle()
        finally:
            self.active.discard(session)
        return True

    async def _acquire(self, session: str, *, create: bool) -> Drive:
        others = frozenset(self.active)
        self.active.add(session)  # before the first await: two tasks of this process must not both take it
        try:
            return await self._take(session, others, create)
        except BaseException:
            if session not in others:
                self.active.discard(session)
            raise

    def _refuse_if_closing(self) -> None:
        if self._closing:
            raise UsageError(
                "This runtime is being closed, so nothing more is begun. Nothing was executed. Once it is closed it can"
                " be used again."
            )


def _outside(session: str) -> None:
    if session in IN_CALL.get():
        raise UsageError(
            f"A tool can't drive session {session!r} from within a call of it: it would wait for itself. "
            "Nothing was executed. Return, and let the loop go on; or use another session."
        )
