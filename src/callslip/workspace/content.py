"""What a file holds, read from an open descriptor: its digest, its bytes within a bound, its text."""

from __future__ import annotations

import codecs
import hashlib
import os
from dataclasses import dataclass

from callslip.errors import ToolFailed
from callslip.workspace.opened import Opened
from callslip.workspace.path_argument import shown

ABSENT = "absent"
"""Stands for the digest of a file that isn't there."""
CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeText:
    """A text file in memory, with what must be kept when it is written back."""

    text: str
    """Without the byte order mark; line ends as they are in the file."""
    has_mark: bool
    """Whether the file begins with UTF-8's byte order mark."""

    def encode(self) -> bytes:
        """The file's bytes."""
        return (codecs.BOM_UTF8 if self.has_mark else b"") + self.text.encode()


def digest_bytes(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def digest_file(opened: Opened) -> str:
    """SHA-256 in hex of the whole file, read in pieces. Moves the descriptor's position. Raises ``OSError``."""
    os.lseek(opened.descriptor, 0, os.SEEK_SET)
    running = hashlib.sha256()
    while piece := os.read(opened.descriptor, CHUNK_BYTES):
        running.update(piece)
    return running.hexdigest()


def read_whole(opened: Opened, limit: int, path: str) -> bytes:
    """All bytes of the file, if they are at most ``limit``. Raises ``OSError``.

    Raises:
        ToolFailed: ``too_large``. Effect none.
    """
    os.lseek(opened.descriptor, 0, os.SEEK_SET)
    # Not its size as it was: it may have grown since, and we keep to the bound whatever happens to it.
    pieces: list[bytes] = []
    left = limit + 1
    while left > 0 and (piece := os.read(opened.descriptor, min(left, CHUNK_BYTES))):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise ToolFailed(
            f"{shown(path)} is larger than {limit:,} bytes, too large for this tool. Nothing was changed."
            " read_file reads it in pages and search_text finds lines in smaller files.",
            code="too_large",
        )
    return b"".join(pieces)


def decode_whole(data: bytes, path: str) -> WholeText:
    """The text of a UTF-8 file; nothing is replaced, so that it can be written back unharmed.

    Raises:
        ToolFailed: ``not_text``. Effect none.
    """
    has_mark = data.startswith(codecs.BOM_UTF8)
    body = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in body:
        raise ToolFailed(
            f"{shown(path)} holds NUL bytes, so it is binary or UTF-16, and can't be edited as text. Nothing was"
            " changed.",
            code="not_text",
        )
    try:
        return WholeText(text=body.decode(), has_mark=has_mark)
    except UnicodeDecodeError as error:
        raise ToolFailed(
            f"{shown(path)} is not UTF-8 (first at byte {error.start:,}), and editing it as text would damage it."
            " Nothing was changed. Ask the user to convert it.",
            code="not_text",
        ) from error


def encode_text(text: str, what: str) -> bytes:
    """UTF-8 bytes of what the model gave.

    Raises:
        ToolFailed: ``bad_text``: half a surrogate pair in it. Effect none.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolFailed(
            f"{what} holds half a surrogate pair at character {error.start:,}, which UTF-8 can't hold. Nothing was"
            " changed. Write the character itself.",
            code="bad_text",
        ) from error
