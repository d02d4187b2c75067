"""A JSON payload inside an event: its exact text, or the address of the blob that holds it."""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.core import canon

INLINE_LIMIT = 4096
"""Bytes of text above which a payload is kept as a blob beside the log."""

SEALED = "sealed:"
"""How the address of an encrypted payload begins; the SHA-256 of what is stored follows, which tells nothing of the
text (docs/adr/0014)."""


class Payload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Exactly one of ``text`` (canonical JSON, inline) and ``blob`` (``sha256:…`` of that text, or ``sealed:…``) is
    set.
    """

    text: msgspec.Raw = msgspec.Raw(b"")
    blob: str = ""
    size: int = 0
    """Bytes of the text, when it is in a blob."""

    @property
    def inline(self) -> bool:
        return not self.blob

    def value(self) -> Any:
        """The inline value. A blob is read by ``runtime/payloads``."""
        if self.blob:
            raise ValueError("this payload is in a blob; read it through the blob store")
        return canon.parse(bytes(self.text))


def address(text: bytes) -> str:
    """The content address of raw bytes."""
    return "sha256:" + canon.digest(text)


def inline(text: bytes) -> Payload:
    return Payload(text=msgspec.Raw(text))


def by_reference(text: bytes) -> Payload:
    return Payload(blob=address(text), size=len(text))
