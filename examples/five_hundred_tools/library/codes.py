"""Encodings, digests, colours."""

from __future__ import annotations

import base64
import binascii
import codecs
import colorsys
import hashlib
import hmac
import quopri
import struct
import uuid
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from library.row import rows

_B, _T, _W = "data: bytes", "text: text", "text: word"
_RGB = "r: number, g: number, b: number"
_DIGEST = "Digest of a text by the hash function {}, in hexadecimal."


def _read(decode: Callable[[bytes], bytes]) -> Callable[[str], str]:
    return lambda text: decode(text.encode()).decode("utf-8", "backslashreplace")


def _hashes() -> Iterator[tuple[Any, ...]]:
    for name, result in (
        ("md5", "900150983cd24fb0d6963f7d28e17f72"), ("sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("sha224", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        ("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("sha384", "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"),
        ("sha512", "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"),
        ("sha3_224", "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
        ("sha3_256", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
        ("sha3_384", "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25"),
        ("sha3_512", "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0"),
        ("blake2b", "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"),
        ("blake2s", "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982"),
    ):  # fmt: skip
        yield (
            f"hashlib.{name}",
            (lambda data, name=name: hashlib.new(name, data).hexdigest()),
            _B,
            ("abc",),
            result,
            _DIGEST.format(name.upper().replace("_", "-")),
        )


# fmt: off
ROWS = [
    *rows("digests", *_hashes(),
        ("hmac.digest", lambda key, data: hmac.digest(key, data, "sha256").hex(), "key: bytes, data: bytes", ("key", "The quick brown fox jumps over the lazy dog"), "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8", "Sign a text with a secret key: its HMAC-SHA256 in hexadecimal."),
        ("hmac.compare_digest", hmac.compare_digest, "a: bytes, b: bytes", ("a", "a"), True, "Whether two texts are the same, in a time that tells nothing of where they differ."),
        ("hashlib.shake_128", lambda data, n: hashlib.shake_128(data).hexdigest(n), "data: bytes, length: 1..64", ("", 4), "7f9c2ba4", "Digest of any length by SHAKE-128, in hexadecimal."),
        ("hashlib.shake_256", lambda data, n: hashlib.shake_256(data).hexdigest(n), "data: bytes, length: 1..64", ("", 4), "46b9dd2b", "Digest of any length by SHAKE-256, in hexadecimal."),
        ("hashlib.pbkdf2_hmac", lambda password, salt, n: hashlib.pbkdf2_hmac("sha256", password, salt, n).hex(), "password: bytes, salt: bytes, rounds: 1..10000", ("password", "salt", 1), "120fb6cffcf8b32c43e7225256c4f837a86548c92ccc35480805987cb70be17b", "Derive a key from a password and a salt, slowly on purpose."),
        ("zlib.crc32", zlib.crc32, _B, ("hello",), 907060870, "CRC-32 checksum of a text."),
        ("zlib.adler32", zlib.adler32, _B, ("hello",), 103547413, "Adler-32 checksum of a text."),
        ("binascii.crc_hqx", lambda data: binascii.crc_hqx(data, 0), _B, ("123456789",), 12739, "CRC-16 checksum of a text, by CCITT."),
        ("uuid.uuid3", lambda name: uuid.uuid3(uuid.NAMESPACE_DNS, name), "name: word", ("python.org",), "6fa459ea-ee8a-3ca4-894e-db77e160355e", "The UUID of version 3 that belongs to a domain name."),
        ("uuid.uuid5", lambda name: uuid.uuid5(uuid.NAMESPACE_DNS, name), "name: word", ("python.org",), "886313e1-3b8a-5372-9b90-0c9aee199e5d", "The UUID of version 5 that belongs to a domain name."),
        ("uuid.version", lambda text: uuid.UUID(text).version, _W, ("886313e1-3b8a-5372-9b90-0c9aee199e5d",), 5, "Of which version a UUID is."),
        ("uuid.int", lambda text: str(uuid.UUID(text).int), _W, ("00000000-0000-0000-0000-0000000000ff",), "255", "A UUID as a whole number."),
        ("uuid.urn", lambda text: uuid.UUID(text).urn, _W, ("886313e13b8a53729b900c9aee199e5d",), "urn:uuid:886313e1-3b8a-5372-9b90-0c9aee199e5d", "A UUID as a URN."),
    ),
    *rows("encodings",
        ("base64.b64encode", base64.b64encode, _B, ("hello",), "aGVsbG8=", "Encode a text as Base64."),
        ("base64.b64decode", _read(base64.b64decode), _T, ("aGVsbG8=",), "hello", "Decode Base64 to the text it holds."),
        ("base64.urlsafe_b64encode", base64.urlsafe_b64encode, _B, ("a?>",), "YT8-", "Encode a text as Base64 that may stand in a URL."),
        ("base64.urlsafe_b64decode", _read(base64.urlsafe_b64decode), _T, ("YT8-",), "a?>", "Decode URL-safe Base64 to the text it holds."),
        ("base64.b32encode", base64.b32encode, _B, ("hello",), "NBSWY3DP", "Encode a text as Base32."),
        ("base64.b32decode", _read(base64.b32decode), _T, ("NBSWY3DP",), "hello", "Decode Base32 to the text it holds."),
        ("base64.b32hexencode", base64.b32hexencode, _B, ("hello",), "D1IMOR3F", "Encode a text as Base32 with the extended hex alphabet."),
        ("base64.b32hexdecode", _read(base64.b32hexdecode), _T, ("D1IMOR3F",), "hello", "Decode Base32 with the extended hex alphabet."),
        ("base64.b16encode", base64.b16encode, _B, ("hello",), "68656C6C6F", "Encode a text as Base16."),
        ("base64.b16decode", _read(base64.b16decode), _T, ("68656C6C6F",), "hello", "Decode Base16 to the text it holds."),
        ("base64.a85encode", base64.a85encode, _B, ("hello",), "BOu!rDZ", "Encode a text as Ascii85."),
        ("base64.a85decode", _read(base64.a85decode), _T, ("BOu!rDZ",), "hello", "Decode Ascii85 to the text it holds."),
        ("base64.b85encode", base64.b85encode, _B, ("hello",), "Xk~0{Zv", "Encode a text as Base85."),
        ("base64.b85decode", _read(base64.b85decode), _T, ("Xk~0{Zv",), "hello", "Decode Base85 to the text it holds."),
        ("binascii.hexlify", binascii.hexlify, _B, ("hi",), "6869", "The bytes of a text in hexadecimal."),
        ("binascii.unhexlify", _read(binascii.unhexlify), _T, ("6869",), "hi", "The text whose bytes are given in hexadecimal."),
        ("binascii.b2a_uu", lambda data: binascii.b2a_uu(data[:45]), _B, ("cat",), "#8V%T\n", "Encode a short text as a uuencoded line."),
        ("binascii.a2b_uu", _read(binascii.a2b_uu), _T, ("#8V%T",), "cat", "Decode a uuencoded line."),
        ("quopri.encodestring", quopri.encodestring, _B, ("é",), "=C3=A9", "Encode a text as quoted-printable, as e-mails do."),
        ("quopri.decodestring", _read(quopri.decodestring), _T, ("=C3=A9",), "é", "Decode a quoted-printable text."),
        ("zlib.decompress", lambda data: zlib.decompressobj().decompress(data, 10_000), "data: hex", ("789c4bcc0400012d00cb",), "ai", "Inflate compressed data, to ten thousand bytes at most."),
        ("zlib.compressed_size", lambda data: len(zlib.compress(data)), _B, ("",), 8, "How many bytes a text has once it is compressed."),
        ("codecs.rot13", lambda text: codecs.encode(text, "rot13"), _T, ("Hello",), "Uryyb", "The Caesar cipher that moves each letter by thirteen places, both ways."),
        ("codecs.punycode", lambda text: text.encode("punycode"), _W, ("bücher",), "bcher-kva", "Encode a word as Punycode."),
        ("codecs.idna", lambda text: text.encode("idna"), _W, ("bücher.de",), "xn--bcher-kva.de", "An international domain name in its ASCII form."),
        ("codecs.idna_decode", lambda text: text.encode().decode("idna"), _W, ("xn--bcher-kva.de",), "bücher.de", "An ASCII domain name that begins with xn-- as people write it."),
        ("codecs.unicode_escape", lambda text: text.encode("unicode_escape"), _T, ("é",), "\\xe9", "A text with its special characters as backslash escapes."),
        ("codecs.utf8_size", len, _B, ("é",), 2, "How many bytes a text has in UTF-8."),
        ("struct.pack_float", lambda x: struct.pack(">d", x).hex(), "x: number", (1,), "3ff0000000000000", "The eight bytes of a floating-point number by IEEE 754, in hexadecimal."),
        ("struct.unpack_float", lambda data: struct.unpack(">d", data)[0], "data: hex", ("3ff0000000000000",), 1.0, "The floating-point number whose eight bytes by IEEE 754 are given in hexadecimal."),
    ),
    *rows("colours",
        ("colorsys.rgb_to_hsv", colorsys.rgb_to_hsv, _RGB, (1, 0, 0), [0.0, 1.0, 1], "A colour from red, green, blue to hue, saturation, value; all from 0 to 1."),
        ("colorsys.hsv_to_rgb", colorsys.hsv_to_rgb, "h: number, s: number, v: number", (0, 1, 1), [1, 0.0, 0.0], "A colour from hue, saturation, value to red, green, blue; all from 0 to 1."),
        ("colorsys.rgb_to_hls", colorsys.rgb_to_hls, _RGB, (1, 0, 0), [0.0, 0.5, 1.0], "A colour from red, green, blue to hue, lightness, saturation; all from 0 to 1."),
        ("colorsys.hls_to_rgb", colorsys.hls_to_rgb, "h: number, l: number, s: number", (0, 0.5, 1), [1.0, 0.0, 0.0], "A colour from hue, lightness, saturation to red, green, blue; all from 0 to 1."),
        ("colorsys.rgb_to_yiq", colorsys.rgb_to_yiq, _RGB, (0, 0, 0), [0.0, 0.0, 0.0], "A colour from red, green, blue to the television system YIQ."),
        ("colorsys.yiq_to_rgb", colorsys.yiq_to_rgb, "y: number, i: number, q: number", (0, 0, 0), [0.0, 0.0, 0.0], "A colour from the television system YIQ to red, green, blue."),
        ("colorsys.hex_to_rgb", lambda code: list(bytes.fromhex(code.lstrip("#"))), "code: word", ("#ff8000",), [255, 128, 0], "Red, green and blue, from 0 to 255, of a web colour such as #ff8000."),
        ("colorsys.rgb_to_hex", lambda r, g, b: f"#{r:02x}{g:02x}{b:02x}", "r: 0..255, g: 0..255, b: 0..255", (255, 128, 0), "#ff8000", "The web colour of red, green and blue from 0 to 255."),
    ),
]
