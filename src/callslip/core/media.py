"""What bytes are, by how they begin: providers look themselves, and refuse an image that is not what it is said to be.

Signatures: PNG (W3C PNG specification, section 5.2), JPEG (ITU-T T.81, SOI), GIF (GIF89a specification, section 17),
WebP (RFC 9649, section 2.4), PDF (ISO 32000-1, 7.5.2).
"""

from __future__ import annotations

BYTES = "application/octet-stream"
PDF = "application/pdf"
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What all providers with eyes take."""


def media_type_of(data: bytes) -> str:
    """Of those that a model can be shown; else :data:`BYTES`."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith(b"%PDF-"):
        return PDF
    return BYTES
