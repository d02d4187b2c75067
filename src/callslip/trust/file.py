"""What is trusted, in ``trust.log`` of the state folder: one statement a line, each bound to the one before.

Read again whenever the file has changed; a line is verified once, and from then on its bytes must stay what they were.
A last line without its end is a crash in the middle of an append: it says nothing, and the next append cuts it off.
Anything else that is not as Callslip writes it closes everything, naming the statement (docs/reference/trust.md).

What the file alone can't show is that whole lines are missing at its end, or that it was replaced by another one with a
root of its own. A process that has read a line notices that it is gone; one that starts later does not. So whoever
rests on a standing records its ``seq`` and ``digest`` elsewhere (an approval's request does, in the session's log) and
asks ``Standing.follows`` later; and the variable ``CALLSLIP_ROOT`` names the root's public key from outside.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from callslip.core.standing import Body, Standing, Statement, broken
from callslip.errors import CommitUnknown, ConfigError, LedgerUnavailable, StateRefused, TrustBroken
from callslip.ports.clock import Clock
from callslip.ports.trust import Identity
from callslip.trust import chain
from callslip.trust.owned_file import check, sync

TRUST_FILE = "trust.log"
ROOT = "CALLSLIP_ROOT"


class _MissingError(Exception):
    """There is no trust file."""


class FileTrust:
    """Implements ``Trust``. Any number of them, in any number of processes, may be open on one folder."""

    def __init__(self, folder: Path, *, clock: Clock, root: str | None = None) -> None:
        """``root``: the public key of the only root to believe; by default what ``CALLSLIP_ROOT`` says, if anything.

        Raises:
            ConfigError: that is no public key.
        """
        self._folder, self._path = folder, folder / TRUST_FILE
        self._clock = clock
        self._root = _root(os.environ.get(ROOT, "") if root is None else root)
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] | None = None
        """Of the file as it was last read; ``None``: not there."""
        self._read = 0
        """Bytes of it that are whole lines, and verified."""
        self._hash = hashlib.sha256()
        """Of those bytes."""
        self._standing = Standing()

    def standing(self) -> Standing:
        with self._lock:
            try:
                if self._unchanged():
                    return self._standing
                with self._opened(os.O_RDONLY, fcntl.LOCK_SH) as fd:
                    self._catch_up(fd)
            except OSError as error:
                raise _unreadable(self._path, error) from error
            except _MissingError:
                self._gone()
            self._check_root(self._standing)
            return self._standing

    def verified(self, key: str, message: bytes, signature: str) -> bool:
        return chain.verified(key, message, signature)

    def state(self, body: Body, by: Identity) -> Statement:
        with self._lock:
            try:
                with self._opened(os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX) as fd:
                    self._catch_up(fd)
                    made = chain.compose(self._standing, body, by, at=self._clock.now())
                    self._check_root(made.after)
                    self._append(fd, made.line + b"\n")
                    self._standing = made.after
            except OSError as error:
                raise LedgerUnavailable(
                    f"{self._path} can't be written ({error.strerror}). Nothing was stated. Put that right, and state "
                    "it again."
                ) from error
            return made.statement

    def _unchanged(self) -> bool:
        """Whether the file is as it was when it was last read: asked before every call, so by two looks alone."""
        try:
            check(self._folder, os.lstat(self._folder), most=0o700)
            return _stamp(os.lstat(self._path)) == self._stamp
        except (FileNotFoundError, NotADirectoryError):
            return self._stamp is None and not self._standing.seq and not self._root

    @contextlib.contextmanager
    def _opened(self, flags: int, lock: int) -> Iterator[int]:
        """The file, locked, safe to use, and still the one that the name leads to.

        Raises:
            _MissingError: it is not there. StateRefused: its folder or itself is not its owner's alone.
        """
        folder = self._folder
        if not os.path.lexists(folder) and not flags & os.O_CREAT:
            raise _MissingError
        check(folder, folder.lstat(), most=0o700)
        while True:
            try:
                fd = os.open(self._path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
            except FileNotFoundError:
                raise _MissingError from None
            except OSError:
                with contextlib.suppress(FileNotFoundError):
                    check(self._path, self._path.lstat(), most=0o600)
                raise
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise StateRefused(f"{self._path} is no plain file. Nothing was done. Move it away.")
                check(self._path, os.fstat(fd), most=0o600)
                fcntl.flock(fd, lock)
                if _same(fd, self._path):
                    yield fd
                    return
            finally:
                os.close(fd)

    def _catch_up(self, fd: int) -> None:
        """Verify what is new; what was verified before must still be there, to the byte."""
        stamp = _stamp(os.fstat(fd))
        if stamp == self._stamp:
            return
        text = _whole(fd)
        known, new = text[: self._read], text[self._read :]
        if hashlib.sha256(known).digest() != self._hash.digest():
            raise broken(
                self._first_difference(text),
                f"it is not what this process has read there before (it knew {self._standing.seq} statements)",
            )
        standing, lines = self._standing, new[: new.rfind(b"\n") + 1]
        for line in lines.splitlines(keepends=True):
            standing = chain.extend(standing, line[:-1])
        self._standing, self._stamp = standing, stamp
        self._read += len(lines)
        self._hash.update(lines)

    def _first_difference(self, text: bytes) -> int:
        lines = text.split(b"\n")
        digests = [hashlib.sha256(line).hexdigest() for line in lines[:-1]]
        for seq, digest in enumerate(self._standing.digests, 1):
            if digests[seq - 1 : seq] != [digest]:
                return seq
        return self._standing.seq

    def _gone(self) -> None:
        if self._standing.seq:
            raise TrustBroken(
                f"{self._path} is gone, and this process has read {self._standing.seq} statements in it. Nothing was "
                "executed. Put it back from a backup; see `callslip doctor`."
            )
        self._stamp = None

    def _check_root(self, standing: Standing) -> None:
        if self._root and standing.root != self._root:
            found = f"is {standing.root}" if standing.root else "is nobody: no key is enrolled"
            raise TrustBroken(
                f"The root of {self._path} {found}, and {ROOT} says it must be {self._root}. Nothing was executed. If "
                "you did not change one of them, somebody has put another trust file there: see `callslip doctor`."
            )

    def _append(self, fd: int, line: bytes) -> None:
        """Durable when it returns; when it raises an OSError, nothing of the line is left.

        Raises:
            CommitUnknown: something of it may be left.
        """
        began = self._read
        os.ftruncate(fd, began)  # what a crash left of a line
        try:
            written = 0
            while written < len(line):
                written += os.pwrite(fd, line[written:], began + written)
            os.fsync(fd)
            if not began:
                sync(self._path.parent)
        except OSError as error:
            try:
                os.ftruncate(fd, began)
                os.fsync(fd)
            except OSError:
                raise CommitUnknown(
                    f"Whether the statement stands in {self._path} is not known: the disk refused ({error.strerror}), "
                    "and refused to take it back. Look with `callslip principals` and `callslip grants` once it works."
                ) from error
            raise
        self._read += len(line)
        self._hash.update(line)
        self._stamp = None


def _stamp(info: os.stat_result) -> tuple[int, ...]:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _same(fd: int, path: Path) -> bool:
    opened = os.fstat(fd)
    try:
        named = path.lstat()
    except FileNotFoundError:
        return False
    return (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)


def _whole(fd: int) -> bytes:
    parts, at = [], 0
    while part := os.pread(fd, 1 << 20, at):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def _unreadable(path: Path, error: OSError) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"{path} can't be read ({error.strerror}). Nothing was executed. Put that right, then go on as before."
    )


def _root(text: str) -> str:
    text = text.strip().lower()
    if text and not re.fullmatch(r"[0-9a-f]{64}", text):
        raise ConfigError(
            f"{ROOT} is no public key of 64 hex digits. Nothing was started. `callslip principals --json` shows it."
        )
    return text
