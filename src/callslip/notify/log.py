"""A line for each notice: as text to standard error, as JSON to a file that is its owner's alone."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import anyio
import anyio.to_thread

from callslip.notify.channel import Delivered, Failed, Outcome, Parcel
from callslip.notify.endpoint import LogEndpoint


class Log:
    """Implements ``Channel``."""

    def __init__(self, endpoint: LogEndpoint) -> None:
        self._path = Path(endpoint.path).expanduser() if endpoint.path else None
        # One thread at most: a terminal that takes nothing, or a disk that hangs, holds no second one.
        self._thread = anyio.CapacityLimiter(1)

    async def send(self, parcel: Parcel) -> Outcome:
        return await anyio.to_thread.run_sync(self._write, parcel.body, abandon_on_cancel=True, limiter=self._thread)

    def _write(self, body: bytes) -> Outcome:
        try:
            if self._path is None:
                sys.stderr.write(_line(body) + "\n")
                sys.stderr.flush()
            else:
                _append(self._path, body + b"\n")
        except (OSError, ValueError) as error:  # ValueError: standard error was closed
            return Failed(reason=f"it can't be written: {getattr(error, 'strerror', None) or error}")
        return Delivered()


def _line(body: bytes) -> str:
    said = json.loads(body)
    text = said["data"].pop("text")
    return f"callslip: {said['timestamp']} {said['type']}: {text} [{said['id']}]"


def _append(path: Path, line: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or stat.S_IMODE(info.st_mode) & 0o077:
            raise PermissionError(1, f"{path.name} must be a plain file of yours, mode 0600")
        if os.write(fd, line) != len(line):
            raise OSError(28, "only a part of the line could be written")
    finally:
        os.close(fd)
