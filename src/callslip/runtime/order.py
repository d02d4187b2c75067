"""Who of a step's calls still comes to the line for what they claim, in the model's order (PARA-04).

Calls are judged side by side, and one may be judged more quickly than the one before it. Where two of them want the
same, the model's order decides: whoever wants something waits until every earlier call of the step has taken its place,
or needs none. A call that rests (for a person, for its next attempt) is not ready, and holds nobody up.
"""

from __future__ import annotations

import asyncio


class Order:
    """Of one session."""

    def __init__(self) -> None:
        self._coming: dict[str, int] = {}
        self._moved: asyncio.Future[None] | None = None

    def comes(self, call_id: str, position: int) -> None:
        """The call is about to be judged."""
        self._coming[call_id] = position

    def came(self, call_id: str) -> None:
        """It has its place in the line, or it takes none."""
        if self._coming.pop(call_id, None) is not None and self._moved is not None:
            moved, self._moved = self._moved, None
            if not moved.done():
                moved.set_result(None)

    async def earlier(self, call_id: str) -> None:
        """Wait until every earlier call has come."""
        mine = self._coming.get(call_id)
        while mine is not None and any(position < mine for position in self._coming.values()):
            if self._moved is None:
                self._moved = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._moved)
