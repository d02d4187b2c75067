"""Where a write would land: the parent directory held open, the final name, and the file that is there now.

It writes no file; it may make the missing folders above one. Invariant: the name is final. The link that the caller
may have given was followed once, beneath the root, and what will be replaced is the file it led to.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from types import TracebackType
from typing import Self

from callslip.errors import ToolFailed
from callslip.workspace.access import Workspace
from callslip.workspace.content import ABSENT, digest_file
from callslip.workspace.openat2 import open_beneath
from callslip.workspace.opened import Opened
from callslip.workspace.os_fault import os_fault
from callslip.workspace.path_argument import shown

MAX_REPLACED_BYTES = 1024 * 1024 * 1024
"""A larger file is not replaced: its digest would take too long to take."""


class Place:
    """A name in an open directory. Closed on leaving ``with``.

    Attributes:
        path: where it really lies, relative to the root.
        name: its last part.
        parent: its directory; ``None`` only if that is missing and wasn't to be made.
        current: the regular file there now, or ``None``.
        made: the folders that were made for it, outermost first.
    """

    def __init__(self, path: str, parent: Opened | None, current: Opened | None, made: tuple[str, ...] = ()) -> None:
        self.path = path
        self.name = path.rpartition("/")[2]
        self.parent = parent
        self.current = current
        self.made = made

    def digest(self) -> str:
        """The current content's SHA-256 in hex, or ``absent``. Raises ``OSError``."""
        return ABSENT if self.current is None else digest_file(self.current)

    def lies_there(self) -> tuple[int, int] | None:
        """Device and inode of what bears the name now, a link itself and not its target. Raises ``OSError``."""
        status = self.status_there()
        return None if status is None else (status.st_dev, status.st_ino)

    def status_there(self) -> os.stat_result | None:
        """The ``lstat`` of what bears the name now, or ``None``. Raises ``OSError``."""
        assert self.parent is not None
        try:
            return os.stat(self.name, dir_fd=self.parent.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def close(self) -> None:
        for opened in (self.parent, self.current):
            if opened is not None:
                opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def find_place(workspace: Workspace, path: str, *, make_folders: bool = False) -> Place:
    """Resolve the target of a write, under the rules for writes.

    Raises:
        ToolFailed: forbidden, no regular file, a hard link, read-only, or not to be opened. Effect none.
    """
    current = look_at(workspace, path)
    if current is None:
        return _vacant_place(workspace, path, make_folders=make_folders)
    try:
        folder = current.path.rpartition("/")[0] or "."
        place = Place(current.path, workspace.directory(folder, "write", symlinks=False), current)
    except ToolFailed:
        current.close()
        raise
    complaint = _moved(place, path)
    if complaint is not None:
        place.close()
        raise complaint
    return place


def _moved(place: Place, path: str) -> ToolFailed | None:
    """What is wrong if the name doesn't bear what was found a moment ago."""
    try:
        status = place.status_there()
    except OSError as error:
        return os_fault(error, path)
    if status is None:
        return None if place.current is None else changed_meanwhile(path)
    if place.current is None and stat.S_ISLNK(status.st_mode):
        # Nothing was found through it: it leads nowhere.
        return os_fault(OSError(errno.ELOOP, ""), path)
    same = place.current is not None and place.current.identity == (status.st_dev, status.st_ino)
    return None if same else changed_meanwhile(path)


def look_at(workspace: Workspace, path: str) -> Opened | None:
    """The file that a write would replace, or ``None`` if there is none.

    Raises:
        ToolFailed: as :func:`find_place`. Effect none.
    """
    try:
        current = workspace.file(path, "write")
    except ToolFailed as error:
        if error.not_found:
            return None
        raise
    complaint = _unwritable(current, path)
    if complaint is not None:
        current.close()
        raise complaint
    return current


def changed_meanwhile(path: str) -> ToolFailed:
    """Somebody else changed the file between the look at it and the write. Effect none."""
    return ToolFailed(
        f"{shown(path)} was changed by somebody else in the meantime. Nothing was written. Read it again, then"
        " decide what to write.",
        code="changed_meanwhile",
    )


def remove_folders(workspace: Workspace, folders: tuple[str, ...]) -> None:
    """Take back the folders made for a write that failed, as far as they are empty."""
    for folder in reversed(folders):
        above, _, name = folder.rpartition("/")
        with (
            contextlib.suppress(OSError, ToolFailed),
            workspace.root.open_directory(above or ".", symlinks=False) as parent,
        ):
            os.rmdir(name, dir_fd=parent.descriptor)


def _unwritable(current: Opened, path: str) -> ToolFailed | None:
    status = current.status
    if status.st_nlink != 1:
        return ToolFailed(
            f"{shown(path)} is a hard link: the same file has {status.st_nlink} names, some perhaps outside the"
            " workspace. Nothing was changed. Write to another path, or ask the user.",
            code="hard_link",
        )
    # Replacing needs only the directory's permission; a file that was closed to writing is meant to stay as it is.
    if not status.st_mode & 0o222 or not os.access(f"/proc/self/fd/{current.descriptor}", os.W_OK):
        return ToolFailed(
            f"{shown(path)} is read-only. Nothing was changed. Ask the user to make it writable.", code="read_only"
        )
    if status.st_size > MAX_REPLACED_BYTES:
        return ToolFailed(
            f"{shown(path)} is {status.st_size:,} bytes large, too large to be replaced. Nothing was changed.",
            code="too_large",
        )
    return None


def _vacant_place(workspace: Workspace, path: str, *, make_folders: bool) -> Place:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or parts[-1] == ".." or path.endswith(("/", "/.")):
        raise ToolFailed(f"{shown(path)} names no file. Nothing was changed. Add the file's name.", code="bad_path")
    here, missing = _deepest(workspace, parts[:-1])
    target = "/".join(([] if here.path == "." else [here.path]) + missing + parts[-1:])
    made: list[str] = []
    try:
        if ".." in missing:
            raise ToolFailed(
                f"{shown(path)} has '..' after a folder that doesn't exist. Nothing was changed. Leave it out.",
                code="bad_path",
            )
        workspace.forbidden.check(target, "write", asked=path)
        if missing and not make_folders:
            here.close()
            return Place(target, None, None)
        for name in missing:
            here = _make_folder(here, name, made, path)
    except ToolFailed:
        here.close()
        remove_folders(workspace, tuple(made))
        raise
    place = Place(target, here, None, tuple(made))
    complaint = _moved(place, path)
    if complaint is not None:
        place.close()
        remove_folders(workspace, place.made)
        raise complaint
    return place


def _deepest(workspace: Workspace, folders: list[str]) -> tuple[Opened, list[str]]:
    """The innermost of these folders that exists, open, and the names of those that don't."""
    for count in range(len(folders), 0, -1):
        try:
            return workspace.directory("/".join(folders[:count]), "write"), folders[count:]
        except ToolFailed as error:
            if not error.not_found:
                raise
    return workspace.directory(".", "write"), folders


def _make_folder(here: Opened, name: str, made: list[str], path: str) -> Opened:
    """Make one folder in an open one, note it in ``made``, and go into it. Closes ``here`` when it is left."""
    inner = name if here.path == "." else f"{here.path}/{name}"
    try:
        try:
            os.mkdir(name, dir_fd=here.descriptor)
            made.append(inner)
            os.fsync(here.descriptor)
        except FileExistsError:
            pass  # somebody else made it just now, or it is a link: opening it without crossing links will tell
        descriptor = open_beneath(here.descriptor, name, os.O_RDONLY | os.O_DIRECTORY, symlinks=False)
    except OSError as error:
        raise os_fault(error, path) from error
    opened = Opened(descriptor, inner, os.fstat(descriptor))
    here.close()
    return opened
