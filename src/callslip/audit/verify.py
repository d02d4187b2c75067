"""Verify the audit: its own chain, the heads that were kept elsewhere, and every entry against the log.

It only reads, and goes on after a fault. What it can prove: that an entry was changed, taken out or put in, where a
kept head covers it; and anywhere, that an entry is not what the log says. What it can't: that somebody who can write
both the log and the audit has rewritten both after the last anchor. So it says how many entries stand after that.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from callslip.audit import lines
from callslip.audit.against_log import AgainstLog
from callslip.audit.book import FILE, INDEX
from callslip.audit.dress import Cleaner
from callslip.audit.entry import GENESIS, read
from callslip.audit.kept import Kept
from callslip.audit.records import StoredLog
from callslip.audit.report import Report
from callslip.audit.story import Story
from callslip.errors import LogBroken
from callslip.ports.blobs import Blobs

Progress = Callable[[int, int], None]
"""Told how many of how many sessions are compared."""


async def verify(
    log: StoredLog,
    blobs: Blobs,
    folder: Path,
    cleaner: Cleaner,
    *,
    anchors: Sequence[Kept],
    progress: Progress | None = None,
) -> Report:
    """Check the book in ``folder``."""
    index = _Index(folder / INDEX)
    check = AgainstLog(log, blobs, folder / FILE, cleaner, told=index.told)
    try:
        _chain(folder / FILE, check, anchors, index)
        sessions = {head.session for head in await log.heads()}
        for number, session in enumerate(sorted(sessions | check.places.keys()), 1):
            await check.session(session, known=session in sessions)
            if progress is not None:
                progress(number, len(sessions))
    finally:
        index.close()
        check.close()
    report = check.report
    report.sessions = len(sessions)
    report.problems.sort(key=lambda problem: problem.n or report.entries + 1)
    return report


def _chain(path: Path, check: AgainstLog, anchors: Sequence[Kept], index: _Index) -> None:
    """Every line: its place, its link to the one before, its detail."""
    report = check.report
    wanted = {one.anchor.count for one in anchors if one.anchor is not None} | {index.count}
    digests = {0: GENESIS}
    n, previous = 0, GENESIS
    for offset, text, whole in lines.lines(path):
        if not whole:
            report.notices.append("The last line is half written; the next catch-up cuts it off and writes it again.")
            break
        n += 1
        try:
            one = read(text)
        except LogBroken:
            report.found("chain", f"entry {n} can't be read", n=n)
            previous = b""
            continue
        if one.line.n != n:
            what = f"entries {n} to {one.line.n - 1} are missing" if one.line.n > n + 1 else f"entry {n} is missing"
            report.found("cut", what if one.line.n > n else f"entry {one.line.n} stands where {n} should be", n=n)
            n, previous = one.line.n, b""
        if previous and one.line.prev != previous.hex():
            report.found("chain", f"entry {n - 1} is not what was written: entry {n} does not follow it", n=n - 1)
        if one.detail_altered:
            report.found("altered", f"the detail of entry {n} is not what was written", n=n)
        check.note(one.line.entry, offset)
        previous = one.digest
        if n in wanted:
            digests[n] = previous
    report.entries, report.digest = n, previous.hex()
    _compare_kept(report, digests, anchors, index)


def _compare_kept(report: Report, digests: dict[int, bytes], anchors: Sequence[Kept], index: _Index) -> None:
    """What the index, and whoever keeps anchors, knows of the book."""
    there = f"and {report.entries} are there"
    if index.count > report.entries:
        report.found("cut", f"the book was cut: the index beside it knows {index.count} entries, {there}")
    elif digests.get(index.count) != index.digest:
        report.found("chain", f"entry {index.count} is not the one that the index beside it knows", n=index.count)
    for one in anchors:
        where, anchor = one.where, one.anchor
        if anchor is None:
            report.found("anchor", f"{where} {one.fault}")
        elif anchor.count > report.entries:
            report.found("cut", f"the book was cut: {where} has the head of {anchor.count} entries, {there}")
        elif digests.get(anchor.count, b"").hex() != anchor.digest:
            what = f"the first {anchor.count} entries are not those whose head is kept in {where}"
            report.found("anchor", what, n=anchor.count)
        elif one.proves:
            report.anchors += 1
            if anchor.count >= report.anchored:
                report.anchored, report.anchored_at = anchor.count, anchor.at


class _Index:
    """The index beside the book, where it can be read: a cache proves nothing, but whoever forgets it is found out."""

    def __init__(self, path: Path) -> None:
        self.count, self.digest = 0, GENESIS
        self._connection: sqlite3.Connection | None = None
        with contextlib.suppress(sqlite3.Error):
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            self._connection = connection
            self.count, self.digest = connection.execute("select count, digest from tip").fetchone()

    def told(self, session: str) -> int:
        """Up to which record the session has been told."""
        if self._connection is None:
            return 0
        with contextlib.suppress(sqlite3.Error, msgspec.DecodeError):
            row = self._connection.execute("select seq, story from sessions where session = ?", (session,)).fetchone()
            if row is not None:
                return max(int(row[0]), msgspec.json.decode(row[1], type=Story).seq if row[1] else 0)
        return 0

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
