"""Signatures of the kind vendors put on what a model thought: they prove where it came from, and that it is unaltered.

Signed with a key that every server here shares, so that a session may go on with another server. In plain base64,
because Gemini's field holds bytes: the SDKs decode it. What was thought is not inside, only digests.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import msgspec

_KEY = b"callslip contract server: signatures"


class Signed(msgspec.Struct, frozen=True, kw_only=True):
    """What a signature vouches for."""

    model: str
    content: str
    """Digest of the block or part that carries it."""
    prefix: str = ""
    """Digest of all that came before it, where the vendor binds it to that."""
    previous: str = ""
    """Digest of the signature before it in the conversation, or ""."""


def sign(signed: Signed) -> str:
    """The signature, in base64."""
    # Escaped, as a model may have any name: even half a character.
    inside = json.dumps(msgspec.structs.asdict(signed)).encode("ascii")
    return base64.b64encode(_mac(inside) + inside).decode("ascii")


def verify(signature: str) -> Signed | None:
    """What it vouches for; ``None`` for one that is foreign, empty or altered."""
    try:
        raw = base64.b64decode(signature, validate=True)
        mac, inside = raw[:32], raw[32:]
        if not inside or not hmac.compare_digest(mac, _mac(inside)):
            return None
        return msgspec.json.decode(inside, type=Signed)
    except (ValueError, msgspec.MsgspecError):
        return None


def digest(value: Any) -> str:
    """The same for the same JSON value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]


def _mac(inside: bytes) -> bytes:
    return hmac.new(_KEY, inside, hashlib.sha256).digest()
