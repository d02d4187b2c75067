"""The accepted contents, kept to show later what has changed. Losing one costs the difference, never the check."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
from collections.abc import Collection, Iterable
from pathlib import Path

import zstandard

from callslip.project.files import LARGEST, digest, read

_FOLDER = "accepted"
_SUFFIX = ".zst"


def keep(state: Path, contents: Iterable[bytes], *, needed: Collection[str]) -> None:
    """Keep these in the state folder, and remove every copy whose digest is not ``needed`` any more.

    Raises:
        OSError: they can't be kept.
    """
    folder = state / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    for data in contents:
        path = folder / f"{digest(data)}{_SUFFIX}"
        if kept(state, digest(data)) is None:
            fresh = folder / f".{path.name}.{secrets.token_hex(4)}"
            fd = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(zstandard.ZstdCompressor().compress(data))
            fresh.replace(path)
    for path in folder.glob(f"*{_SUFFIX}"):
        if path.name.removesuffix(_SUFFIX) not in needed:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()


def kept(state: Path, sha256: str) -> bytes | None:
    """The contents with that digest, if they are still there and are still those."""
    packed = read(state / _FOLDER / f"{sha256}{_SUFFIX}")
    if packed is None:
        return None
    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed)) as unpacked:
            data = unpacked.read(LARGEST + 1)
    except zstandard.ZstdError:
        return None
    return data if digest(data) == sha256 else None
