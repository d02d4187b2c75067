"""Wait for what a step needs from elsewhere, and give it up when the session is to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from callslip.runtime.drive import Drive

T = TypeVar("T")


class Interrupted(Exception):
    """What was waited for was given up because somebody asked the session to stop, or its turn has used its time.
    Nothing of it was recorded.
    """


async def unless_stopped(drive: Drive, work: Coroutine[Any, Any, T], *, new_turn: bool) -> T:
    """The work's result.

    Raises:
        Interrupted: a stop came first, or the time is over. Whatever the work raises.
    """
    doing = asyncio.ensure_future(work)
    try:
        async with drive.listening(), drive.timed(new_turn=new_turn):
            while not doing.done():
                if drive.state.stop or drive.paused or drive.out_of_time:
                    raise Interrupted
                changed = asyncio.ensure_future(drive.changed.wait())
                try:
                    await asyncio.wait([doing, changed], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    changed.cancel()
                drive.changed.clear()
        return doing.result()
    finally:
        doing.cancel()
