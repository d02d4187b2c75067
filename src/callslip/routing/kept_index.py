"""The copy of the index of words in a file: a database's image, and behind it the SHA-256 of that.

SQLite's own checks find a page that is torn; they don't find a number or a word that is another one. The digest finds
any of it, in less time. A file is replaced as a whole: whoever reads it meanwhile keeps the old one.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path

_MAGIC = b"SQLite format 3\0"
_VERSION_AT = slice(60, 64)
"""Where an image has its ``user_version``."""
_DIGEST = hashlib.sha256().digest_size
_MOST = 1 << 30
_NEW = ".new"
_DEAD = 600
"""Seconds after which a file that is being written is one whose writer was killed: writing it takes less than one."""


class Unusable(Exception):
    """Why the file can't be used."""


def read(path: Path, version: int) -> bytes:
    """The image as it was written.

    Raises:
        Unusable, OSError: there is none that can be trusted.
    """
    if path.stat().st_size > _MOST:
        raise Unusable(f"it is larger than {_MOST:,} bytes")
    kept = path.read_bytes()
    image, digest = kept[:-_DIGEST], kept[-_DIGEST:]
    if not image.startswith(_MAGIC):
        raise Unusable("it is damaged: it is no database")
    if (found := int.from_bytes(image[_VERSION_AT], "big")) != version:
        raise Unusable(f"it is of version {found}")
    if hashlib.sha256(image).digest() != digest:
        raise Unusable("it is damaged: its content is not what was written")
    return image


def write(path: Path, image: bytes) -> None:
    """Replace the file.

    Raises:
        OSError: it is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=_NEW)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(image)
            file.write(hashlib.sha256(image).digest())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Take away what writers have left that were killed. One that is at work is younger.

    Raises:
        OSError: the folder can't be read or changed.
    """
    for left in path.parent.glob(f"{path.name}*{_NEW}"):
        if time.time() - left.lstat().st_mtime > _DEAD:  # of a file, whose time is by this clock
            left.unlink(missing_ok=True)
