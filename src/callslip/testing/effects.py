"""Effects on a world that outlives the process: another process counts them, so a killed one can't lie about them.

A tool under test calls :meth:`Effects.take` where a real one would call its service. What was taken is certain from the
moment the datagram is sent: the kernel delivers datagrams whole and in order, so whoever asks later is told of it.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from callslip import failpoint
from callslip.ports.context import Context

SENT = "effect.sent"
"""A failpoint of the tests' own: the effect took place, and the tool has not heard of it yet."""
_LARGEST = 200_000


class Arrival(msgspec.Struct, frozen=True, array_like=True):
    """One effect, as the world saw it."""

    world: str
    tool: str
    key: str
    """The idempotency key of the call."""
    attempt: int
    target: str
    value: str


class _Ask(msgspec.Struct, frozen=True, array_like=True):
    what: str
    world: str
    arrival: Arrival | None = None
    key: str = ""


class Effects:
    """A tool's way to one world. Any number of processes and threads may use it at once; it holds nothing open.

    Args:
        path: the counter's socket.
        world: effects of one world are never seen in another; one for each run of a test.
    """

    def __init__(self, path: Path, world: str) -> None:
        self.path = path
        self.world = world

    def take(self, context: Context, tool: str, *, target: str = "", value: str = "") -> dict[str, Any]:
        """Have an effect. What comes back tells nothing that the arguments did not."""
        arrival = Arrival(self.world, tool, context.idempotency_key, context.attempt, target, value)
        with self._socket() as connection:
            connection.sendto(msgspec.json.encode(_Ask("take", self.world, arrival)), str(self.path))
            failpoint.hit(SENT)
            connection.recv(_LARGEST)
        return {"tool": tool, "target": target, "value": value}

    def happened(self, key: str) -> Arrival | None:
        """The effect with this idempotency key, if there was one: what a probe asks."""
        return next((arrival for arrival in self.arrivals() if arrival.key == key), None)

    def value(self, target: str) -> str:
        """What the last effect on the target left there; empty at first: what evidence is taken of."""
        return next((arrival.value for arrival in reversed(self.arrivals()) if arrival.target == target), "")

    def arrivals(self) -> list[Arrival]:
        """Every effect of this world, in the order in which they took place."""
        with self._socket() as connection:
            connection.sendto(msgspec.json.encode(_Ask("arrivals", self.world)), str(self.path))
            return msgspec.json.decode(connection.recv(_LARGEST), type=list[Arrival])

    @contextlib.contextmanager
    def _socket(self) -> Any:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.bind("")  # Linux gives it a name of its own, for the answer
            connection.settimeout(30)
            yield connection


class EffectCounter:
    """The process that counts. ::

    with EffectCounter(folder) as counter:
        effects = counter.world("one")
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "effects.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def world(self, name: str) -> Effects:
        """The way to a world."""
        return Effects(self.path, name)

    def __enter__(self) -> Self:
        command = [sys.executable, "-c", "from callslip.testing.effects import serve; serve()", str(self.path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            self.close()
            raise RuntimeError(f"the effect counter at {self.path} did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process; it ends of itself when ours does."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            process.wait()
            process.stdout.close()
        self.path.unlink(missing_ok=True)


def serve() -> None:
    """The counter's own process: count until standard input closes."""
    path = sys.argv[1]
    worlds: dict[str, list[Arrival]] = {}
    decoder = msgspec.json.Decoder(_Ask)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(path)
        os.write(1, b"ready\n")
        while True:
            ready, _, _ = select.select([server.fileno(), 0], [], [])
            if server.fileno() not in ready:
                return
            data, sender = server.recvfrom(_LARGEST)
            answer = _answer(worlds, decoder.decode(data))
            with contextlib.suppress(OSError):  # the one who asked was killed
                server.sendto(answer, sender)


def _answer(worlds: dict[str, list[Arrival]], ask: _Ask) -> bytes:
    arrivals = worlds.setdefault(ask.world, [])
    if ask.arrival is not None:
        arrivals.append(ask.arrival)
        return b"true"
    return msgspec.json.encode(arrivals)
