"""Goes through a directory and everything beneath it, in order, never through a link."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from callslip.errors import ToolFailed
from callslip.workspace.access import Workspace
from callslip.workspace.opened import Opened

Kind = Literal["file", "directory", "link", "other"]

MAX_VISITED = 100_000
"""Entries one walk looks at, so that a huge tree costs bounded time and memory."""
_CLOSED = ".git"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One name in a directory."""

    path: str
    """Relative to the root."""
    kind: Kind
    size: int
    """Bytes; 0 for anything but a file."""


class Walk:
    """One pass, depth first, each directory's names sorted. Iterate once.

    Attributes:
        skipped: how many entries were left out, by reason: ``forbidden``, ``unreadable``, ``name_not_utf8``.
        cut: whether it ended at :data:`MAX_VISITED` entries.
    """

    def __init__(self, workspace: Workspace, start: Opened) -> None:
        self.skipped: Counter[str] = Counter()
        self.cut = False
        self._workspace = workspace
        self._start = start
        self._visited = 0

    def __iter__(self) -> Iterator[Entry]:
        pending = self._entries(self._start)
        while pending:
            entry = pending.pop()
            yield entry
            # What git keeps in its folder is never what somebody looks for.
            if entry.kind != "directory" or entry.path.rpartition("/")[2] == _CLOSED:
                continue
            try:
                with self._workspace.directory(entry.path, symlinks=False) as opened:
                    pending += self._entries(opened)
            except ToolFailed:
                # It was removed, closed or swapped for a link since its parent was read.
                self.skipped["unreadable"] += 1

    def _entries(self, directory: Opened) -> list[Entry]:
        """The directory's entries, last name first."""
        found: list[Entry] = []
        prefix = "" if directory.path == "." else directory.path + "/"
        try:
            with os.scandir(directory.descriptor) as names:
                for item in names:
                    if self._visited >= MAX_VISITED:
                        self.cut = True
                        break
                    self._visited += 1
                    if (entry := self._entry(prefix, item)) is not None:
                        found.append(entry)
        except OSError:
            self.skipped["unreadable"] += 1
        return sorted(found, key=lambda entry: entry.path, reverse=True)

    def _entry(self, prefix: str, item: os.DirEntry[str]) -> Entry | None:
        path = prefix + item.name
        if not _is_utf8(item.name):
            self.skipped["name_not_utf8"] += 1
            return None
        if self._workspace.forbidden.find(path, "read") is not None:
            self.skipped["forbidden"] += 1
            return None
        try:
            status = item.stat(follow_symlinks=False)
        except OSError:
            self.skipped["unreadable"] += 1
            return None
        kind = _kind(status.st_mode)
        return Entry(path=path, kind=kind, size=status.st_size if kind == "file" else 0)


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
