"""A way to tell somebody: what it is handed, and how it says what came of it."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """One notice for one endpoint."""

    id: str
    """Of the notice; the same at every attempt."""
    body: bytes
    """The notice as JSON, on one line."""


class Delivered(msgspec.Struct, frozen=True):
    """It was taken."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """It was not, or nobody knows. To be tried again."""

    reason: str
    retry_after_ms: int = 0
    """No earlier than that, as the endpoint asked for."""


class Gone(msgspec.Struct, frozen=True):
    """The endpoint wants no more of them."""


Outcome = Delivered | Failed | Gone


class Channel(Protocol):
    async def send(self, parcel: Parcel) -> Outcome:
        """Try once. It is cancelled when its time is up, and leaves nothing running then. Raises nothing."""
        ...
