"""The process that crash runs fork their victims from: it has imported everything, so that a victim costs little.

It reads orders from standard input, one JSON line each, and answers each with one line. A victim is a process of its
own; it is killed by itself at a failpoint, or by this process at an instant. Ends when standard input closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import mmap
import os
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
from pathlib import Path

import msgspec

from callslip import failpoint
from callslip.application import Runtime
from callslip.providers.scripted import Scripted, calling
from callslip.runtime.live import Live, Recorded
from callslip.sources.child_supervisor import descendants, end_all
from callslip.sources.functions import tool
from callslip.testing.crash_scenario import Build, Place, drive_to_rest, load
from callslip.testing.crash_verdict import fingerprint
from callslip.testing.effects import SENT, Effects

BOUNDARIES = (*failpoint.NAMES, *failpoint.AUDIT, SENT)
"""Every instant by name, in the order in which one call meets them; the last one is the tests' own."""
_COUNT = struct.Struct("<H")
_SIZE = 4096
_LIMIT = 60.0
_PATIENCE = 10.0
"""The most seconds that what a victim has started may outlive it."""
_PAUSE = 0.002
_PR_SET_CHILD_SUBREAPER = 36


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """Run one victim."""

    folder: str
    socket: str
    world: str
    variant: str
    at: str | None = None
    """Kill at this failpoint …"""
    hit: int = 1
    """… when it is met for the so-manieth time;"""
    after: float | None = None
    """or so many seconds after its first failpoint;"""
    opening: bool = False
    """or, instead, after its very start."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """How a victim ended."""

    killed: bool
    code: int
    """Exit status, or the number of the signal."""
    last: str
    """The last failpoint it met."""
    counts: dict[str, int]
    seconds: float
    """From its first failpoint, or its very start, to its end."""
    process: int = 0
    left: tuple[str, ...] = ()
    """Processes of it that went on. They are ended by now."""


class _Trace:
    """What a victim met, in memory shared with this process: it survives any kill."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, _SIZE)

    def clear(self) -> None:
        self._shared[:] = bytes(_SIZE)

    def meet(self, name: str) -> int:
        place = BOUNDARIES.index(name) + 1
        (count,) = _COUNT.unpack_from(self._shared, place * 2)
        _COUNT.pack_into(self._shared, place * 2, count + 1)
        _COUNT.pack_into(self._shared, 0, place)
        return int(count) + 1

    @property
    def last(self) -> str:
        (place,) = _COUNT.unpack_from(self._shared, 0)
        return BOUNDARIES[place - 1] if place else "start"

    @property
    def counts(self) -> dict[str, int]:
        pairs = ((name, _COUNT.unpack_from(self._shared, place * 2)[0]) for place, name in enumerate(BOUNDARIES, 1))
        return {name: count for name, count in pairs if count}


def serve() -> None:
    """Obey orders until standard input closes. Arguments: the target's file and function."""
    build = load(Path(sys.argv[1]), sys.argv[2])
    decoder = msgspec.json.Decoder(Order)
    trace = _Trace()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what a victim leaves is ours, and found
    asyncio.run(_warm_up())
    gc.freeze()  # what is shared with the victims stays shared
    os.write(1, b"ready\n")
    for line in sys.stdin.buffer:
        done = _victim(decoder.decode(line), build, trace)
        os.write(1, msgspec.json.encode(done) + b"\n")


async def _warm_up() -> None:
    """Load whatever is loaded at its first use, so that no victim has to."""

    @tool(risk="read")
    def look(item: str) -> str:
        """Look."""
        return item

    async with Runtime(tools=[look], model=Scripted([calling(("look", {"item": "a"})), "Done."])) as runtime:
        await runtime.run("Look.", session="warm")


def _victim(order: Order, build: Build, trace: _Trace) -> Done:
    trace.clear()
    ready, said = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(ready)
        _live(order, build, trace, said)
    os.close(said)
    os.read(ready, 1)
    began = time.monotonic()
    os.close(ready)
    killed = _await(process, _LIMIT if order.after is None else order.after)
    _, status = os.waitpid(process, 0)
    seconds = time.monotonic() - began
    code = -os.waitstatus_to_exitcode(status)
    return Done(
        killed=code == signal.SIGKILL and (killed == (order.after is not None)),
        code=abs(code),
        last=trace.last,
        counts=trace.counts,
        seconds=seconds,
        process=process,
        left=tuple(_left()),
    )


def _left() -> list[str]:
    """What the victim started and still runs, though it had time to end."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return []
        if not ended:
            time.sleep(_PAUSE)
    left = [f"{pid}: {_words(pid)}" for pid in descendants(os.getpid())]
    end_all(0)
    return left


def _words(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    return "it has ended just now"


def _await(process: int, seconds: float) -> bool:
    """Let it run for so long, then kill it. Whether that was needed."""
    watched = os.pidfd_open(process)
    try:
        ended, _, _ = select.select([watched], [], [], seconds)
        if not ended:
            os.kill(process, signal.SIGKILL)
        return not ended
    finally:
        os.close(watched)


def _live(order: Order, build: Build, trace: _Trace, said: int) -> None:
    """A victim's whole life. Never returns."""
    code = 1
    try:
        folder = Path(order.folder)
        noted = os.open(folder / "known", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        errors = os.open(folder / "errors", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.dup2(errors, 2)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder / "temporary")
        effects = Effects(Path(order.socket), order.world)
        place = Place(state=folder / "state", workspace=folder / "workspace", effects=effects, variant=order.variant)

        def listener(name: str) -> None:
            if trace.last == "start" and not order.opening:
                os.write(said, b"!")
            if trace.meet(name) == order.hit and name == order.at:
                os.kill(os.getpid(), signal.SIGKILL)

        def watch(live: Live) -> None:
            if isinstance(live, Recorded):
                os.write(noted, f"{live.seq} {fingerprint(live.record)}\n".encode())

        failpoint.listen(listener)
        if order.opening:
            os.write(said, b"!")
        scenario = build(place)
        scenario.runtime.configure(watch=watch)
        asyncio.run(drive_to_rest(scenario, effects))
        code = 0
    except BaseException:  # noqa: BLE001 - whatever ended it stands in the file for the report
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
