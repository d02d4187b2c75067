"""The box an encrypted thing is kept in, and how it is made: zstd, then XChaCha20-Poly1305 (libsodium, by PyNaCl).

``version 1 | whose 16 | number of the key 4, big-endian | nonce 24 | ciphertext``; all before the nonce is bound as
additional data. The nonce is derived from key and text (the synthetic initialisation vector of RFC 8452's kind), so
that the same text under the same key is the same box: kept once, and made again by a retry. Two texts share a nonce
with a chance of one in 2^96 for 2^48 of them.
"""

from __future__ import annotations

import hashlib
import hmac
import struct

import zstandard

from callslip.errors import LogBroken

KEY_BYTES = 32
WHOSE_BYTES = 16
_HEAD = struct.Struct(f">B{WHOSE_BYTES}sI")
_VERSION = 1
_NONCE_BYTES = 24
_TAG_BYTES = 16
_LEVEL = 6
MOST = 1 << 30
"""Bytes that a box may hold: what unpacks to more was not made here."""


def whose(session: str) -> bytes:
    """A name for the session that fits into a box and a file's name."""
    return hashlib.sha256(b"callslip keys of\n" + session.encode()).digest()[:WHOSE_BYTES]


def seal(key: bytes, of: bytes, number: int, data: bytes) -> bytes:
    """Put data into a box."""
    from nacl import bindings  # noqa: PLC0415 - few programs encrypt, and it costs every start 10 ms

    head = _HEAD.pack(_VERSION, of, number)
    nonce = hmac.new(key, b"callslip nonce\n" + data, hashlib.sha256).digest()[:_NONCE_BYTES]
    packed = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
    return head + nonce + bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(packed, head, nonce, key)


def label(box: bytes) -> tuple[bytes, int]:
    """Whose it is, and which of their keys opens it.

    Raises:
        LogBroken: it is no box.
    """
    if len(box) < _HEAD.size + _NONCE_BYTES + _TAG_BYTES or box[0] != _VERSION:
        raise LogBroken("Something that should be encrypted is not, or by a newer Callslip. Nothing was executed.")
    _, of, number = _HEAD.unpack_from(box)
    return of, number


def open_box(key: bytes, box: bytes) -> bytes:
    """Take the data out.

    Raises:
        LogBroken: damaged, or another key's.
    """
    from nacl import bindings, exceptions  # noqa: PLC0415 - as above

    head, rest = box[: _HEAD.size], box[_HEAD.size :]
    try:
        packed = bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(
            rest[_NONCE_BYTES:], head, rest[:_NONCE_BYTES], key
        )
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            data = reader.read(MOST + 1)
    except (exceptions.CryptoError, zstandard.ZstdError) as error:
        raise LogBroken(
            "Something encrypted can't be opened: it was altered, or its key is another one. Nothing was executed."
        ) from error
    if len(data) > MOST:
        raise LogBroken(f"Something encrypted unpacks to more than {MOST} bytes. Nothing was executed.")
    return data


def tag(key: bytes, text: str) -> str:
    """A keyed digest, hex."""
    return hmac.new(key, b"callslip tag\n" + text.encode(), hashlib.sha256).hexdigest()
