"""Large payloads, kept beside the log and named by the SHA-256 of their bytes."""

from __future__ import annotations

from typing import Protocol


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
