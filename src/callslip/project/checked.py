"""The files of one folder as they were accepted and as they were read: once, so that what was checked is what acts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from callslip.project import files
from callslip.project.held import Change


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A folder, what was accepted of it, and what of that is not so any more."""

    root: Path
    """Resolved."""
    files: Mapping[str, bytes]
    """The accepted files' bytes, by ``files.key``. They stay what they are while the process lives."""
    held: tuple[Change, ...]
    """Empty: everything is as it was accepted."""

    def get(self, path: Path) -> bytes | None:
        """The accepted bytes of the file, if it is one."""
        return self.files.get(files.key(self.root, path))


def check(
    root: Path,
    accepted: Mapping[str, str],
    needed: Iterable[Path] = (),
    *,
    known: Mapping[str, bytes] | None = None,
) -> Checked:
    """Compare the accepted files, and those that are ``needed`` beside them, with what lies there now.

    ``root`` is resolved; ``known`` are files that were read already. A file that is neither accepted nor needed is not
    looked at: nothing imports it (``project/imports``).
    """
    known = known or {}
    sound: dict[str, bytes] = {}
    held: list[Change] = []
    for name, digest in accepted.items():
        data = known[name] if name in known else files.read(root / name)
        now = files.digest(data) if data is not None else ""
        if data is not None and now == digest:
            sound[name] = data
        else:
            held.append(Change(path=name, kind="changed" if now else "gone", was=digest, now=now))
    for name in {files.key(root, path): None for path in needed if os.path.lexists(path)}:
        if name not in accepted:
            data = known[name] if name in known else files.read(root / name)
            held.append(Change(path=name, kind="new", now=files.digest(data) if data is not None else ""))
    return Checked(root=root, files=sound, held=tuple(sorted(held, key=lambda change: change.path)))
