"""Anthropic's rules of images and documents: where they come from, their kind, how large and how many.

Not checked: the pixels of an image (8,000 a side, 2,000 where there are more than 20 images).
"""

from __future__ import annotations

import base64
from typing import Any

from callslip.testing.contract.findings import Findings
from callslip.testing.contract.loose import text_at

_VISION = "Anthropic docs, Vision"
SOURCES = {
    "image_source": _VISION,
    "image_type": "github.com/anthropics/claude-code/issues/3073",
    "image_type_false": "github.com/home-assistant/core/issues/167208",
    "image_data": _VISION,
    "image_too_large": "github.com/can1357/oh-my-pi/pull/10633 (10 MB of base64)",
    "too_many_images": "github.com/anthropics/claude-code/issues/23392; Anthropic docs, Vision > General limits",
    "document_source": "Anthropic docs, PDF support",
}
_STARTS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
_FIELDS = {
    "base64": frozenset({"type", "media_type", "data"}),
    "url": frozenset({"type", "url"}),
    "file": frozenset({"type", "file_id"}),
    "text": frozenset({"type", "media_type", "data"}),
    "content": frozenset({"type", "content"}),
}
_DOCUMENTS = {"base64": "application/pdf", "text": "text/plain"}
_LARGEST = 10 * 1024 * 1024
_MOST = 100
"""For models with a window of 200,000 tokens; the others take 600, which no history of a test comes near."""


def check_image(block: dict[str, Any], path: str, found: Findings) -> None:
    source = block.get("source")
    kind = text_at(source, "type")
    if not isinstance(source, dict) or kind not in ("base64", "url", "file"):
        found.add("image_source", f"{path}.source", "Input tag should be 'base64', 'url' or 'file'")
        return
    _check_source_fields(source, kind, "image_source", path, found)
    if kind != "base64":
        return
    media_type = text_at(source, "media_type")
    if media_type not in _STARTS:
        found.add(
            "image_type",
            f"{path}.source.media_type",
            "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
        )
        return
    data = text_at(source, "data")
    raw = _decoded(data)
    if not raw:
        found.add("image_data", f"{path}.source.data", "image source data is not valid base64")
        return
    if len(data) > _LARGEST:
        found.add(
            "image_too_large",
            f"{path}.source",
            f"image exceeds 10 MB maximum: {len(data)} bytes > {_LARGEST} bytes",
        )
    seen = next((name for name, starts in _STARTS.items() if raw.startswith(starts)), None)
    if seen is None:
        found.add("image_data", f"{path}.source.data", "Could not process image")
    elif seen != media_type:
        found.add(
            "image_type_false",
            f"{path}.source.media_type",
            f"The image was specified using the {media_type} media type, but the image appears to be a {seen} image",
        )


def check_document(block: dict[str, Any], path: str, found: Findings) -> None:
    source = block.get("source")
    kind = text_at(source, "type")
    if not isinstance(source, dict) or kind not in _FIELDS:
        found.add("document_source", f"{path}.source", "Input tag does not match any of the expected tags")
        return
    _check_source_fields(source, kind, "document_source", path, found)
    if kind in _DOCUMENTS and source.get("media_type") != _DOCUMENTS[kind]:
        found.add("document_source", f"{path}.source.media_type", f"Input should be '{_DOCUMENTS[kind]}'")
    elif kind == "base64" and not _decoded(text_at(source, "data")).startswith(b"%PDF"):
        found.add("document_source", f"{path}.source.data", "The PDF specified was not valid.")


def check_count(count: int, found: Findings) -> None:
    """``count``: images and documents in the whole request."""
    if count > _MOST:
        found.add("too_many_images", "messages", f"too many images and documents: {count} > {_MOST}")


def _check_source_fields(source: dict[str, Any], kind: str, rule: str, path: str, found: Findings) -> None:
    for field in source:
        if field not in _FIELDS[kind]:
            found.add(rule, f"{path}.source.{field}", "Extra inputs are not permitted")
    for field in _FIELDS[kind] - set(source):
        found.add(rule, f"{path}.source.{field}", "Field required")


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return b""
