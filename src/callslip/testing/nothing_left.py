"""A pytest fixture that fails a test which leaves something behind: a thread, a process, an open or temporary file.

::

    from callslip.testing.nothing_left import nothing_left  # in conftest.py

    @pytest.fixture(autouse=True)
    def _of_every_test(nothing_left): …

What ends by itself a moment later is waited for. ``nothing_left.also(look)`` has the test look for more: ``look()``
names what is left of it. What fixtures of a wider scope have begun before the test is theirs. For a test that leaves
nothing, which is nearly every one, the looks cost some 100 µs: who it was is only asked where something is there.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

PATIENCE = 10.0
"""The most seconds that what is about to end is waited for."""
_PAUSE = 0.01
MARK = "NOTHING_LEFT"
"""In the environment of all that a test starts: found even where its parents are gone."""
_numbers = itertools.count(1)
_folder = pytest.StashKey[Path]()


class NothingLeft:
    """What was there when the test began, and what is there beside it."""

    def __init__(self, temporary: Path) -> None:
        self.temporary = temporary
        """Where temporary files are made during the test."""
        self.mark = f"{os.getpid()}-{next(_numbers)}"
        self._looks: list[Callable[[], list[str]]] = []
        self._threads = set(threading.enumerate())
        self._ended = _ended()
        self._processes = set() if _childless() else set(_processes(self.mark))
        self._descriptors = set(_descriptors())
        self._temporary = set(_names(temporary))

    def also(self, look: Callable[[], list[str]]) -> None:
        """Look for more: ``look`` names what is left, and gives an empty list when nothing is."""
        self._looks.append(look)

    def left(self) -> list[str]:
        """What is there now and was not there before."""
        return [
            *(f"the thread {thread.name}" for thread in threading.enumerate() if thread not in self._threads),
            *(f"the process {pid}: {words}" for pid, words in self._new_processes()),
            *(f"the open file {name}" for name in _open_files(set(_descriptors()) - self._descriptors)),
            *(f"the temporary file {name}" for name in sorted(set(_names(self.temporary)) - self._temporary)),
            *(word for look in self._looks for word in look()),
        ]

    def check(self, patience: float = PATIENCE) -> None:
        """Fail if something is left, having waited for what is about to end."""
        until = time.monotonic() + patience
        while (left := self.left()) and time.monotonic() < until:
            time.sleep(_PAUSE)
        if left:
            pytest.fail("Something is left of this test: " + "; ".join(left))

    def _new_processes(self) -> list[tuple[int, str]]:
        if _childless() and _ended() == self._ended:  # none was started: none is there that lost its parents, either
            return []
        return [(pid, words) for pid, words in _processes(self.mark).items() if pid not in self._processes]


@pytest.fixture
def nothing_left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NothingLeft]:
    """Fails the test if it leaves a thread, a process, an open file or a temporary file behind."""
    stash = request.config.stash
    if _folder not in stash:
        stash[_folder] = tmp_path_factory.mktemp("temporary")
    temporary = stash[_folder]
    made = NothingLeft(temporary)
    before = tempfile.tempdir, os.environ.get("TMPDIR"), os.environ.get(MARK)
    tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
    os.environ[MARK] = made.mark
    yield made
    try:
        made.check()
    finally:
        tempfile.tempdir = before[0]
        for name, value in zip(("TMPDIR", MARK), before[1:], strict=True):
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _childless() -> bool:
    """Whether this process has no child at all, not even one that has ended and was not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def _ended() -> object:
    """Another value once a child of this process has been waited for: each has used some memory, and it is counted."""
    return resource.getrusage(resource.RUSAGE_CHILDREN)


def _processes(mark: str) -> dict[int, str]:
    """What descends from this process, ended and not waited for included, and what bears the mark."""
    parents: dict[int, int] = {}
    marked: set[int] = set()
    mine = f"{MARK}={mark}".encode()
    for name in os.listdir("/proc"):  # noqa: PTH208 - a few hundred of them, again and again
        if not name.isdigit():
            continue
        try:
            parents[int(name)] = int(_read(f"/proc/{name}/stat").rpartition(b")")[2].split(maxsplit=2)[1])
            if int(name) != os.getpid() and mine in _read(f"/proc/{name}/environ").split(b"\0"):
                marked.add(int(name))
        except OSError:
            continue
    found = {pid for pid in parents if pid in marked or _descends(pid, parents)}
    return {pid: words for pid in sorted(found) if (words := _words(pid)) is not None}


def _read(path: str) -> bytes:
    """The whole file: a Path and a buffer would cost more than the look."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.read()


def _descends(pid: int, parents: dict[int, int]) -> bool:
    seen: set[int] = set()
    while pid in parents and pid not in seen:
        seen.add(pid)
        pid = parents[pid]
        if pid == os.getpid():
            return True
    return False


def _words(pid: int) -> str | None:
    """Its command line, as far as it says who it is; ``None`` when it is gone by now."""
    try:
        words = Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return None
    return words[:200] or "ended, and not waited for"


def _names(folder: Path) -> list[str]:
    return os.listdir(folder)  # noqa: PTH208 - a Path of each would cost more than the look


def _descriptors() -> Iterator[tuple[int, int, int]]:
    """Each number, and which file is behind it."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with contextlib.suppress(OSError):  # the one that was listing is closed by now
            seen = os.fstat(int(name))
            yield int(name), seen.st_dev, seen.st_ino


def _open_files(descriptors: Iterable[tuple[int, int, int]]) -> list[str]:
    """Those that are plain files of a temporary folder, by their names."""
    found = []
    for number, _, _ in descriptors:
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
            plain = stat.S_ISREG(os.fstat(number).st_mode)
            if plain and target.startswith((tempfile.gettempdir(), "/tmp/", "/var/tmp/")):  # noqa: S108 - looked for
                found.append(target)
    return sorted(found)
