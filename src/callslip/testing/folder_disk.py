"""A folder that can lose its power: a name that was not synced is gone, whatever its file holds.

Implements the ``Disk`` of ``callslip.blobs.files``. Files and names go to the real file system; what a power cut would
leave of them is kept beside. ::

    disk = FolderDisk()
    blobs = FileBlobs(folder, disk=disk)
    …
    disk.power_cut(folder, elsewhere)
    FileBlobs(elsewhere)
"""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

from callslip.blobs.files import RealDisk


class FolderDisk:
    """One disk, for one process.

    Attributes:
        room: bytes that may still be written; ``None`` for no limit.
        before: called with ``write``, ``rename`` or ``sync`` before each such operation.
    """

    def __init__(self) -> None:
        self.room: int | None = None
        self.before: Callable[[str], None] | None = None
        self._real = RealDisk()
        self._content: dict[Path, bytes] = {}
        """Files whose bytes are durable, under the names they have now."""
        self._synced: dict[Path, set[str]] = {}
        """The names in each folder when it was last synced."""
        self._lock = threading.RLock()

    def write(self, path: Path, data: bytes) -> None:
        with self._lock:
            self._say("write")
            if self.room is not None:
                if len(data) > self.room:
                    path.write_bytes(data[: self.room])
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                self.room -= len(data)
            self._real.write(path, data)
            self._content[path] = data

    def rename(self, old: Path, new: Path) -> None:
        with self._lock:
            self._say("rename")
            self._real.rename(old, new)
            self._content[new] = self._content.pop(old)

    def discard(self, path: Path) -> None:
        self._real.discard(path)

    def sync_folder(self, folder: Path) -> None:
        with self._lock:
            self._say("sync")
            self._real.sync_folder(folder)
            self._synced[folder] = {entry.name for entry in folder.iterdir()}

    def read(self, path: Path) -> bytes:
        return self._real.read(path)

    def power_cut(self, folder: Path, into: Path, *, seed: int | None = None) -> None:
        """Write what a power cut now would leave of ``folder`` into ``into``, an existing folder.

        ``seed`` lets a random part of the unsynced names survive nevertheless; without it none do.
        """
        dice = None if seed is None else random.Random(seed)  # noqa: S311 - reproducible, not secret
        with self._lock:
            for path, data in self._content.items():
                names = [path, *(parent for parent in path.parents if parent.is_relative_to(folder))]
                if all(name == folder or self._stays(name, dice) for name in names):
                    target = into / path.relative_to(folder)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data)

    def _stays(self, path: Path, dice: random.Random | None) -> bool:
        synced = path.name in self._synced.get(path.parent, ())
        return synced or (dice is not None and dice.random() < 0.5)

    def _say(self, what: str) -> None:
        if self.before is not None:
            self.before(what)
