"""Canonical JSON text: the one spelling of a value that is hashed and stored.

RFC 8785 (JSON Canonicalization Scheme) with one difference, argued in docs/adr/0002: integers keep all their
digits, and floats of magnitude 2^53 and above keep an exponent, so that reading the text gives back the same
integer or float. Keys are sorted by UTF-16 code units; arrays are never sorted; no key is ever dropped.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

MAX_INTEGER_DIGITS = 1000
_MAX_INTEGER: int = 10**MAX_INTEGER_DIGITS
_EXACT_FLOAT = 2.0**53
_FLOAT_LIKE = re.compile(r"[0-9](?:\.[0-9]|e[-+]?[0-9])")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_fast = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_quote = json.encoder.encode_basestring


def canonical(value: Any) -> bytes:
    """UTF-8 canonical text of a JSON value (None, bool, int, float, str, list, dict with str keys).

    Raises:
        ValueError: NaN, an infinity, an integer of more than 1,000 digits, or a lone surrogate.
        TypeError: a value that has no JSON form (``core/plain`` gives one to anything).
    """
    try:
        text = _fast(value)
    except RecursionError:
        raise ValueError("nested too deeply to be written as JSON") from None
    # The C encoder spells floats Python's way and sorts keys by code point; both matter only when a float or a
    # character beyond U+FFFF is there. A digit, point, digit inside a string just takes the slower path.
    if _FLOAT_LIKE.search(text) or (not text.isascii() and _ASTRAL.search(text)):
        text = _slow(value)
    return text.encode()


def _slow(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_quote(key)}:{_slow(value[key])}" for key in keys) + "}"
    return "[" + ",".join(map(_slow, value)) + "]"


def number(value: float) -> str:
    """A finite float in ECMAScript's shortest form, keeping an exponent from 2^53 on."""
    if not math.isfinite(value):
        raise ValueError("NaN and infinities have no JSON form")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0") if fraction or exponent or len(digits) > 1 else digits
    digits = digits or "0"
    if abs(value) >= _EXACT_FLOAT or point <= -6:
        head = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{head}e{point - 1:+d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return sign + digits + "0" * (point - len(digits))
    return f"{sign}{digits[:point]}.{digits[point:]}"


def digest(text: bytes) -> str:
    """Lower-case hex SHA-256 of the text."""
    return hashlib.sha256(text).hexdigest()


def parse(text: bytes | str) -> Any:
    """Read canonical text back: exact integers, floats as floats."""
    return msgspec.json.decode(text)


def scrub(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD, so that it can be written as UTF-8."""
    return _SURROGATE.sub("�", text) if not text.isascii() else text


def has_surrogate(text: str) -> bool:
    return not text.isascii() and _SURROGATE.search(text) is not None


def integer_fits(value: int) -> bool:
    """Whether an integer has at most 1,000 digits; a longer one is written as tagged text."""
    return abs(value) < _MAX_INTEGER
