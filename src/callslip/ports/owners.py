"""Who is alive: the proof that an owner, and every process it started, has ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from callslip.ports.ledger import Owner


class Liveness(StrEnum):
    ALIVE = "alive"
    """It holds its lock."""
    STILL_RUNNING = "still_running"
    """It has ended, but a process it started is alive."""
    LOCK_FREE = "lock_free"
    """It has ended, and so has every process it started."""
    REBOOTED = "rebooted"
    """This host has started anew since."""
    ELSEWHERE = "elsewhere"
    """Another host: nothing can be seen from here."""


class Owners(Protocol):
    def me(self) -> Owner:
        """This process's identity; its lock is held from the first call until the process ends."""
        ...

    def close(self) -> None:
        """Give the lock back: from now on this owner has ended."""
        ...

    def liveness(self, owner: Owner) -> Liveness: ...
