"""Heads of the audit, kept where those who can write the state folder can't change them.

An anchor is one line of JSON: time, how many entries, the chain's digest there. It is appended to a file, or given to a
command. A copy of what was handed out stands in ``anchors.jsonl`` beside the book: it says what is due, and proves
nothing.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import anyio.to_thread
import msgspec

from callslip.audit.book import Book
from callslip.audit.index import Tip
from callslip.audit.lines import backwards
from callslip.errors import CallslipError, ConfigError, LedgerUnavailable, LogBroken
from callslip.ports.clock import Clock

RECEIPTS = "anchors.jsonl"
_COMMAND_SECONDS = 10
_PAUSE = 5.0
_LONGEST_PAUSE = 300.0
"""Seconds before an anchor that failed is tried again; doubled each time."""


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """A head of the audit at some time."""

    at: int
    """Milliseconds since 1970, UTC."""
    count: int
    """Entries up to there."""
    digest: str
    """Of the chain there, hex."""
    v: int = 1


_decoder = msgspec.json.Decoder(Anchor)


def _last(path: Path) -> Anchor | None:
    """The last anchor in a file.

    Raises:
        LogBroken: it ends in something else.
    """
    try:
        text = next(backwards(path), None) if path.is_file() else None
    except (FileNotFoundError, PermissionError):  # one may be allowed to append to it, and no more
        return None
    found = None if text is None else next(parse(text), None)
    if text is not None and found is None:
        raise LogBroken(
            f"{path} ends in a line that is no anchor. Nothing was added to it. Look at it, or name another."
        )
    return found


def parse(text: bytes) -> Iterator[Anchor | None]:
    """The anchors of a file's text; ``None`` for a line that is none."""
    for line in text.splitlines():
        if line.strip():
            try:
                yield _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                yield None


class Place(Protocol):
    """Where anchors are kept."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    def put(self, line: bytes, fits: Callable[[Anchor], bool]) -> None:
        """Keep one more. ``fits`` says whether an anchor that is there already is one of this book.

        Raises:
            LedgerUnavailable: it was not kept. LogBroken: the place holds anchors of another book.
        """
        ...


class FilePlace:
    """A file outside the state folder; best one that this account may append to and not change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def put(self, line: bytes, fits: Callable[[Anchor], bool]) -> None:
        try:
            # A pipe that nobody reads must not hold up anything.
            fd = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                there = _last(self.path)
                if there is not None and not fits(there):
                    raise LogBroken(
                        f"{self.path} holds anchors of another audit than this one. Nothing was added to it. Find out "
                        "which of the two was replaced (`callslip audit verify`), or name another file."
                    )
                os.write(fd, line)
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise LedgerUnavailable(f"The anchor could not be written to {self.path} ({error.strerror}).") from error


class CommandPlace:
    """A program that is given each anchor on its standard input, and keeps it in its own way."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self.name = self._command[0]

    def put(self, line: bytes, fits: Callable[[Anchor], bool]) -> None:
        try:
            done = subprocess.run(  # noqa: S603 - the installation's own configuration names it
                self._command, input=line, capture_output=True, timeout=_COMMAND_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            why = f"it took longer than {_COMMAND_SECONDS} s" if isinstance(error, subprocess.TimeoutExpired) else error
            raise LedgerUnavailable(f"The anchor could not be given to {self.name} ({why}).") from error
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()[-300:]
            raise LedgerUnavailable(f"{self.name} did not take the anchor (exit code {done.returncode}): {said}")


def place(setting: str | Sequence[str], project: Path, state: Path) -> Place | None:
    """What ``anchor`` in ``[audit]`` means.

    Raises:
        ConfigError: a file in the state folder itself, where it would prove nothing.
    """
    if not setting:
        return None
    if not isinstance(setting, str):
        return CommandPlace(setting)
    path = (project / Path(setting).expanduser()).absolute()
    if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(state)):
        raise ConfigError(
            f"The anchor {path} lies in the state folder: whoever changes the audit could change it too. Nothing was "
            "started. Name a file elsewhere, best one that this account may only append to."
        )
    return FilePlace(path)


class Anchors:
    """Keeps anchors up with the book. ``failure`` says why one that is due is not there."""

    def __init__(self, book: Book, where: Place | None, clock: Clock, *, every: int = 100) -> None:
        self._book, self.where, self._clock, self._every = book, where, clock, every
        self.failure = ""
        self._pause = _PAUSE
        self._not_before = float("-inf")

    @property
    def receipts(self) -> Path:
        return self._book.folder / RECEIPTS

    async def keep_up(self, tip: Tip) -> None:
        """Anchor the book's head when it is time to. Never raises: one that failed stays due."""
        if self.where is None or self._clock.monotonic() < self._not_before:
            return
        try:
            if tip.count - await anyio.to_thread.run_sync(self.anchored) >= self._every:
                await self.put(tip)
        except (CallslipError, OSError) as error:
            self.failure = str(error)
            self._not_before = self._clock.monotonic() + self._pause
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    async def put(self, tip: Tip) -> Anchor:
        """Anchor this head now.

        Raises:
            ConfigError: there is no place for anchors. LedgerUnavailable, LogBroken: it was not kept there.
        """
        where = self.where
        if where is None:
            raise ConfigError(
                "No place for anchors is named. Nothing was anchored. Name a file or a command as `anchor` in [audit] "
                "of callslip.toml."
            )
        anchor = Anchor(at=self._clock.now(), count=tip.count, digest=tip.digest.hex())
        await anyio.to_thread.run_sync(self._put, where, anchor)
        self.failure, self._pause, self._not_before = "", _PAUSE, float("-inf")
        return anchor

    def _put(self, where: Place, anchor: Anchor) -> None:
        line = msgspec.json.encode(anchor) + b"\n"
        where.put(line, self._fits)
        fd = os.open(self.receipts, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, line)
            os.fsync(fd)
        finally:
            os.close(fd)

    def anchored(self) -> int:
        """Entries up to the last anchor, as far as this folder knows."""
        receipt = _last(self.receipts)
        return receipt.count if receipt is not None else 0

    def _fits(self, there: Anchor) -> bool:
        if there == _last(self.receipts):
            return True
        digest = self._book.digest_at(there.count)
        return digest is not None and digest.hex() == there.digest
