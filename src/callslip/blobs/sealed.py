"""Payloads of protected sessions, encrypted: a store in front of another one (LEDG-08, docs/adr/0014).

What lies in the store behind is a box (``blobs/box``), and its address ``sealed:…`` is the digest of that box: it can
be checked by anybody, and tells nothing of the text even to somebody who guesses it. Who it belongs to stands in the
box, so reading needs no session; writing does.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Protocol

import anyio
import anyio.to_thread

from callslip.core.payload import SEALED, address as address_of
from callslip.errors import Erased, LogBroken, UsageError
from callslip.ports.blobs import Blobs, Erasable
from callslip.ports.vault import Vault

_PREFIX = "sha256:"
_LARGE = 1 << 16
"""Bytes from which on another thread encrypts."""


class Store(Blobs, Erasable, Protocol):
    """What lies behind."""


class SealedBlobs:
    """Implements ``Blobs``, ``Erasable``, ``OfSession`` and ``Boxed``."""

    def __init__(self, store: Store, vault: Vault) -> None:
        self.behind = store
        self._vault = vault

    def of(self, session: str) -> SessionBlobs:
        return SessionBlobs(self, session)

    async def put(self, data: bytes) -> str:
        if self._vault.encrypts:
            raise UsageError("A payload was to be stored unencrypted, of no session. Nothing was written.")
        return await self.behind.put(data)

    async def get(self, address: str) -> bytes:
        data = await self.behind.get(_behind(address))
        if not address.startswith(SEALED):
            return data
        try:
            return await _perhaps_in_thread(self._vault.open, data)
        except Erased as error:
            raise Erased(f"Payload {address} was erased: its key was destroyed.") from error

    async def has(self, address: str) -> bool:
        return await self.behind.has(_behind(address))

    async def remove(self, address: str) -> bool:
        return await self.behind.remove(_behind(address))

    async def used_at(self, address: str) -> int | None:
        return await self.behind.used_at(_behind(address))

    async def listed(self) -> Sequence[str]:
        return await self.behind.listed()

    async def tidy(self, before: int) -> int:
        return await self.behind.tidy(before)

    async def get_stored(self, address: str) -> bytes:
        return await self.behind.get(_behind(address))

    async def put_stored(self, address: str, data: bytes) -> None:
        if address_of(data) != _behind(address):
            raise LogBroken(f"What was brought as payload {address[:80]} is another. It was not kept.")
        await self.behind.put(data)

    async def put_of(self, session: str, data: bytes) -> str:
        """Store as that session does."""
        if not self._vault.protects(session):
            return await self.behind.put(data)
        box = await _perhaps_in_thread(lambda text: self._vault.seal(session, text), data)
        return SEALED + (await self.behind.put(box)).removeprefix(_PREFIX)

    def protects(self, session: str) -> bool:
        return self._vault.protects(session)


class SessionBlobs:
    """Implements ``Blobs`` and ``Outside`` for one session."""

    def __init__(self, blobs: SealedBlobs, session: str) -> None:
        self._blobs = blobs
        self._session = session

    @functools.cached_property
    def nothing_inline(self) -> bool:
        # Asked for every payload, and it does not change while a session is driven.
        return self._blobs.protects(self._session)

    async def put(self, data: bytes) -> str:
        return await self._blobs.put_of(self._session, data)

    async def get(self, address: str) -> bytes:
        return await self._blobs.get(address)

    async def has(self, address: str) -> bool:
        return await self._blobs.has(address)

    def of(self, session: str) -> SessionBlobs:
        return self._blobs.of(session)


def _behind(address: str) -> str:
    """Where the store behind has it."""
    return _PREFIX + address.removeprefix(SEALED) if address.startswith(SEALED) else address


async def _perhaps_in_thread(work: object, data: bytes) -> bytes:
    assert callable(work)
    if len(data) < _LARGE:
        return work(data)  # type: ignore[no-any-return]
    return await anyio.to_thread.run_sync(work, data)
