"""What of a call goes on after its answer: the execution of a hedged read that lost (PARA-05, RESI-01).

The answer waits for none of it. It is the drive's from then on: told to end, ended by force or left behind as any
attempt is, and awaited before the run ends, so that nothing outlives its owner unseen. What the call claims is held as
long: whoever writes meanwhile would write beneath a read that still goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from typing import Any

from callslip.ports.context import Context
from callslip.runtime.drive import Drive, finished
from callslip.runtime.parts import Parts


class Trail:
    """What goes on of one call, and what is held for it."""

    def __init__(self, drive: Drive, call_id: str, work: Coroutine[Any, Any, None]) -> None:
        self.call_id = call_id
        self.held = contextlib.AsyncExitStack()
        self.task = asyncio.ensure_future(self._run(drive, work))
        drive.trails.append(self)

    async def _run(self, drive: Drive, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            drive.trails.remove(self)
            await self.held.aclose()


def hand_over(drive: Drive, call_id: str, held: contextlib.AsyncExitStack) -> None:
    """Leave what is held for the call to what goes on of it, if anything does."""
    for trail in drive.trails:
        if trail.call_id == call_id:
            trail.held.push_async_exit(held.pop_all())
            return


async def over(drive: Drive) -> None:
    """Wait until nothing goes on any more but what is recorded as left behind. A cancellation is raised after that."""
    tasks = [trail.task for trail in drive.trails]
    if tasks:
        await finished(asyncio.ensure_future(asyncio.wait(tasks)))


def leave_behind(parts: Parts, contexts: Sequence[Context]) -> None:
    """Remember those of which something goes on that can't be ended, until it ends by itself."""
    left = [one for one in contexts if one.still_running]
    if left:
        parts.left_behind[:] = [*(one for one in parts.left_behind if one.still_running), *left]
