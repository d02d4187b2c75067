"""Replaces or creates a file in one step: a reader sees the old content or the new, never a part (SAND-06).

A temporary file beside the target takes the bytes, is forced to disk, and then takes the target's name; the
directory is forced to disk after. What remains open: a foreign editor that saves in the microseconds between the
last look at the file and the rename is overwritten; our own tools are kept apart by their claims. After a crash a
``.callslip-*.tmp`` file may be left beside the target.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable

from callslip.errors import ToolFailed
from callslip.workspace.opened import Opened
from callslip.workspace.os_fault import os_fault
from callslip.workspace.path_argument import shown
from callslip.workspace.place import Place, changed_meanwhile

_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def put(place: Place, data: bytes, *, before: str, path: str, stop: Callable[[], None]) -> None:
    """Make ``data`` the content of the place, if that is still what ``before`` (a digest) says.

    An existing file keeps its permission bits, a new one gets the process's default. ``stop`` is called before the
    last step and may raise. ``path`` is for messages.

    Raises:
        ToolFailed: effect none for everything before the rename; ``not_durable`` with effect done after it.
    """
    assert place.parent is not None
    parent = place.parent
    name = f".callslip-{secrets.token_hex(8)}.tmp"
    try:
        identity = _write_beside(parent, name, data, place.current)
        stop()
        if place.lies_there() != (place.current.identity if place.current else None) or place.digest() != before:
            raise changed_meanwhile(path)
        _publish(place, name, identity, path)
    except OSError as error:
        raise os_fault(error, path) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=parent.descriptor)
    try:
        os.fsync(parent.descriptor)
    except OSError as error:
        raise ToolFailed(
            f"{shown(path)} was written and can be read, but the disk would not confirm it"
            f" ({os.strerror(error.errno or 0)}), so a power cut may still undo it. Don't write it again; tell the"
            " user.",
            code="not_durable",
            effect="done",
        ) from error


def _write_beside(parent: Opened, name: str, data: bytes, current: Opened | None) -> tuple[int, int]:
    """Write and force to disk a new file; its device and inode."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o666 if current is None else 0o600, dir_fd=parent.descriptor)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if current is not None:
            _keep_owner_and_mode(descriptor, current.status)
        os.fsync(descriptor)
        status = os.fstat(descriptor)
        return (status.st_dev, status.st_ino)
    finally:
        os.close(descriptor)


def _keep_owner_and_mode(descriptor: int, status: os.stat_result) -> None:
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        # Only root can give a file back to its owner; for anybody else it becomes the writer's.
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
    # Never set-user-id bits: they were granted to the old content.
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & 0o777)


def _publish(place: Place, name: str, identity: tuple[int, int], path: str) -> None:
    assert place.parent is not None
    directory = place.parent.descriptor
    try:
        if place.current is None:
            _link_new(directory, name, place.name)
        else:
            os.rename(name, place.name, src_dir_fd=directory, dst_dir_fd=directory)
    except FileExistsError:
        raise changed_meanwhile(path) from None
    except OSError:
        # A network file system may lose the reply to a step that took place: look before calling it a failure.
        if place.lies_there() != identity:
            raise


def _link_new(directory: int, name: str, target: str) -> None:
    """Give the file its name unless somebody has taken that name by now. Raises ``FileExistsError``."""
    try:
        # A link, unlike a rename, refuses to replace what is there.
        os.link(name, target, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        os.rename(name, target, src_dir_fd=directory, dst_dir_fd=directory)
