"""The sessions of this process: each is driven by one task, or held between the dispatches that share it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

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

    @contextlib.asynccontextmanager
    async def driving(self, session: str, *, create: bool) -> AsyncIterator[Drive]:
        """The session, for one run. It is let go of first where dispatches hold it.

        Raises:
            Busy: a dispatch of it is under way, or another process has it. UsageError: from within a call of it.
        """
        _outside(session)
        await self.release(session)
        drive = await self._acquire(session, create=create)
        self.driven[session] = drive
        try:
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
        _outside(session)
        held = self.held.get(session)
        if held is None:
            held = self.held[session] = Held(await self._acquire(session, create=True))
        elif held.broken:
            raise Busy(f"Session {session!r} could not be written to, and a dispatch of it still ends. Try again.")
        else:
            await held.drive.refresh()
        held.users += 1
        return held

    async def leave(self, held: Held) -> None:
        """A dispatch is over. One that is broken is let go of by the last: the next takes it over from its log."""
        held.users -= 1
        if held.broken and not held.users:
            session = held.drive.session
            self.held.pop(session, None)
            try:
                await trail.over(held.drive)
            finally:
                self.active.discard(session)

    async def release(self, session: str) -> bool:
        """Let go of a session that dispatches hold. Whether there was one.

        Raises:
            Busy: a dispatch of it is under way.
        """
        held = self.held.get(session)
        if held is None:
            return False
        if held.users:
            raise Busy(f"A dispatch of session {session!r} is under way in this process. Nothing was written.")
        del self.held[session]
        try:
            await trail.over(held.drive)
        finally:
            self.active.discard(session)
        await held.drive.end_idle()
        return True

    async def settled(self) -> bool:
        """Let what is in the world settle and nothing new begin; then let go of everything. Whether there was any."""
        for drive in [*self.driven.values(), *(held.drive for held in self.held.values() if held.users)]:
            drive.pause()
        while self.driven or any(held.users for held in self.held.values()):  # noqa: ASYNC110 - each of them ends in its own way
            await asyncio.sleep(_LOOK)
        held = list(self.held)
        for session in held:
            with contextlib.suppress(Exception):  # closing must go on; an unreleased session is taken over later
                await self.release(session)
        return bool(held)

    async def _acquire(self, session: str, *, create: bool) -> Drive:
        others = frozenset(self.active)
        self.active.add(session)  # before the first await: two tasks of this process must not both take it
        try:
            return await self._take(session, others, create)
        except BaseException:
            if session not in others:
                self.active.discard(session)
            raise


def _outside(session: str) -> None:
    if session in IN_CALL.get():
        raise UsageError(
            f"A tool can't drive session {session!r} from within a call of it: it would wait for itself. "
            "Nothing was executed. Return, and let the loop go on; or use another session."
        )
