"""Images and PDFs of results as blocks of a Messages request (Anthropic docs, "Vision" and "PDF support").

Sent as base64. What the API would refuse is left out, since it would refuse the whole conversation with it, now and
ever after: other kinds, too large ones, and all but the latest where there are too many. Results name them anyway.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from callslip.core.message import Attachment
from callslip.providers.attached import base64_of
from callslip.providers.history import Turn, UserTurn

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF = "application/pdf"
_LARGEST = 10 * 1024 * 1024
"""Characters of base64 of one image (github.com/can1357/oh-my-pi/pull/10633)."""
_ALL = 24 * 1024 * 1024
"""Of all together; a request may have 32 MB (Anthropic docs, "API > Errors")."""
_MOST = 100
"""Of models with the smaller window; PDFs count by their pages too, which nobody here counts."""
Key = tuple[int, int, int]
"""The turn, the call in it and the attachment of its result."""


def shown(conversation: Iterable[Turn]) -> frozenset[Key]:
    """Which attachments are sent."""
    found: list[tuple[Key, int]] = []
    for place, turn in enumerate(conversation):
        for number, call in enumerate(() if isinstance(turn, UserTurn) else turn.calls):
            for position, one in enumerate(call.result.attachments):
                if is_taken(one):
                    found.append(((place, number, position), _size(one)))
    kept: set[Key] = set()
    total = 0
    for key, size in reversed(found):
        total += size
        if len(kept) == _MOST or total > _ALL:
            break
        kept.add(key)
    return frozenset(kept)


def is_taken(attachment: Attachment) -> bool:
    """Whether the API takes it at all."""
    if not attachment.data:
        return False
    if attachment.media_type == _PDF:
        return attachment.data.startswith(b"%PDF")
    return attachment.media_type in _IMAGES and _size(attachment) <= _LARGEST


def _size(attachment: Attachment) -> int:
    return 4 * ((len(attachment.data) + 2) // 3)


def block_of(attachment: Attachment) -> dict[str, Any]:
    """As it stands in the content of a result, or of a message."""
    kind = "image" if attachment.is_image else "document"
    source = {"type": "base64", "media_type": attachment.media_type, "data": base64_of(attachment)}
    return {"type": kind, "source": source}
