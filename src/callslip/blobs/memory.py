"""Blobs in memory: the twin for tests and for a ledger in memory."""

from __future__ import annotations

from callslip.core import payload
from callslip.errors import NotFound


class MemoryBlobs:
    """Implements ``Blobs``."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    async def put(self, data: bytes) -> str:
        address = payload.address(data)
        self._data[address] = data
        return address

    async def get(self, address: str) -> bytes:
        if address not in self._data:
            raise NotFound(f"There is no payload {address}.")
        return self._data[address]

    async def has(self, address: str) -> bool:
        return address in self._data
