"""From what there is to say to what is written: payloads read and put in, secrets taken out."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from callslip.audit.entry import LISTS_OF_WORDS, WORDS, Entry
from callslip.audit.telling import Told
from callslip.core import canon
from callslip.core.payload import SEALED, Payload
from callslip.errors import LogBroken, NotFound
from callslip.ports.blobs import Blobs

MOST = 64 * 1024
"""Bytes of a payload above which an entry names its address only."""
MISSING = "$missing"
"""Stands in a detail beside the address of a payload that was not there."""


class Cleaner(Protocol):
    """``Redactor`` of ``runtime/redact``."""

    def clean(self, text: str) -> str: ...
    def clean_json(self, text: bytes) -> bytes: ...


async def dress(told: Told, blobs: Blobs, cleaner: Cleaner) -> tuple[Entry, bytes]:
    """The entry, and its detail as JSON text."""
    values = {name: await _value(payload, blobs) for name, payload in told.details}
    detail = cleaner.clean_json(canon.canonical(values)) if values else b""
    return clean(told.entry, cleaner), detail


def clean(entry: Entry, cleaner: Cleaner) -> Entry:
    """The entry without secrets. Names that others refer to it by (session, call, approval) stay as they are."""
    said = [getattr(entry, name) for name in WORDS] + [text for name in LISTS_OF_WORDS for text in getattr(entry, name)]
    whole = "\n".join(said)
    if cleaner.clean(whole) == whole:  # nearly always, and one look costs a tenth of many
        return entry
    words: dict[str, Any] = {name: cleaner.clean(text) for name in WORDS if (text := getattr(entry, name))}
    words |= {name: tuple(map(cleaner.clean, texts)) for name in LISTS_OF_WORDS if (texts := getattr(entry, name))}
    return msgspec.structs.replace(entry, **words)


async def _value(payload: Payload, blobs: Blobs) -> Any:
    if not payload.blob:
        return payload.value()
    reference = {"$blob": payload.blob, "$size": payload.size}
    if payload.size > MOST or payload.blob.startswith(SEALED):
        return reference
    try:
        return canon.parse(await blobs.get(payload.blob))
    except (
        NotFound,
        LogBroken,
        msgspec.DecodeError,
    ) as error:  # that it is gone must not keep the rest from being told
        return {**reference, MISSING: getattr(error, "code", "unreadable")}
