"""Payloads: small ones stand in the event, large ones in a blob that is durable before the event names it."""

from __future__ import annotations

from typing import Any

from callslip.core import canon
from callslip.core.payload import INLINE_LIMIT, Payload, by_reference, inline
from callslip.ports.blobs import Blobs


async def store(blobs: Blobs, text: bytes) -> Payload:
    """Keep canonical JSON text."""
    if len(text) <= INLINE_LIMIT:
        return inline(text)
    await blobs.put(text)
    return by_reference(text)


async def text(blobs: Blobs, payload: Payload) -> bytes:
    """The payload's JSON text.

    Raises:
        NotFound: it was erased. LogBroken: it is damaged.
    """
    return await blobs.get(payload.blob) if payload.blob else bytes(payload.text)


async def load(blobs: Blobs, payload: Payload) -> Any:
    """The payload's value."""
    return canon.parse(await text(blobs, payload))
