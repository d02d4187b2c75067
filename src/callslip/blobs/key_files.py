"""Sessions' keys as files: a folder for each session, a file of 32 bytes for each of its keys, mode 0600.

A destroyed key is an empty file: so it can be told from one that was lost. It is written over before it is emptied;
what a disk keeps of it beneath the file system is beyond any program.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from callslip.blobs.box import KEY_BYTES
from callslip.errors import LedgerUnavailable, StateRefused


class KeyFiles:
    """Implements ``KeyPlace`` over a folder, which is made at the first key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, of: bytes) -> dict[int, bytes]:
        folder = self._folder / of.hex()
        try:
            names = [path.name for path in folder.iterdir()]
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise _unreadable(folder, error) from error
        return dict(sorted((int(name), self._key(folder / name)) for name in names if name.isdecimal()))

    def add(self, of: bytes, number: int, key: bytes) -> bytes:
        folder = self._folder / of.hex()
        path = folder / str(number)
        fresh = folder / f".{number}.{secrets.token_hex(4)}"
        try:
            for made in (self._folder, folder):
                made.mkdir(mode=0o700, exist_ok=True)
            for parent in (self._folder.parent, self._folder):
                _sync(parent)
            _write(fresh, key)  # whole under another name first: a crash or another process never sees half a key
            try:
                os.link(fresh, path)
            except FileExistsError:
                pass
            finally:
                fresh.unlink()
            _sync(folder)
        except OSError as error:
            raise LedgerUnavailable(
                f"A session's key can't be kept in {folder} ({error.strerror}). Nothing was written. Make room, or "
                "make the folder writable for you, then go on as before."
            ) from error
        return self._key(path)

    def blank(self, of: bytes, number: int) -> None:
        path = self._folder / of.hex() / str(number)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.write(fd, bytes(KEY_BYTES))
                os.fsync(fd)
                os.ftruncate(fd, 0)
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise LedgerUnavailable(
                f"The key {path} can't be destroyed ({error.strerror}). Erase again once it can be written."
            ) from error

    def _key(self, path: Path) -> bytes:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(fd, "rb") as file:
                info = os.fstat(fd)
                key = file.read(KEY_BYTES + 1)
        except OSError as error:
            raise _unreadable(path, error) from error
        if info.st_uid != os.geteuid() or stat.S_IMODE(info.st_mode) & 0o077:
            raise StateRefused(
                f"The key {path} is not yours alone (owner {info.st_uid}, mode {stat.S_IMODE(info.st_mode):04o}). "
                f"Nothing was done. Run: chmod 600 '{path}', after thinking of who could have read it."
            )
        if key == bytes(KEY_BYTES):  # its destruction was broken off
            return b""
        if len(key) not in {0, KEY_BYTES}:
            raise StateRefused(f"The key {path} is damaged. Nothing was done. Restore it from a backup.")
        return key


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _unreadable(path: Path, error: OSError) -> StateRefused:
    return StateRefused(f"{path} can't be read ({error.strerror}). Nothing was done. Check its owner and mode.")
