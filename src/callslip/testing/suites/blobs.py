"""What every blob store must do: one suite, run on each implementation. ::

class TestMine(BlobsSuite):
async def opened(self, place: Path) -> Blobs:
return MyBlobs(place)

async def damage(self, place: Path, address: str) -> None: ...    # where that is possible
"""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import ClassVar

import pytest

from callslip.errors import LogBroken, NotFound
from callslip.ports.blobs import Blobs

PAYLOADS = [b"", b"x", bytes(range(256)) * 40, b"the same " * 100_000]


@pytest.mark.anyio
class BlobsSuite:
    """Subclass it, and say how to open one."""

    shared: ClassVar[bool] = True
    """Whether a second one can be opened on the same place."""

    async def opened(self, place: Path) -> Blobs:
        """A blob store at this place."""
        raise NotImplementedError

    async def damage(self, place: Path, address: str) -> None:
        """Alter the stored bytes behind the store's back."""
        pytest.skip("can't be damaged")

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    async def blobs(self, tmp_path: Path) -> Blobs:
        return await self.opened(tmp_path)

    async def test_what_was_put_can_be_had(self, blobs: Blobs) -> None:
        addresses = [await blobs.put(data) for data in PAYLOADS]
        assert [await blobs.get(address) for address in addresses] == PAYLOADS
        assert all([await blobs.has(address) for address in addresses])

    async def test_the_address_is_the_digest(self, blobs: Blobs) -> None:
        for data in PAYLOADS:
            assert await blobs.put(data) == f"sha256:{hashlib.sha256(data).hexdigest()}"

    async def test_the_same_again_is_a_hit(self, blobs: Blobs) -> None:
        assert await blobs.put(b"once") == await blobs.put(b"once")
        assert await blobs.get(await blobs.put(b"once")) == b"once"

    async def test_the_same_at_once(self, blobs: Blobs) -> None:
        addresses = await asyncio.gather(*(blobs.put(b"all at once") for _ in range(16)))
        assert len(set(addresses)) == 1
        assert await blobs.get(addresses[0]) == b"all at once"

    async def test_many_at_once(self, blobs: Blobs) -> None:
        payloads = [str(number).encode() * 50 for number in range(64)]
        addresses = await asyncio.gather(*map(blobs.put, payloads))
        assert await asyncio.gather(*map(blobs.get, addresses)) == payloads

    async def test_what_is_not_there(self, blobs: Blobs) -> None:
        nowhere = "sha256:" + "0" * 64
        assert not await blobs.has(nowhere)
        with pytest.raises(NotFound):
            await blobs.get(nowhere)

    @pytest.mark.parametrize(
        "address", ["", "sha256:", "sha256:../../etc/passwd", "sha256:" + "G" * 64, "0" * 63, "../" * 22]
    )
    async def test_what_is_no_address(self, blobs: Blobs, address: str) -> None:
        with pytest.raises(NotFound):
            await blobs.get(address)

    async def test_damage_is_seen(self, blobs: Blobs, tmp_path: Path) -> None:
        address = await blobs.put(b"precious" * 100)
        await self.damage(tmp_path, address)
        with pytest.raises(LogBroken):
            await blobs.get(address)

    async def test_it_is_there_when_opened_again(self, blobs: Blobs, tmp_path: Path) -> None:
        if not self.shared:
            pytest.skip("lives in one process")
        address = await blobs.put(b"kept")
        assert await (await self.opened(tmp_path)).get(address) == b"kept"
