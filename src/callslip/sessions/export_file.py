"""The file a session is moved in: docs/reference/export-format.md describes it byte by byte.

Written whole or not at all, for its owner alone. Read as what it is: something from outside, of which nothing is
believed before it has been checked, and which may want more room than there is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, NamedTuple, Self

import msgspec
import zstandard

from callslip.core import ids
from callslip.errors import LedgerUnavailable, LogBroken, UsageError

MAGIC = b"callslip export 1\n"
KEY_BYTES = 32
ADDRESS = len("sha256:") + 2 * 32
"""Bytes of an address, of either kind."""
_PART = struct.Struct(">cQ")
_NUMBER = struct.Struct(">I")
_DIGEST = 32
_LEVEL = 9
_CHUNK = 1 << 20
_WINDOW = 1 << 27
"""Bytes of memory that a frame may ask for."""
_ORDER = b"HKRBE"


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much a file may hold, in bytes. What is packed may unpack to a thousand times its size."""

    total: int = 16 << 30
    log: int = 1 << 30
    """All records together: they are held in memory."""
    record: int = 64 << 20
    payload: int = 1 << 30


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file says of itself. Nothing is decided by it that is not checked."""

    format: Literal[1] = 1
    session: str
    records: int
    digest: str
    """High-water mark, with ``records``: hex."""
    host: str = ""
    """Where the session's last run was."""
    written_at: int
    """Milliseconds since 1970, UTC."""


class Key(NamedTuple):
    number: int
    key: bytes
    """Empty: it was destroyed."""


class Row(NamedTuple):
    digest: bytes
    text: bytes


class Stored(NamedTuple):
    """A payload as it is stored: raw, or the box it is encrypted in."""

    address: str
    data: bytes


Part = Header | Key | Row | Stored


class Writer:
    """A context manager: the file appears under its name at the end, or never."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        self._sum = hashlib.sha256()
        self._file: IO[bytes] | None = None
        self._packed: Any = None

    def __enter__(self) -> Self:
        if self.path.exists():
            raise UsageError(f"{self.path} is there already. Nothing was written over. Name another file.")
        try:
            fd = os.open(self._fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"{self.path} can't be written: {error.strerror}. Nothing was done.") from error
        self._file = os.fdopen(fd, "wb")
        self._file.write(MAGIC)
        packer = zstandard.ZstdCompressor(level=_LEVEL)  # what it holds ends with a digest of its own
        self._packed = packer.stream_writer(self._file, closefd=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._end()
        except OSError as refused:
            raise _no_room(self.path, refused) from refused
        finally:
            assert self._file is not None
            with contextlib.suppress(OSError):
                self._file.close()
            self._fresh.unlink(missing_ok=True)

    def header(self, header: Header) -> None:
        self._part(b"H", msgspec.json.encode(header, order="sorted"))

    def keys(self, keys: Mapping[int, bytes]) -> None:
        for number, key in keys.items():
            self._part(b"K", _NUMBER.pack(number) + key)

    def record(self, digest: bytes, text: bytes) -> None:
        self._part(b"R", digest, text)

    def payload(self, address: str, data: bytes) -> None:
        self._part(b"B", address.encode(), data)

    def _part(self, kind: bytes, *body: bytes) -> None:
        try:
            for piece in (_PART.pack(kind, sum(map(len, body))), *body):
                self._sum.update(piece)
                self._packed.write(piece)
        except OSError as error:
            raise _no_room(self.path, error) from error

    def _end(self) -> None:
        assert self._file is not None
        digest = self._sum.digest()
        self._part(b"E", digest)
        self._packed.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        try:
            os.link(self._fresh, self.path)
        except FileExistsError:
            raise UsageError(f"{self.path} came to be meanwhile. It was not written over. Name another.") from None
        except PermissionError:  # a file system that knows no links
            self._fresh.rename(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _no_room(path: Path, error: OSError) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"{path} can't be written ({error.strerror}). Nothing is left of it. Make room, then again."
    )


def parts(file: IO[bytes], bounds: Bounds) -> Iterator[Part]:
    """The parts of an export, in their order, ending with its digest checked.

    Raises:
        LogBroken: it is no export, damaged, cut, or holds more than the bounds allow. UsageError: of a newer format.
    """
    file.seek(0)
    magic = file.read(len(MAGIC))
    if magic != MAGIC:
        newer = magic.startswith(MAGIC[:-2])
        raise (
            UsageError("The file was exported by a newer Callslip. Nothing was written. Use that.")
            if newer
            else (_bad("it is no export of a session"))
        )
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    with unpacker.stream_reader(file, read_size=_CHUNK, read_across_frames=True, closefd=False) as packed:
        content = _Content(packed, bounds)
        try:
            yield from content.parts()
        except (zstandard.ZstdError, MemoryError) as error:
            raise _bad(f"it can't be unpacked ({error})") from error


class _Content:
    def __init__(self, packed: Any, bounds: Bounds) -> None:
        self._packed = packed
        self._bounds = bounds
        self._left, self._log = bounds.total, bounds.log
        self._sum = hashlib.sha256()

    def parts(self) -> Iterator[Part]:
        place = 0
        while True:
            sum_before = self._sum.digest()
            kind, size = _PART.unpack(self._take(_PART.size))
            if kind not in _ORDER or _ORDER.index(kind) < place or (not place and kind != b"H"):
                raise _bad("its parts are not in order")
            place = _ORDER.index(kind) + (kind == b"H")
            self._check(kind, size)
            body = self._take(size)
            if kind == b"E":
                if body != sum_before or self._packed.read(1):
                    raise _bad("its digest is not that of what it holds")
                return
            yield _part(kind, body)

    def _check(self, kind: bytes, size: int) -> None:
        most = {b"B": self._bounds.payload, b"R": min(self._bounds.record, self._log)}.get(kind, _CHUNK)
        if size > most:
            raise _bad(f"it holds more than is taken in at once ({size:,} bytes where {most:,} are allowed)")
        if kind == b"R":
            self._log -= size

    def _take(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise _bad(f"it holds more than {self._bounds.total:,} bytes")
        pieces, missing = [], size
        while missing:
            piece = self._packed.read(min(missing, _CHUNK))
            if not piece:
                raise _bad("it was cut off")
            self._sum.update(piece)
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)


def _part(kind: bytes, body: bytes) -> Part:
    match kind:
        case b"H":
            return _header(body)
        case b"K":
            if len(body) not in {_NUMBER.size, _NUMBER.size + KEY_BYTES}:
                raise _bad("a key in it is none")
            return Key(_NUMBER.unpack_from(body)[0], body[_NUMBER.size :])
        case b"R":
            if len(body) <= _DIGEST:
                raise _bad("a record in it is none")
            return Row(body[:_DIGEST], body[_DIGEST:])
    try:
        return Stored(body[:ADDRESS].decode("ascii"), body[ADDRESS:])
    except UnicodeDecodeError:
        raise _bad("a payload in it has no address") from None


def _header(body: bytes) -> Header:
    try:
        header = msgspec.json.decode(body, type=Header, strict=True)
        ids.check_session(header.session)
    except (msgspec.DecodeError, UsageError, UnicodeDecodeError) as error:
        raise _bad(f"its header can't be read ({error})") from error
    return header


def _bad(why: str) -> LogBroken:
    return LogBroken(f"The file can't be taken in: {why}. Nothing was written. Export the session again.")
