"""Erasures that have begun, as files: one each, gone when it is done."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from callslip.errors import LedgerUnavailable, StateRefused
from callslip.ports.erasures import Begun

_NAME = re.compile(r"erase_[0-9a-f]+")
_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Begun, strict=True)


class ErasureFiles:
    """Implements ``Erasures`` over a folder, which is made at the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, begun: Begun) -> None:
        path = self._path(begun)
        fresh = path.with_name("." + path.name)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            _sync(self._folder.parent)
            fd = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(_encoder.encode(begun))
                file.flush()
                os.fsync(fd)
            fresh.rename(path)
            _sync(self._folder)
        except OSError as error:
            raise LedgerUnavailable(
                f"The erasure can't be begun ({error.strerror}): a crash in the midst of it would not be found. "
                "Nothing was erased. Make room in the state folder, then erase again."
            ) from error

    def pending(self) -> Sequence[Begun]:
        if not self._folder.is_dir():
            return []
        return [self._read(path) for path in sorted(self._folder.iterdir()) if _NAME.fullmatch(path.name)]

    def done(self, begun: Begun) -> None:
        self._path(begun).unlink(missing_ok=True)
        if self._folder.is_dir():
            _sync(self._folder)

    def _path(self, begun: Begun) -> Path:
        assert _NAME.fullmatch(begun.id)
        return self._folder / begun.id

    def _read(self, path: Path) -> Begun:
        try:
            begun = _decoder.decode(path.read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise StateRefused(
                f"{path} can't be read ({error}). Nothing was erased by it. See who changed it."
            ) from error
        if begun.id != path.name:
            raise StateRefused(f"{path} is named after another erasure. Nothing was erased by it. See who changed it.")
        return begun


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
