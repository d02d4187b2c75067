"""Which files a project is made of, and their bytes.

Every ``*.py`` below the project counts, and what the project names: its callslip.toml, the application's file,
recorded replies. What tools may write, what others installed and what lies hidden does not.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from callslip.errors import ConfigError

LARGEST = 64 << 20
"""Bytes of one file."""
MOST = 20_000
"""Files of one project."""
_FOREIGN = frozenset({"__pycache__", "node_modules"})
_VENV = "pyvenv.cfg"


def covered(root: Path, *, apart: Iterable[Path] = (), named: Iterable[Path] = ()) -> dict[str, bytes]:
    """The project's files as they are now, by :func:`key`, each read once.

    ``apart`` are folders that don't count, such as the workspace; ``named`` are files that count wherever they lie, and
    need not be there.

    Raises:
        ConfigError: there are too many, or one is too large.
    """
    found: dict[str, bytes] = {}
    for path in [*_modules(root, [folder for folder in apart if folder.is_dir()]), *named]:
        data = read(path)
        if data is None:
            continue
        if len(data) > LARGEST:
            raise ConfigError(
                f"{path} has more than {LARGEST >> 20} MiB. Nothing was accepted. Keep it outside the project."
            )
        if len(found) == MOST:
            raise ConfigError(
                f"{root} holds more than {MOST:,} Python files. Nothing was accepted. Give the project a folder of "
                "its own, with a callslip.toml."
            )
        found[key(root, path)] = data
    return dict(sorted(found.items()))


def _modules(root: Path, apart: Iterable[Path]) -> Iterator[Path]:
    marks = {_mark(folder) for folder in apart}
    if any(_mark(folder) in marks for folder in (root, *root.parents)):
        return
    # Links to folders are not followed: one may lead anywhere. What is imported through one is refused.
    for place, folders, names in os.walk(root):
        if _VENV in names and place != str(root):
            folders.clear()
            continue
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _FOREIGN and _mark(Path(place, name)) not in marks
        )
        yield from (
            Path(place, name)
            for name in names
            if name.endswith(".py") and not name.startswith(".") and _has_utf8(name) and _has_utf8(place)
        )


def _mark(folder: Path) -> tuple[int, int]:
    try:
        info = folder.stat()
    except OSError:
        return (0, 0)
    return (info.st_dev, info.st_ino)


def _has_utf8(name: str) -> bool:
    """A name that is none can't be written down, so it can't be accepted."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def read(path: Path) -> bytes | None:
    """The file's bytes, at most one more than :data:`LARGEST`; ``None`` where no plain file can be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe must not hold us up
        with os.fdopen(fd, "rb") as file:
            return file.read(LARGEST + 1) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None


def key(root: Path, path: Path) -> str:
    """How the file is named in what was accepted: relative to the project, or in full when it lies outside.

    ``root`` is resolved. A link counts by its own place, and by the contents of what it leads to.
    """
    place = Path(os.path.realpath(path.parent), path.name)
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else str(place)


def digest(data: bytes) -> str:
    """SHA-256, hex."""
    return hashlib.sha256(data).hexdigest()
