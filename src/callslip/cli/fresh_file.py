"""A text file that a command makes: whole or not at all, for its owner alone, over no other unless that is meant."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from callslip.errors import UsageError


def check(path: Path, *, force: bool) -> None:
    """Whether the file may be written.

    Raises:
        UsageError: it is there, or can't be one.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder. Nothing was written. Name a file.")
    if not force and os.path.lexists(path):
        raise UsageError(f"{path} is there already. Nothing was written over. Name another file, or say --force.")


def write(path: Path, lines: Iterable[str], *, force: bool) -> None:
    """Write the lines into the file, with mode 0600.

    Raises:
        UsageError: it can't be written, or came to be meanwhile. Nothing is left of it.
    """
    check(path, force=force)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        fd = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}. Nothing was done.") from error
    try:
        with os.fdopen(fd, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        _name(fresh, path, force=force)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}. Nothing is left of it.") from error
    finally:
        fresh.unlink(missing_ok=True)


def _name(fresh: Path, path: Path, *, force: bool) -> None:
    if force:
        fresh.replace(path)
        return
    try:
        os.link(fresh, path)
    except FileExistsError:
        raise UsageError(f"{path} came to be meanwhile. It was not written over. Name another.") from None
    except PermissionError:  # a file system that knows no links
        fresh.rename(path)
