"""Whether the book can be gone on with: its end, looked at without making or changing anything."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from callslip.audit import lines
from callslip.audit.entry import read
from callslip.audit.index import Tip
from callslip.errors import LogBroken


def known(index: sqlite3.Connection) -> Tip:
    """What the index beside the book knows of its end.

    Raises:
        sqlite3.Error: it is damaged or of another version, and will be made again.
    """
    count, digest, size = index.execute("select count, digest, size from tip").fetchone()
    return Tip(count=count, digest=digest, size=size)


def end_of(path: Path, tip: Tip) -> Tip:
    """Where the book ends, if its end is what ``tip`` knows and whatever follows fits. What is further back is not
    looked at.

    Raises:
        LogBroken: it was altered there. OSError: it can't be read.
    """
    missing = tip.size - path.stat().st_size
    if missing > 0:
        raise LogBroken(f"{path} was cut: {missing:,} bytes of it are gone.")
    there = lines.last(path, tip.size) if tip.count else None
    if tip.count and (there is None or there.line.n != tip.count or there.digest != tip.digest):
        raise LogBroken(f"{path} was altered: entry {tip.count} is not the one written there.")
    for offset, text, whole in lines.lines(path, tip.size):
        if not whole:  # being written now, or torn: whoever writes next sees to it
            break
        one = read(text)
        if one.line.n != tip.count + 1 or one.line.prev != tip.digest.hex() or one.detail_altered:
            raise LogBroken(f"{path} was altered: what follows entry {tip.count} does not fit it.")
        tip = Tip(count=one.line.n, digest=one.digest, size=offset + len(text) + 1)
    return tip
