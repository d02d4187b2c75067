"""An open file or directory of the workspace."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self


class Opened:
    """A descriptor, where it really leads, and what it was when it was opened. Closed on leaving ``with``.

    Attributes:
        descriptor: the open descriptor.
        path: where it lies, relative to the root, with every link resolved; ``.`` is the root itself.
        status: its ``fstat`` from the moment it was opened.
    """

    __slots__ = ("descriptor", "path", "status")

    def __init__(self, descriptor: int, path: str, status: os.stat_result) -> None:
        self.descriptor = descriptor
        self.path = path
        self.status = status

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode."""
        return (self.status.st_dev, self.status.st_ino)

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
