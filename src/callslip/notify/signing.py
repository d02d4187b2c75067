"""Signatures by the Standard Webhooks specification (version 1, symmetric), and the secrets they are made with.

``v1,`` and the base64 of HMAC-SHA-256 over ``id.timestamp.body``; the secret is ``whsec_`` and the base64 of 24 to 64
random bytes. Source: standard-webhooks/standard-webhooks, spec/standard-webhooks.md.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

from callslip.errors import ConfigError

PREFIX = "whsec_"
_LEAST, _MOST = 24, 64


def new_secret() -> str:
    """A fresh secret of 32 random bytes, as both sides are given it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def key_of(secret: str) -> bytes:
    """The bytes of a secret.

    Raises:
        ConfigError: it is none. The error does not show it.
    """
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not _LEAST <= len(key) <= _MOST:
        raise ConfigError(
            "A webhook's secret is whsec_ followed by 24 to 64 bytes in base64, and this one is not. Nothing was "
            "signed or believed. Make one with callslip.notify.signing.new_secret(), and give it to both sides."
        )
    return key


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """``v1,…``: one entry of the ``webhook-signature`` header. ``timestamp`` is in seconds."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def headers(keys: tuple[bytes, ...], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers, with a signature for each key: while a secret is being replaced, there are two."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(key, message_id, timestamp, body) for key in keys),
    }
