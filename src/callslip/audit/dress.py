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
_SHORT, _MANY = 1000, 1000
"""Characters of a text that is remembered as free of secrets, and how many of them are."""
_ODD = (b"\\", b"\n", b"\r")
MISSING = "$missing"
"""Stands in a detail beside the address of a payload that was not there."""


class Cleaner(Protocol):
    """``Redactor`` of ``runtime/redact``."""

    def clean(self, text: str) -> str: ...
    def clean_json(self, text: bytes) -> bytes: ...


class Remembering:
    """A cleaner that looks once at words that come again: most entries of a step say the same ones."""

    def __init__(self, cleaner: Cleaner) -> None:
        self._cleaner = cleaner
        self._free: set[str] = set()

    def clean(self, text: str) -> str:
        if text in self._free:
            return text
        cleaned = self._cleaner.clean(text)
        if cleaned == text and len(text) <= _SHORT:
            if len(self._free) >= _MANY:
                self._free.clear()
            self._free.add(text)
        return cleaned

    def clean_json(self, text: bytes) -> bytes:
        return self._cleaner.clean_json(text)


async def dress(told: Told, blobs: Blobs, cleaner: Cleaner) -> tuple[Entry, bytes]:
    """The entry, and its detail as JSON text."""
    return clean(told.entry, cleaner), await _detail(told, blobs, cleaner) if told.details else b""


async def _detail(told: Told, blobs: Blobs, cleaner: Cleaner) -> bytes:
    if len(told.details) == 1 and told.details[0][1].inline:
        name, payload = told.details[0]
        text = bytes(payload.text)
        if not any(odd in text for odd in _ODD):  # as Callslip writes it; else it could begin a line, or hide a secret
            return cleaner.clean_json(b'{"%s":%s}' % (name.encode(), text))
    return cleaner.clean_json(canon.canonical({name: await _value(payload, blobs) for name, payload in told.details}))


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
