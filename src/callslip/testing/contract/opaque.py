"""Opaque items of the kind vendors issue: they can be given back, not read and not altered.

Signed with a key that every server here shares, so that a session may go on with another server. The content is only
packed, not encrypted: nothing that a test says is a secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

import msgspec

_KEY = b"callslip contract server"
_PREFIX = "gAAAA"
"""So that it looks like what it stands for."""


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """What is inside."""

    item: str
    """The id of the item that carries it."""
    model: str
    text: str


def seal(sealed: Sealed) -> str:
    """The item's opaque text."""
    inside = msgspec.json.encode(sealed)
    return _PREFIX + base64.urlsafe_b64encode(_digest(inside) + inside).decode("ascii")


def unseal(text: str) -> Sealed | None:
    """What is inside; ``None`` when not a byte may be trusted."""
    try:
        raw = base64.b64decode(text.removeprefix(_PREFIX), altchars=b"-_", validate=True)
        digest, inside = raw[:32], raw[32:]
        if not text.startswith(_PREFIX) or not hmac.compare_digest(digest, _digest(inside)):
            return None
        return msgspec.json.decode(inside, type=Sealed)
    except (ValueError, msgspec.MsgspecError):
        return None


def _digest(inside: bytes) -> bytes:
    return hmac.new(_KEY, inside, hashlib.sha256).digest()
