"""Blobs in memory: the twin for tests and for a ledger in memory."""

from __future__ import annotations

import time
from collections.abc import Sequence

from callslip.core import payload
from callslip.errors import NotFound


class MemoryBlobs:
    """Implements ``Blobs`` and ``Erasable``."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}
        self._used: dict[str, int] = {}

    async def put(self, data: bytes) -> str:
        address = payload.address(data)
        self._data[address] = data
        self._used[address] = time.time_ns() // 1_000_000
        return address

    async def get(self, address: str) -> bytes:
        if address not in self._data:
            raise NotFound(f"There is no payload {address}.")
        return self._data[address]

    async def has(self, address: str) -> bool:
        return address in self._data

    async def remove(self, address: str) -> bool:
        self._used.pop(address, None)
        return self._data.pop(address, None) is not None

    async def used_at(self, address: str) -> int | None:
        return self._used.get(address)

    async def listed(self) -> Sequence[str]:
        return list(self._data)

    async def tidy(self, before: int) -> int:
        return 0
