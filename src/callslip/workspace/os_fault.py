"""From an errno to a sentence that a model can act on."""

from __future__ import annotations

import errno
import os

from callslip.errors import ToolFailed
from callslip.workspace.path_argument import shown

_MEANINGS: dict[int, tuple[str, str, str]] = {
    errno.ENOENT: ("not_found", "doesn't exist", "list_files shows what there is."),
    errno.EXDEV: (
        "outside_root",
        "leads out of the workspace, through '..' or a link",
        "Only paths inside the workspace can be used.",
    ),
    errno.ELOOP: ("link_refused", "goes through a link that may not be followed", "Use the real file's path."),
    errno.ENOTDIR: (
        "not_a_directory",
        "is no directory, or has a part that is none",
        "list_files shows what there is.",
    ),
    errno.EISDIR: ("not_a_file", "is a directory", "list_files shows what is in it."),
    errno.EACCES: ("not_permitted", "is closed to this process by its permissions", "Ask the user to open it."),
    errno.EPERM: ("not_permitted", "is closed to this process by the system", "Ask the user to open it."),
    errno.ENAMETOOLONG: ("bad_path", "is too long", "Use a shorter path."),
    errno.ENOSPC: ("no_space", "can't be written: the disk is full", "Ask the user to free space, then retry."),
    errno.EDQUOT: ("no_space", "can't be written: the disk quota is used up", "Ask the user to free space."),
    errno.EROFS: ("read_only", "lies on a read-only file system", "Ask the user where it may be written."),
    errno.EFBIG: ("too_large", "would grow larger than the system allows", "Write less, or several files."),
}
_PASSING = {errno.EAGAIN, errno.EINTR, errno.EMFILE, errno.ENFILE, errno.EBUSY}


def os_fault(error: OSError, path: str) -> ToolFailed:
    """The same failure as :class:`ToolFailed` with effect none. ``path`` is relative to the root, for the message."""
    number = error.errno or 0
    if number in _MEANINGS:
        code, what, next_step = _MEANINGS[number]
        return ToolFailed(
            f"{shown(path)} {what}. Nothing was changed. {next_step}", code=code, not_found=number == errno.ENOENT
        )
    # The number's own text, never str(error): that may hold a path of this machine.
    reason = os.strerror(number) if number else "unknown reason"
    return ToolFailed(
        f"{shown(path)} could not be used: {reason}. Nothing was changed. "
        + ("Try again." if number in _PASSING else "Tell the user."),
        code="workspace",
        retryable=number in _PASSING,
    )
