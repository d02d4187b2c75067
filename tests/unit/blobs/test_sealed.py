"""Protected payloads: what lies in the store, and what its address tells."""

from __future__ import annotations

import hashlib

import pytest

from callslip.blobs.files import FileBlobs
from callslip.blobs.memory import MemoryBlobs
from callslip.blobs.sealed import SealedBlobs
from callslip.blobs.vault import KeyVault, MemoryKeys
from callslip.core import erasure
from callslip.core.payload import SEALED, by_reference
from callslip.errors import Erased, LogBroken, NotFound, UsageError
from callslip.ports.blobs import Blobs, Boxed, Erasable, OfSession
from callslip.runtime import payloads

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-08")]
TEXT = b'"Ada owes five pounds"'


@pytest.fixture
def vault():
    return KeyVault(MemoryKeys(), encrypts=True)


@pytest.fixture
def behind():
    return MemoryBlobs()


@pytest.fixture
def blobs(behind, vault):
    made = SealedBlobs(behind, vault)
    assert isinstance(made, Boxed)
    assert isinstance(made, Erasable)
    assert isinstance(made, OfSession)
    store: Blobs = made
    assert store is made
    return made


@pytest.mark.parametrize("data", [b"", TEXT, b"x" * 100_000])
async def test_put_by_a_session_and_had_by_anybody(blobs, data):
    address = await blobs.of("s").put(data)
    assert await blobs.get(address) == await blobs.of("t").get(address) == data
    assert await blobs.has(address)
    assert await blobs.of("s").put(data) == address


async def test_the_address_is_of_what_is_stored_and_confirms_no_guess(blobs, behind):
    """Whoever guesses a short text must not be able to confirm it by the address that stays in the log."""
    address = await blobs.of("s").put(TEXT)
    assert address.startswith(SEALED)
    assert hashlib.sha256(TEXT).hexdigest() not in address
    stored = await behind.get("sha256:" + address.removeprefix(SEALED))
    assert TEXT not in stored
    assert hashlib.sha256(stored).hexdigest() == address.removeprefix(SEALED)
    assert await blobs.get_stored(address) == stored


async def test_sessions_share_nothing(blobs):
    assert await blobs.of("s").put(TEXT) != await blobs.of("t").put(TEXT)


async def test_a_payload_of_no_session_is_refused_rather_than_kept_in_clear(blobs, behind):
    with pytest.raises(UsageError, match=r"of no session\. Nothing was written"):
        await blobs.put(TEXT)
    assert await behind.listed() == []


async def test_without_encryption_everything_is_as_ever(behind):
    blobs = SealedBlobs(behind, KeyVault(MemoryKeys(), encrypts=False))
    address = await blobs.of("s").put(TEXT)
    assert address == await blobs.put(TEXT) == by_reference(TEXT).blob
    assert await behind.get(address) == TEXT


async def test_one_altered_is_seen(blobs, behind):
    address = await blobs.of("s").put(TEXT)
    behind._data["sha256:" + address.removeprefix(SEALED)] = b"x" * 100
    with pytest.raises(LogBroken):
        await blobs.get(address)


async def test_one_brought_from_elsewhere_must_be_what_it_claims(blobs):
    address = await blobs.of("s").put(TEXT)
    box = await blobs.get_stored(address)
    other = SealedBlobs(MemoryBlobs(), KeyVault(MemoryKeys(), encrypts=True))
    await other.put_stored(address, box)
    assert await other.has(address)
    with pytest.raises(LogBroken, match=r"is another\. It was not kept"):
        await other.put_stored(address, box + b"x")


async def test_erased_by_its_key_and_removed(blobs, vault):
    address = await blobs.of("s").put(TEXT)
    vault.destroy("s", vault.renew("s"))
    with pytest.raises(Erased, match="was erased"):
        await blobs.get(address)
    assert await payloads.text(blobs, payloads.Payload(blob=address)) == bytes(erasure.NOTHING.text)
    assert await blobs.remove(address)
    assert not await blobs.remove(address)
    with pytest.raises(NotFound):
        await blobs.get(address)
    with pytest.raises(LogBroken, match="it is not there"):
        await payloads.text(blobs, payloads.Payload(blob=address))


class TestWhereAPayloadStands:
    async def test_of_a_protected_session_beside_the_log_whatever_its_size(self, blobs):
        kept = await payloads.store(blobs.of("s"), b'"hi"')
        assert kept.blob.startswith(SEALED)
        assert kept.size == 4
        assert await payloads.text(blobs, kept) == b'"hi"'

    @pytest.mark.parametrize("text", [b"null", b"true", b"{}", b"[]", b'""'])
    async def test_unless_it_tells_nothing(self, blobs, text):
        assert (await payloads.store(blobs.of("s"), text)).inline

    async def test_of_any_other_in_the_log_if_it_is_small(self, behind):
        blobs = SealedBlobs(behind, KeyVault(MemoryKeys(), encrypts=False))
        assert (await payloads.store(blobs.of("s"), b'"hi"')).inline
        assert (await payloads.store(behind, b'"hi"')).inline


class TestForgetting:
    async def test_files(self, tmp_path):
        import os

        blobs = FileBlobs(tmp_path)
        one, two = await blobs.put(b"one"), await blobs.put(b"two")
        assert set(await blobs.listed()) == {one, two}
        path = tmp_path / one[7:9] / one[9:]
        os.utime(path, (100, 100))
        assert await blobs.used_at(one) == 100_000
        assert await blobs.put(b"one") == one
        assert await blobs.used_at(one) > 100_000, "a hit refreshes it"
        left = path.with_name(f".{path.name}.beef")
        left.write_bytes(b"half")
        os.utime(left, (100, 100))
        assert set(await blobs.listed()) == {one, two}
        assert await blobs.tidy(99_000) == 0
        assert await blobs.tidy(101_000) == 1
        assert await blobs.remove(one)
        assert not await blobs.remove(one)
        assert await blobs.used_at(one) is None
        assert await blobs.put(b"one") == one
        assert await blobs.get(one) == b"one"
