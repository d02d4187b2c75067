"""The directory that tools may touch, held open: every path is resolved beneath it by the kernel (GATE-03).

It knows nothing of which paths are forbidden (:mod:`callslip.workspace.forbidden`) nor of what a file holds.
Invariant: what :meth:`Root.open_file` gives is a regular file beneath the root, race-free; where the kernel can't
promise that, nothing is opened at all, and there is no weaker way to fall back to.
"""

from __future__ import annotations

import errno
import os
import stat
import weakref
from pathlib import Path

from callslip.errors import ToolFailed, WorkspaceError
from callslip.workspace.openat2 import open_beneath
from callslip.workspace.opened import Opened
from callslip.workspace.os_fault import os_fault
from callslip.workspace.path_argument import check_path, shown

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a link",
}


class Root:
    """One workspace directory, opened once; it stays the same directory even if its path is moved or replaced.

    Raises:
        WorkspaceError: the directory can't be opened, or this system has no ``openat2`` or no ``/proc``.
    """

    def __init__(self, path: Path | str) -> None:
        try:
            self._descriptor = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise WorkspaceError(
                f"The workspace directory can't be opened: {os.strerror(error.errno or 0)}. Nothing was touched."
                " Give an existing directory that this process may enter."
            ) from error
        self._finalizer = weakref.finalize(self, os.close, self._descriptor)
        status = os.fstat(self._descriptor)
        self.identity = (status.st_dev, status.st_ino)
        self._refuse_unsafe_system()

    def close(self) -> None:
        """Let the directory go; nothing can be opened beneath it any more."""
        self._finalizer()

    def host_path(self) -> Path:
        """Where the root lies on this machine now. For comparing with other places; never for the model."""
        return Path(f"/proc/self/fd/{self._live()}").readlink()

    def open_raw(self, relative: str, flags: int, *, symlinks: bool = True) -> int:
        """A bare descriptor beneath the root, of whatever kind. Raises :class:`OSError`."""
        return open_beneath(self._live(), relative, flags, symlinks=symlinks)

    def open_file(self, relative: str, flags: int = os.O_RDONLY, *, symlinks: bool = True) -> Opened:
        """Open an existing regular file. Nothing else is ever opened, so that no pipe is woken, no device started.

        Raises:
            ToolFailed: it isn't there, isn't a regular file, leads out, or may not be opened. Effect none.
        """
        check_path(self.advise(relative))
        try:
            pin = self.open_raw(relative, os.O_PATH, symlinks=symlinks)
            try:
                # An O_PATH descriptor touches nothing but holds the inode, so that what is looked at here is
                # what is opened below.
                _refuse_irregular(os.fstat(pin), relative)
                descriptor = os.open(f"/proc/self/fd/{pin}", flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
            finally:
                os.close(pin)
        except OSError as error:
            raise os_fault(error, relative) from error
        return self._opened(descriptor, relative)

    def open_directory(self, relative: str, *, symlinks: bool = True) -> Opened:
        """Open an existing directory for listing and as the parent of a write.

        Raises:
            ToolFailed: it isn't there, isn't a directory, leads out, or may not be opened. Effect none.
        """
        check_path(self.advise(relative))
        try:
            descriptor = self.open_raw(relative, os.O_RDONLY | os.O_DIRECTORY, symlinks=symlinks)
        except OSError as error:
            raise os_fault(error, relative) from error
        return self._opened(descriptor, relative)

    def location(self, descriptor: int) -> str:
        """Where an open file or directory really lies, relative to the root, every link resolved.

        Raises:
            OSError: ``EXDEV``: it lies outside the root by now.
        """
        here = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        base = str(self.host_path())
        if here == base:
            return "."
        prefix = base.rstrip("/") + "/"
        if not here.startswith(prefix):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return here.removeprefix(prefix)

    def advise(self, path: str) -> str:
        """Give the path back; an absolute one that points into the root is refused with the relative one named."""
        base = str(self.host_path()).rstrip("/") + "/"
        inside = os.path.normpath(path).removeprefix(base) if path.startswith("/") and "\0" not in path else path
        if not inside.startswith("/") and inside != path:
            raise ToolFailed(
                f"The path is absolute. Nothing was touched. Inside the workspace it is called {shown(inside)}.",
                code="bad_path",
            )
        return path

    def _opened(self, descriptor: int, relative: str) -> Opened:
        try:
            status = os.fstat(descriptor)
            if status.st_nlink == 0:
                # Its path would read "name (deleted)"; it was removed while we opened it.
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
            return Opened(descriptor, self.location(descriptor), status)
        except OSError as error:
            os.close(descriptor)
            raise os_fault(error, relative) from error

    def _live(self) -> int:
        if not self._finalizer.alive:
            raise WorkspaceError("The workspace was closed. Nothing was touched. Open it again.")
        return self._descriptor

    def _refuse_unsafe_system(self) -> None:
        try:
            os.close(open_beneath(self._descriptor, ".", os.O_PATH))
            self.host_path()
        except OSError as error:
            self.close()
            raise WorkspaceError(
                "This system can't open a path beneath a directory without a race"
                f" ({os.strerror(error.errno or 0)}). Nothing was opened, and there is no weaker way."
                " Use Linux 5.6 or newer with /proc mounted, and a container profile that allows openat2."
            ) from error


def _refuse_irregular(status: os.stat_result, path: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
    raise ToolFailed(
        f"{shown(path)} is {kind}, and only regular files can be opened. Nothing was touched."
        + (" list_files shows what is in it." if stat.S_ISDIR(status.st_mode) else ""),
        code="not_a_file",
    )
