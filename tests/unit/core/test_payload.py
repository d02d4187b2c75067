"""Payloads: small ones in the event, large ones beside the log, one address for the same bytes."""

from __future__ import annotations

import hashlib

import pytest

from callslip.blobs.memory import MemoryBlobs
from callslip.core import payload
from callslip.errors import LogBroken
from callslip.runtime import payloads

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-05")]


def text(size: int) -> bytes:
    return b'"' + b"a" * (size - 2) + b'"'


async def test_up_to_the_limit_it_stands_in_the_event():
    blobs = MemoryBlobs()
    kept = await payloads.store(blobs, text(payload.INLINE_LIMIT))
    assert kept.inline
    assert kept.value() == "a" * (payload.INLINE_LIMIT - 2)
    assert not await blobs.has(payload.address(text(payload.INLINE_LIMIT)))


async def test_above_it_is_a_blob_that_is_there_before_anyone_names_it():
    blobs = MemoryBlobs()
    long = text(payload.INLINE_LIMIT + 1)
    kept = await payloads.store(blobs, long)
    assert (kept.inline, kept.size) == (False, len(long))
    assert kept.blob == "sha256:" + hashlib.sha256(long).hexdigest()
    assert await blobs.get(kept.blob) == long
    assert await payloads.load(blobs, kept) == "a" * (len(long) - 2)
    with pytest.raises(ValueError, match="in a blob"):
        kept.value()


async def test_a_payload_that_is_gone_says_so():
    with pytest.raises(LogBroken, match="is not there"):
        await payloads.load(MemoryBlobs(), payload.by_reference(text(9000)))
