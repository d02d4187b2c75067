"""Blobs as files: zstd-compressed, named by the SHA-256 of the raw bytes, durable before anyone names them.

Write without a name, fsync, name it, fsync the folder: after a power cut a blob is whole or absent, and after a kill
nothing is left of one that was not finished. Where the file system knows no files without a name, a temporary one has
a name of its own; the worker tidies those up.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread
import zstandard

from callslip import failpoint
from callslip.core import canon, payload
from callslip.errors import LedgerUnavailable, LogBroken, NotFound

_LEVEL = 6
_PREFIX = "sha256:"
NAMELESS: int | None = getattr(os, "O_TMPFILE", None)
_UNKNOWN = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)
"""What file systems and kernels say that know no files without a name."""


class Disk(Protocol):
    """The few calls whose order makes a blob durable; the tests put a disk here that loses unsynced writes."""

    def write(self, path: Path, data: bytes) -> None:
        """Create the file and fsync it. It may be there without a name until it is renamed."""
        ...

    def rename(self, old: Path, new: Path) -> None: ...
    def discard(self, path: Path) -> None:
        """What was written and not renamed is not wanted any more, if there is anything."""
        ...

    def sync_folder(self, folder: Path) -> None: ...
    def read(self, path: Path) -> bytes: ...


class RealDisk:
    """The file system. ``nameless`` is the flag that opens a file without a name; ``None``: none does."""

    def __init__(self, *, nameless: int | None = NAMELESS) -> None:
        self._flag = nameless
        self._nameless: dict[Path, int] = {}

    def write(self, path: Path, data: bytes) -> None:
        fd = self._create(path)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            os.fsync(fd)
        finally:
            if path not in self._nameless:
                os.close(fd)

    def _create(self, path: Path) -> int:
        if self._flag is not None:
            try:
                fd = self._nameless[path] = os.open(path.parent, self._flag | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            except OSError as error:
                if error.errno not in _UNKNOWN:
                    raise
            else:
                return fd
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)

    def rename(self, old: Path, new: Path) -> None:
        fd = self._nameless.get(old)
        if fd is None:
            old.rename(new)
            return
        folder = os.open(new.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # With a folder, or the symbolic link itself would be linked.
            os.link(f"/proc/self/fd/{fd}", new.name, dst_dir_fd=folder, follow_symlinks=True)
        except FileExistsError:
            pass  # somebody else has just written the very same
        finally:
            os.close(folder)

    def discard(self, path: Path) -> None:
        fd = self._nameless.pop(path, None)
        if fd is not None:
            os.close(fd)
        else:
            path.unlink(missing_ok=True)

    def sync_folder(self, folder: Path) -> None:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def read(self, path: Path) -> bytes:
        return path.read_bytes()


class FileBlobs:
    """Implements ``Blobs`` and ``Erasable`` over a folder."""

    def __init__(self, folder: Path, *, disk: Disk | None = None) -> None:
        self._folder = folder
        self._disk = disk or RealDisk()
        self._named: set[Path] = set()
        """Folders whose names are durable, as this process has seen to."""
        self._threads = anyio.CapacityLimiter(8)  # apart from the threads that tools run in

    async def put(self, data: bytes) -> str:
        return await anyio.to_thread.run_sync(self._put, data, limiter=self._threads)

    async def get(self, address: str) -> bytes:
        return await anyio.to_thread.run_sync(self._get, address, limiter=self._threads)

    async def has(self, address: str) -> bool:
        return self._path(address).exists()

    async def remove(self, address: str) -> bool:
        return await anyio.to_thread.run_sync(self._remove, address, limiter=self._threads)

    async def used_at(self, address: str) -> int | None:
        try:
            return self._path(address).stat().st_mtime_ns // 1_000_000
        except FileNotFoundError:
            return None

    async def listed(self) -> Sequence[str]:
        return await anyio.to_thread.run_sync(self._listed, limiter=self._threads)

    async def tidy(self, before: int) -> int:
        return await anyio.to_thread.run_sync(self._tidy, before, limiter=self._threads)

    def _put(self, data: bytes) -> str:
        address = payload.address(data)
        path = self._path(address)
        try:
            if path.parent not in self._named:
                # There or not: whoever made it may have died before its name was durable.
                path.parent.mkdir(mode=0o700, exist_ok=True)
                self._disk.sync_folder(self._folder)
                self._named.add(path.parent)
            if _touched(path):
                # Whoever wrote it may have died between the rename and this; nobody names it before it is durable.
                self._disk.sync_folder(path.parent)
                return address
            temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}"
            try:
                self._disk.write(temporary, zstandard.ZstdCompressor(level=_LEVEL).compress(data))
                failpoint.hit("blob.written")
                self._disk.rename(temporary, path)
            finally:
                with contextlib.suppress(OSError):
                    self._disk.discard(temporary)
            self._disk.sync_folder(path.parent)
            failpoint.hit("blob.renamed")
        except OSError as error:
            raise LedgerUnavailable(
                f"A payload of {len(data)} bytes could not be stored ({error.strerror}). Nothing was written to the "
                "log. Make room in the state folder, then resume."
            ) from error
        return address

    def _get(self, address: str) -> bytes:
        try:
            data = zstandard.ZstdDecompressor().decompress(self._disk.read(self._path(address)))
        except FileNotFoundError:
            raise NotFound(f"There is no payload {address}. It may have been erased.") from None
        except zstandard.ZstdError as error:
            raise LogBroken(f"Payload {address} is damaged ({error}). Nothing was executed.") from error
        if payload.address(data) != address:
            raise LogBroken(f"Payload {address} is not what was stored under that address. Nothing was executed.")
        return data

    def _remove(self, address: str) -> bool:
        path = self._path(address)
        try:
            path.unlink()
            self._disk.sync_folder(path.parent)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise LedgerUnavailable(
                f"Payload {address} could not be removed ({error.strerror}). It is still there. Erase again once the "
                "state folder can be written."
            ) from error
        return True

    def _listed(self) -> Sequence[str]:
        files = self._folder.glob("[0-9a-f][0-9a-f]/*")
        return sorted(f"{_PREFIX}{path.parent.name}{path.name}" for path in files if not path.name.startswith("."))

    def _tidy(self, before: int) -> int:
        """Temporary files of writers that died; they may hold what was to be encrypted by nobody."""
        removed = 0
        for path in self._folder.glob("[0-9a-f][0-9a-f]/.*"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime_ns // 1_000_000 < before:
                    path.unlink()
                    removed += 1
        return removed

    def _path(self, address: str) -> Path:
        digest = address.removeprefix(_PREFIX)
        if len(digest) != len(canon.digest(b"")) or not set(digest) <= set("0123456789abcdef"):
            raise NotFound(f"{address[:80]!r} is no payload address (sha256: and 64 hex digits).")
        return self._folder / digest[:2] / digest[2:]


def _touched(path: Path) -> bool:
    """Whether the blob is there. It is in use again then, which erasers and the collection of garbage look at."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True
