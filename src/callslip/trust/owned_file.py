"""Files that must be one account's alone: opened without following a link, and looked at before they are believed."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from callslip.errors import NotFound, StateRefused

_MOST = 1 << 20
"""Bytes of a key or a passphrase's file."""


def check(path: Path, info: os.stat_result, *, most: int) -> None:
    """Refuse what is not ours, or gives others more than ``most``.

    Raises:
        StateRefused: and what to do about it.
    """
    if stat.S_ISLNK(info.st_mode):
        raise StateRefused(f"{path} is a symbolic link. Nothing was done. Name what it points to.")
    if info.st_uid != os.geteuid():
        raise StateRefused(
            f"{path} belongs to user {info.st_uid}, not to you ({os.geteuid()}). Nothing was done. Use one of your own."
        )
    mode = stat.S_IMODE(info.st_mode)
    if mode & ~most:
        raise StateRefused(
            f"{path} is open to others (mode {mode:04o}). Nothing was done. Run: chmod {most:o} '{path}', after "
            "thinking of who could have read or changed it."
        )


def read_owned(path: Path, what: str) -> bytes:
    """The contents of a file of mode 0600 at most, ours, and no link.

    Raises:
        NotFound: it is not there. StateRefused: it is not safe to use, or can't be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise NotFound(f"There is no {what} {path}. Nothing was done.") from None
    except OSError as error:
        with contextlib.suppress(OSError):
            check(path, path.lstat(), most=0o600)
        raise StateRefused(f"The {what} {path} can't be read ({error.strerror}). Nothing was done.") from error
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise StateRefused(f"The {what} {path} is no plain file. Nothing was done. Name another.")
        check(path, info, most=0o600)
        return os.read(fd, _MOST)
    except OSError as error:
        raise StateRefused(f"The {what} {path} can't be read ({error.strerror}). Nothing was done.") from error
    finally:
        os.close(fd)


def write_owned(path: Path, text: bytes, mode: int = 0o600) -> None:
    """Make the file, whole and durable or not at all; one that is there is never written over.

    Raises:
        StateRefused: there is one already, or the system refuses.
    """
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        fd = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode)
        try:
            with os.fdopen(fd, "wb") as file:
                os.fchmod(fd, mode)
                file.write(text)
                file.flush()
                os.fsync(fd)
            os.link(fresh, path)
        finally:
            fresh.unlink()
        sync(path.parent)
    except FileExistsError:
        raise StateRefused(f"{path} is there already. Nothing was written over. Move it away first.") from None
    except OSError as error:
        raise StateRefused(f"{path} can't be written ({error.strerror}). Nothing is left of it.") from error


def sync(folder: Path) -> None:
    """Make the folder's entries durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def out_of_reach(path: Path, writable_roots: Iterable[Path], what: str) -> None:
    """Refuse a place that tools may write.

    Raises:
        StateRefused: it lies inside one.
    """
    real = Path(os.path.realpath(path))
    for root in writable_roots:
        if real.is_relative_to(os.path.realpath(root)):
            raise StateRefused(
                f"The {what} {path} lies inside {root}, which tools may write: a tool could use or replace it. Nothing "
                "was done. Keep it elsewhere."
            )
