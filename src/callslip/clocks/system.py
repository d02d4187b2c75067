"""The machine's own clock."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Implements ``Clock``."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
