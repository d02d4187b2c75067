"""Which file a path means: by what it is, and not by how it is written (PARA-02).

Links are followed; two names of one file meet by (device, inode). A file that isn't there yet is known by each of its
existing folders and the rest, and by its whole name, so that it is the same once somebody has made it. Names are
compared without case and in one form of Unicode: where a file system tells them apart, that only keeps two new files
waiting for each other; where it doesn't, they are the same file.

Where it can't be told, more is claimed and not less: a folder is claimed with all that is in it, a path that is nothing
is the workspace, what lies very deep is claimed by a folder above it, and a path longer than Linux takes is everything.

What can't be seen: that a file inside a tree has another name outside of it, before somebody claims it by that name.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from pathlib import Path

from callslip.core.claim import Claim, Kind, wanted

_LONGEST = 4095
"""Bytes of a path that Linux takes (``PATH_MAX``)."""
_DEEPEST = 64
"""Folders that are told apart."""
_PREFIX = "name "
_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))
"""Of variants of a character: with those of category Cf, what some file systems leave out when they compare names."""


class Resources:
    """Makes claims comparable. Paths are relative to ``root``, the workspace, or else to the current folder."""

    def __init__(self, root: Path | None) -> None:
        self._root = str((root if root is not None else Path()).resolve())
        self._folded = _folded(self._root).rstrip("/")
        self._above = _ancestors(self._root)

    def claim(self, text: str) -> Claim:
        """The claim with its resource known, as it is now."""
        known = wanted(text)
        if known.kind is Kind.NAMED or known.kind is Kind.SLOT:
            return Claim(text=_plain(text), kind=known.kind, shared=known.shared, ids=(_plain(known.name),))
        place = self._place(known.name)
        kind = Kind.TREE if place.folder else known.kind
        return Claim(text=_plain(text), kind=kind, shared=known.shared, ids=tuple(place.ids), above=tuple(place.above))

    def _place(self, name: str) -> _Place:
        name = _possible(name)
        if len(name) * 4 > _LONGEST and len(os.fsencode(name)) > _LONGEST:
            return _Place("/", "", ()).walk([])
        rest = [part for part in name.split("/") if part not in {"", "."}]
        if not name.startswith("/") and ".." not in rest:
            place = _Place(self._root, self._folded, self._above).walk(rest)
            if not place.linked:
                return place
        whole = os.path.realpath(f"{self._root}/{name}" if not name.startswith("/") else name)
        return _Place("/", "", ()).walk([part for part in whole.split("/") if part])


class _Place:
    """A path on its way from a folder without links, whose ``ids`` and those ``above`` it are gathered."""

    def __init__(self, base: str, folded: str, above: tuple[str, ...]) -> None:
        self.ids: list[str] = []
        self.above = list(above)
        self.folder = False
        """Whether it has to be claimed with all that is in it."""
        self.linked = False
        """Whether a link was met, so that it leads elsewhere."""
        self._path = base
        self._folded = folded

    def walk(self, rest: list[str]) -> _Place:
        """Go down the rest of the path, as far as it exists."""
        if len(rest) > _DEEPEST:
            self.folder, rest = True, rest[:_DEEPEST]
        seen = _look(self._path)
        existing: list[tuple[str, int]] = []
        for part in rest:
            self.above.append(_PREFIX + self._folded)
            if seen is not None:
                inode = _inode(seen)
                self.above.append(inode)
                existing.append((inode, len(self._folded)))
            self._path = f"{self._path}/{part}" if self._path != "/" else f"/{part}"
            self._folded = f"{self._folded}/{_folded(part)}"
            seen = None if seen is None else _look(self._path)
            if seen is not None and stat.S_ISLNK(seen.st_mode):
                self.linked = True
        self.ids.append(_PREFIX + self._folded)
        if seen is not None:
            self.ids.append(_inode(seen))
            self.folder = self.folder or stat.S_ISDIR(seen.st_mode)
        self.ids += [inode + self._folded[length:] for inode, length in existing]
        self.folder = self.folder or not rest
        return self


def _ancestors(path: str) -> tuple[str, ...]:
    """The names and inodes of the folders above this one."""
    known: list[str] = []
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        seen = _look(path)
        known.append(_PREFIX + _folded(path).rstrip("/"))
        known += [] if seen is None else [_inode(seen)]
    return tuple(known)


def _look(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _inode(seen: os.stat_result) -> str:
    return f"{seen.st_dev}:{seen.st_ino}"


def _folded(name: str) -> str:
    """The same for all names that some file system takes for one."""
    if name.isascii():
        return name.lower()
    known = unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())
    return _plain("".join(char for char in known if unicodedata.category(char) != "Cf" and char not in _SELECTORS))


def _possible(name: str) -> str:
    """The name without what no path can have in it."""
    name = name.replace("\0", "\N{REPLACEMENT CHARACTER}")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return name.encode("utf-8", "replace").decode()
    return name


def _plain(text: str) -> str:
    """The text as it can be written down: names of files need not be Unicode."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
