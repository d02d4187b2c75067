"""A pytest fixture that fails a test which leaves something behind: a thread, a process, an open or temporary file.

::

    from callslip.testing.nothing_left import nothing_left  # in conftest.py

    @pytest.mark.usefixtures("nothing_left")
    async def test_my_tool_ends(): …

What ends by itself a moment later is waited for. ``nothing_left.also(look)`` has the test look for more: ``look()``
names what is left of it.
"""

from __future__ import annotations

import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callslip.sources.child_supervisor import MARK

PATIENCE = 10.0
"""The most seconds that what is about to end is waited for."""
_PAUSE = 0.01


class NothingLeft:
    """What was there when the test began, and what is there beside it."""

    def __init__(self, temporary: Path) -> None:
        self.temporary = temporary
        """Where temporary files are made during the test."""
        self._looks: list[Callable[[], list[str]]] = []
        self._threads = {thread.ident for thread in threading.enumerate()}
        self._processes = set(_processes())
        self._files = set(_open_files())

    def also(self, look: Callable[[], list[str]]) -> None:
        """Look for more: ``look`` names what is left, and gives an empty list when nothing is."""
        self._looks.append(look)

    def left(self) -> list[str]:
        """What is there now and was not there before."""
        threads = [thread for thread in threading.enumerate() if thread.ident not in self._threads]
        processes = {pid: words for pid, words in _processes().items() if pid not in self._processes}
        return [
            *(f"the thread {thread.name}" for thread in threads),
            *(f"the process {pid}: {words}" for pid, words in processes.items()),
            *(f"the open file {name}" for name in sorted(set(_open_files()) - self._files)),
            *(f"the temporary file {path}" for path in sorted(self.temporary.iterdir())),
            *(word for look in self._looks for word in look()),
        ]

    def check(self) -> None:
        """Fail if something is left, having waited for what is about to end."""
        until = time.monotonic() + PATIENCE
        while (left := self.left()) and time.monotonic() < until:
            time.sleep(_PAUSE)
        if left:
            pytest.fail("Something is left of this test: " + "; ".join(left))


@pytest.fixture
def nothing_left(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[NothingLeft]:
    """Fails the test if it leaves a thread, a process, an open file or a temporary file behind."""
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    made = NothingLeft(temporary)
    yield made
    made.check()


def _processes() -> dict[int, str]:
    """What descends from this process, ended and not waited for included, and what one of its tools has started."""
    parents: dict[int, int] = {}
    marked: set[int] = set()
    mine = f"{MARK}={os.getpid()}-".encode()
    for name in os.listdir("/proc"):  # noqa: PTH208 - a few hundred of them, again and again
        if not name.isdigit():
            continue
        try:
            parents[int(name)] = int(Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()[1])
            if any(one.startswith(mine) for one in Path("/proc", name, "environ").read_bytes().split(b"\0")):
                marked.add(int(name))
        except OSError:
            continue
    found = {pid for pid in parents if pid in marked or _descends(pid, parents)}
    return {pid: words for pid in sorted(found) if (words := _words(pid)) is not None}


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


def _open_files() -> Iterator[str]:
    """Plain files of a temporary folder that this process has open."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        path = f"/proc/self/fd/{name}"
        try:
            target = os.readlink(path)  # noqa: PTH115
            plain = stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
        except OSError:
            continue
        if plain and target.startswith((tempfile.gettempdir(), "/tmp/", "/var/tmp/")):  # noqa: S108 - looked for
            yield target
