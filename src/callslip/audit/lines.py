"""The lines of the book's file: forwards from a place, backwards from its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from callslip.audit.entry import Read, read
from callslip.errors import LogBroken

_PIECE = 1 << 20
_BACK = 1 << 13


class Text(NamedTuple):
    """A line's bytes without its end, and where they begin. The last line of a file may not be whole."""

    offset: int
    text: bytes
    whole: bool


def lines(path: Path, start: int = 0) -> Iterator[Text]:
    """Every line from that place on; none where there is no file."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        file.seek(start)
        offset, held = start, b""
        while piece := file.read(_PIECE):
            *whole, held = (held + piece).split(b"\n")
            for text in whole:
                yield Text(offset, text, whole=True)
                offset += len(text) + 1
        if held:
            yield Text(offset, held, whole=False)


def backwards(path: Path, end: int | None = None) -> Iterator[bytes]:
    """Whole lines that end before that place, the last one first; without an ``end``, of the whole file."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        at = file.seek(0, 2) if end is None else end
        held, first = b"", True
        while at > 0:
            size = min(_BACK, at)
            at -= size
            file.seek(at)
            held, *whole = (file.read(size) + held).split(b"\n")
            if first and whole:
                whole, first = whole[:-1], False  # what stands after the last end of a line is no line
            elif first:
                continue
            yield from reversed(whole)
        if not first and held:
            yield held


def last(path: Path, end: int | None = None) -> Read | None:
    """The last line before that place; ``None`` when there is none.

    Raises:
        LogBroken: it can't be read.
    """
    text = next(backwards(path, end), None)
    return None if text is None else read(text)


def readable(path: Path, start: int = 0) -> Iterator[Read]:
    """Every line that can be read, in order."""
    for _, text, whole in lines(path, start):
        if whole:
            try:
                yield read(text)
            except LogBroken:
                continue
