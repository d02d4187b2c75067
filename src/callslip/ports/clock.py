"""Time, as the runtime sees it. Tests put their own clock here; nothing else reads the time."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds, never going backwards; only differences mean anything."""
        ...

    async def sleep(self, seconds: float) -> None: ...
