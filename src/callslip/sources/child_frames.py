"""What a tool's process and its runtime say to each other: JSON with, now and then, bytes beside it. Never pickle: what
comes out of the process of a tool is material to judge.

A frame is two lengths (4 bytes each, big-endian), the JSON text and the bytes.
"""

from __future__ import annotations

import json
import struct
from typing import Any

LARGEST = 64 << 20
"""Bytes of one frame that a tool's process may send."""
LENGTHS = struct.Struct(">II")


class BadFrame(Exception):
    """What came is no frame, or too large a one."""


def encode(message: dict[str, Any], data: bytes = b"") -> bytes:
    """One frame."""
    text = json.dumps(message, separators=(",", ":")).encode()
    return LENGTHS.pack(len(text), len(data)) + text + data


def lengths(head: bytes) -> tuple[int, int]:
    """The lengths of the text and of the bytes that follow the head of a frame.

    Raises:
        BadFrame: it is too large.
    """
    text, data = LENGTHS.unpack(head)
    if text + data > LARGEST:
        raise BadFrame(f"a frame of {text + data:,} bytes")
    return text, data


def decode(text: bytes) -> dict[str, Any]:
    """The JSON object of a frame.

    Raises:
        BadFrame: it is none.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadFrame("a frame that is no JSON") from error
    if not isinstance(message, dict):
        raise BadFrame("a frame that is no object")
    return message
