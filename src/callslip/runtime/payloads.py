"""Payloads: small ones stand in the event, large ones in a blob that is durable before the event names it."""

from __future__ import annotations

from typing import Any

from callslip.core import canon
from callslip.core.payload import INLINE_LIMIT, Payload, by_reference, inline
from callslip.errors import LogBroken, NotFound
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
        LogBroken: the payload that the log names is gone or damaged.
    """
    if not payload.blob:
        return bytes(payload.text)
    try:
        return await blobs.get(payload.blob)
    except NotFound as error:
        raise LogBroken(
            f"The log names the payload {payload.blob}, and it is not there. Nothing was executed. "
            "Restore the folder `blobs` of the state folder from a backup."
        ) from error


async def load(blobs: Blobs, payload: Payload) -> Any:
    """The payload's value."""
    return canon.parse(await text(blobs, payload))
