"""The folder that holds the installation's state: its owner's alone, outside everything a tool may write (GATE-09)."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from callslip.errors import ConfigError, StateRefused

KEY_BYTES = 32
_MARKS = ("ledger.db", "installation.key", "trust.log", "owners")
"""By any of these a state folder is known."""


def open_state(folder: Path, *, writable_roots: Iterable[Path] = ()) -> Path:
    """Make the folder if need be, and check it and what is in it.

    Returns:
        The folder, resolved.

    Raises:
        StateRefused: wrong owner or mode, a symbolic link, or inside a root that tools may write.
    """
    folder = folder.expanduser().absolute()
    _check_place(folder, writable_roots)
    check_is_one(folder)
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        for name in ("owners", "blobs"):
            (folder / name).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StateRefused(
            f"The state folder {folder} can't be made ({error.strerror}). Nothing was started. "
            "Name another with --state or `state` in callslip.toml."
        ) from error
    _check(folder, 0o700)
    for entry in folder.iterdir():
        # Another process that opens the folder at this moment takes its temporary files away again.
        with contextlib.suppress(FileNotFoundError):
            _check(entry, 0o700 if entry.is_dir() else 0o600)
    return folder


def is_one(folder: Path) -> bool:
    """Whether the folder has been used for state."""
    return any(os.path.lexists(folder / name) for name in _MARKS)


def check_is_one(folder: Path) -> None:
    """Refuse what is there and is something else, before anybody is told to change its mode.

    Raises:
        ConfigError: a file. StateRefused: a folder that is open to others, and has no state in it.
    """
    if folder.is_symlink() or not os.path.lexists(folder):
        return
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode):
        raise ConfigError(f"{folder} is no state folder: it is a file. Nothing was done. Name another with --state.")
    if stat.S_IMODE(info.st_mode) & ~0o700 and not is_one(folder):
        raise StateRefused(
            f"{folder} is no state folder. Nothing was done. Name another with --state; one that is not there is made."
        )


def _check_place(folder: Path, writable_roots: Iterable[Path]) -> None:
    real = Path(os.path.realpath(folder))
    for root in writable_roots:
        if real.is_relative_to(os.path.realpath(root)):
            raise StateRefused(
                f"The state folder {folder} lies inside {root}, which tools may write: a tool could forge the log. "
                "Nothing was started. Put the state elsewhere (--state, or `state` in callslip.toml)."
            )
        if Path(os.path.realpath(root)).is_relative_to(real):
            raise StateRefused(
                f"{root}, which tools may write, lies inside the state folder {folder}. Nothing was started. "
                "Give the tools a folder outside it."
            )


def _check(path: Path, most: int) -> None:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        raise StateRefused(f"{path} is a symbolic link. Nothing was started. Replace it by what it points to.")
    if info.st_uid != os.geteuid():
        raise StateRefused(
            f"{path} belongs to user {info.st_uid}, not to you ({os.geteuid()}). Nothing was started. "
            "Run as its owner, or give it to yourself with chown."
        )
    mode = stat.S_IMODE(info.st_mode)
    if mode & ~most:
        raise StateRefused(
            f"{path} is open to others (mode {mode:04o}). Nothing was started. "
            f"Run: chmod {most:o} '{path}', after checking who could have changed it."
        )


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def installation_key(folder: Path) -> bytes:
    """The key under which idempotency keys are made: 32 random bytes, made once.

    Raises:
        StateRefused: the file is damaged.
    """
    path = folder / "installation.key"
    if not path.exists():
        # Written whole under another name first, so that a crash or a second process never sees half a key.
        fresh = folder / f".key.{secrets.token_hex(4)}"
        fd = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, secrets.token_bytes(KEY_BYTES))
            os.fsync(fd)
        finally:
            os.close(fd)
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
        _sync(folder)
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise StateRefused(
            f"{path} is damaged. Nothing was started. Restore it from a backup, or remove it to have a new one made: "
            "calls that were dispatched keep the idempotency key of their record."
        )
    return key
