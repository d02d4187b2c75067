"""Claims on resources, within this process: all of a call's at once, first come first served.

A claim's key comes from the tool's declaration and the final arguments, e.g. ``file:{path}`` becomes
``file:notes.txt``. Calls that share no key never wait for each other. A call holds claims only from just before its T1
until its T2; whoever waits holds none.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

_FIELD = re.compile(r"\{(\w+)\}")


def keys(templates: Iterable[str], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Fill each template with arguments; a missing one fills as nothing, which claims more, not less."""
    filled = {_FIELD.sub(lambda field: str(arguments.get(field[1], "")), template) for template in templates}
    return tuple(sorted(filled))


class Claims:
    """The table of one process."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._queue: list[tuple[frozenset[str], asyncio.Future[None]]] = []

    @contextlib.asynccontextmanager
    async def holding(self, wanted: Iterable[str]) -> AsyncIterator[bool]:
        """Hold all the keys together; waits until none is held by, or promised to, an earlier caller.

        Gives whether it had to wait.
        """
        resources = frozenset(wanted)
        waited = await self._acquire(resources)
        try:
            yield waited
        finally:
            self._held -= resources
            self._grant()

    async def _acquire(self, resources: frozenset[str]) -> bool:
        if self._free(resources, len(self._queue)):
            self._held |= resources
            return False
        ticket = (resources, asyncio.get_running_loop().create_future())
        self._queue.append(ticket)
        try:
            await ticket[1]
        except asyncio.CancelledError:
            if ticket in self._queue:
                self._queue.remove(ticket)
            else:  # granted in the very moment of the cancellation
                self._held -= resources
            self._grant()
            raise
        return True

    def _free(self, resources: frozenset[str], place: int) -> bool:
        promised = any(resources & earlier for earlier, _ in self._queue[:place])
        return not promised and not resources & self._held

    def _grant(self) -> None:
        waiting = 0
        while waiting < len(self._queue):
            resources, future = self._queue[waiting]
            if self._free(resources, waiting):
                del self._queue[waiting]
                self._held |= resources
                if not future.done():
                    future.set_result(None)
                    continue
                self._held -= resources
            else:
                waiting += 1
