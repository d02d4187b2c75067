"""Large payloads, kept beside the log and named by the SHA-256 of their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


class Blobs(Protocol):
    async def put(self, data: bytes) -> str:
        """Store the bytes durably and give their address, ``sha256:`` and 64 hex digits. The same bytes again are
        a hit. Durable before it returns.

        Raises:
            LedgerUnavailable: no room, read-only.
        """
        ...

    async def get(self, address: str) -> bytes:
        """The bytes, checked against the address.

        Raises:
            NotFound: no such blob. LogBroken: the stored bytes are not what the address names.
        """
        ...

    async def has(self, address: str) -> bool: ...


@runtime_checkable
class Erasable(Protocol):
    """Implemented by stores that can forget."""

    async def remove(self, address: str) -> bool:
        """Remove the bytes, durably. Whether they were there."""
        ...

    async def used_at(self, address: str) -> int | None:
        """When the bytes were last put, milliseconds since 1970, UTC; ``None``: they are not there."""
        ...

    async def listed(self) -> Sequence[str]:
        """The addresses of all that is there."""
        ...

    async def tidy(self, before: int) -> int:
        """Remove what writes left half done that began before then (milliseconds since 1970). How many."""
        ...


@runtime_checkable
class OfSession(Protocol):
    """Implemented by stores that keep each session's payloads in a way of its own."""

    def of(self, session: str) -> Blobs:
        """The store as this session uses it."""
        ...


@runtime_checkable
class Outside(Protocol):
    """Implemented by a session's store when no payload may stand in the log itself."""

    @property
    def nothing_inline(self) -> bool: ...


@runtime_checkable
class Boxed(Protocol):
    """Implemented by stores that encrypt: what is stored, as it is."""

    async def put_stored(self, address: str, data: bytes) -> None:
        """Keep what another store gave under this address.

        Raises:
            LogBroken: it is not what the address names.
        """
        ...

    async def get_stored(self, address: str) -> bytes: ...
