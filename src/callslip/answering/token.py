"""The token that a request must carry: new at every start, in a file that only its account can read.

Servers on one state folder share the file, and so the token, as long as one of them runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from callslip.errors import StateRefused
from callslip.trust.owned_file import check

TOKEN_FILE = "answers.token"  # noqa: S105 - the name of a file
_BYTES = 32
_MOST = 200


class Token:
    """A token and where it stands."""

    __slots__ = ("_text", "path")

    def __init__(self, text: str, path: Path) -> None:
        self._text = text
        self.path = path

    def is_in(self, header: str | None) -> bool:
        """Whether ``Authorization`` says ``Bearer`` and this token; compared in constant time."""
        kind, _, said = (header or "").partition(" ")
        same = hmac.compare_digest(said.strip().encode(errors="replace"), self._text.encode())
        return same and kind.lower() == "bearer"

    def reveal(self) -> str:
        """The token itself, for whoever asked to see it."""
        return self._text

    def __repr__(self) -> str:
        return f"Token({self.path})"


@contextlib.contextmanager
def token(state: Path) -> Iterator[Token]:
    """The token of the servers on this state folder; while inside, it stays what it is.

    Raises:
        StateRefused: its file is not ours alone, or can't be written.
    """
    path = state / TOKEN_FILE
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise StateRefused(f"{path} can't be opened ({error.strerror}). Nothing was started.") from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise StateRefused(f"{path} is no plain file. Nothing was started. Move it away.")
        check(path, os.fstat(fd), most=0o600)
        if _alone(fd):
            _write(fd, secrets.token_urlsafe(_BYTES))
        fcntl.flock(fd, fcntl.LOCK_SH)  # from here on nobody can write another
        yield Token(_read(fd, path), path)
        if _alone(fd):
            _write(fd, "")
    finally:
        os.close(fd)


def _alone(fd: int) -> bool:
    """Whether no other server uses the file, so that it may be written."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(fd: int, path: Path) -> str:
    text = os.pread(fd, _MOST, 0).decode(errors="replace").strip()
    if len(text) < _BYTES:
        raise StateRefused(f"{path} holds no token. Nothing was started. Try again.")
    return text


def _write(fd: int, text: str) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{text}\n".encode() if text else b"", 0)
