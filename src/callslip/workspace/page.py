"""Some lines of a file of any size, read in pieces and never held whole."""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from callslip.errors import ToolFailed
from callslip.workspace.content import CHUNK_BYTES
from callslip.workspace.opened import Opened
from callslip.workspace.path_argument import shown

PAGE_BYTES = 256 * 1024
"""The most text one call gives."""
SCAN_BYTES = 1024 * 1024 * 1024
"""How far a file is read to count its lines and to take its digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Consecutive lines of a file."""

    data: bytes
    lines: int
    """How many lines ``data`` holds, a cut one included."""
    line_cut: bool
    """The only line is longer than a page, and its end is left out."""
    lines_total: int | None
    """``None`` if the file was too long to be read to its end."""
    sha256: str | None
    """Of the whole file; ``None`` as above."""


def read_page(opened: Opened, offset: int, limit: int, path: str, check: Callable[[], None]) -> Page:
    """Skip ``offset`` lines, then give at most ``limit`` lines and :data:`PAGE_BYTES` bytes, whole lines if it can.

    ``check`` is called between the pieces and may raise.

    Raises:
        OSError: the file can't be read.
        ToolFailed: ``no_such_line``. Effect none.
    """
    running, found = hashlib.sha256(), bytearray()
    newlines = seen = 0
    last = b"\n"
    while piece := os.read(opened.descriptor, CHUNK_BYTES):
        check()
        running.update(piece)
        inside = piece.count(b"\n")
        if newlines + inside >= offset and len(found) <= PAGE_BYTES:
            found += piece[_after(piece, offset - newlines) :][: PAGE_BYTES + 1 - len(found)]
        newlines, seen, last = newlines + inside, seen + len(piece), piece[-1:]
        if seen >= SCAN_BYTES and (len(found) > PAGE_BYTES or newlines < offset):
            break
    whole = seen < SCAN_BYTES or not os.read(opened.descriptor, 1)
    total = newlines + (last != b"\n")
    if not found and offset:
        raise ToolFailed(
            f"{shown(path)} has no line {offset + 1:,}: "
            + (f"it has {total:,} lines." if whole else f"it is read no further than line {total:,}.")
            + " Nothing was changed. Use a smaller offset.",
            code="no_such_line",
        )
    data, lines, line_cut = _cut(bytes(found), limit)
    return Page(
        data=data,
        lines=lines,
        line_cut=line_cut,
        lines_total=total if whole else None,
        sha256=running.hexdigest() if whole else None,
    )


def _after(piece: bytes, newlines: int) -> int:
    """Where the rest begins after so many line ends; 0 if the wanted lines began in an earlier piece."""
    position = 0
    for _ in range(newlines):
        position = piece.index(b"\n", position) + 1
    return position


def _cut(found: bytes, limit: int) -> tuple[bytes, int, bool]:
    lines = found.split(b"\n", limit)[:limit]
    kept = b"\n".join(lines)
    if len(kept) < len(found):
        kept += b"\n"
    if len(kept) <= PAGE_BYTES:
        return kept, kept.count(b"\n") + (kept[-1:] not in (b"", b"\n")), False
    end = kept.rfind(b"\n", 0, PAGE_BYTES) + 1
    if end:
        return kept[:end], kept.count(b"\n", 0, end), False
    # One line longer than a page. Its last character may be cut in two: leave the incomplete part out.
    head = kept[:PAGE_BYTES]
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    decoder.decode(head)
    pending = decoder.getstate()[0]
    return head[: len(head) - len(pending)], 1, True
