"""The command line in processes that cost little: each is forked from one that has imported it, and is its own after.

For a test that gives many commands. What happens before a command's own work — how its program is found, what Python
imports from where, a signal amid of that — only a process that is started shows.
"""

from __future__ import annotations

import array
import gc
import importlib
import os
import pkgutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

import msgspec

_LARGEST = 100_000
_PACKAGES = ("cli", "audit", "runtime", "sessions", "trust", "ledgers", "project")


class _Order(msgspec.Struct, frozen=True):
    words: list[str]
    folder: str
    environment: dict[str, str]


class ForkedCommands:
    """Gives commands, one at a time. A context manager.

    Args:
        program: how the command is called, as in ``/usr/bin/callslip``.
    """

    def __init__(self, program: Path) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # Isolated as a script is: not even the current folder is where modules are looked for.
            command = [sys.executable, "-P", "-c", "from callslip.testing.forked_commands import serve; serve()"]
            self._process = subprocess.Popen(  # noqa: S603
                [*command, str(theirs.fileno()), str(self._program)],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]},
            )  # fmt: skip
        if self._socket.recv(_LARGEST) != b"ready":
            self.close()
            raise RuntimeError("the command line could not be imported; the error stands above")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()
        if self._process is not None:
            self._process.wait()

    def run(
        self, words: Sequence[str], *, folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Without a terminal and without input, in a session of its own; what it said and its exit status."""
        order = _Order([str(word) for word in words], str(folder), dict(environment))
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            socket.send_fds(self._socket, [msgspec.json.encode(order)], [out.fileno(), err.fileno()])
            code = int(self._socket.recv(_LARGEST))
            said = [_read(file) for file in (out, err)]
        return subprocess.CompletedProcess([str(self._program), *words], code, *said)


def _read(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode())


def serve() -> None:
    """In the process that forks: until the other end is closed. Returns in no process but its own."""
    orders, program = socket.socket(fileno=int(sys.argv[1])), sys.argv[2]
    orders.set_inheritable(False)
    _load()
    gc.collect()
    gc.freeze()  # what is shared with the commands stays shared
    orders.send(b"ready")
    while True:
        data, fds, _, _ = socket.recv_fds(orders, _LARGEST, 2)
        if not data:
            return
        process = os.fork()
        if process == 0:
            orders.close()
            _be(msgspec.json.decode(data, type=_Order), program, array.array("i", fds))
        for fd in fds:
            os.close(fd)
        _, status = os.waitpid(process, 0)
        orders.send(str(os.waitstatus_to_exitcode(status)).encode())


def _load() -> None:
    for package in _PACKAGES:
        found = importlib.import_module(f"callslip.{package}")
        for module in pkgutil.iter_modules(found.__path__, f"callslip.{package}."):
            importlib.import_module(module.name)


def _be(order: _Order, program: str, outputs: Sequence[int]) -> NoReturn:
    """Be the command, and end as it does."""
    os.setsid()
    for number, fd in zip((1, 2), outputs, strict=True):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(order.environment)
    os.chdir(order.folder)
    sys.argv = [program, *order.words]
    sys.path.insert(0, str(Path(program).parent))
    sys.exit(importlib.import_module("callslip.cli.main").main())
