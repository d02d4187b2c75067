"""Payloads: small ones stand in the event, large ones in a blob that is durable before the event names it.

Those of a protected session are blobs whatever their size: what stands in the log can't be erased.
"""

from __future__ import annotations

from typing import Any

from callslip.core import canon, erasure
from callslip.core.payload import INLINE_LIMIT, Payload, inline
from callslip.errors import Erased, LogBroken, NotFound
from callslip.ports.blobs import Blobs

_EMPTY = frozenset({b"null", b"true", b"false", b"{}", b"[]", b'""'})
"""Texts that tell nothing."""


async def store(blobs: Blobs, text: bytes) -> Payload:
    """Keep canonical JSON text."""
    if len(text) <= INLINE_LIMIT and (text in _EMPTY or not _apart(blobs)):
        return inline(text)
    return Payload(blob=await blobs.put(text), size=len(text))


def _apart(blobs: Blobs) -> bool:
    # Plainer than `isinstance` with the protocol `Outside`, and a tenth of its price: this is asked for every payload.
    return bool(getattr(blobs, "nothing_inline", False))


async def text(blobs: Blobs, payload: Payload) -> bytes:
    """The payload's JSON text; of one that was erased, :data:`callslip.core.erasure.NOTHING`'s.

    Raises:
        LogBroken: the payload that the log names is gone or damaged.
    """
    if not payload.blob:
        return bytes(payload.text)
    try:
        return await blobs.get(payload.blob)
    except Erased:
        return bytes(erasure.NOTHING.text)
    except NotFound as error:
        raise LogBroken(
            f"The log names the payload {payload.blob}, and it is not there. Nothing was executed. "
            "Restore the folder `blobs` of the state folder from a backup."
        ) from error


async def load(blobs: Blobs, payload: Payload) -> Any:
    """The payload's value."""
    return canon.parse(await text(blobs, payload))
