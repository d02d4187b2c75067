"""Whose turn it is to tell: one process of those that share a state folder, for as long as it lives."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

FILE = "notify.lock"


class Turn:
    """A file lock, which the kernel takes back when its holder ends. Without a folder, there is nobody else."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / FILE if folder is not None else None
        self._fd: int | None = None

    def take(self) -> bool:
        """Whether it is this process's turn now. Once taken, it is kept until :meth:`give_back`.

        Raises:
            OSError: the file can't be made or locked.
        """
        if self._path is None or self._fd is not None:
            return True
        fd = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except OSError:
            os.close(fd)
            raise
        self._fd = fd
        return True

    def give_back(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None
