"""What the peer scripts share: the meter of one durable step, the crash check, the command line.

Standard library only, since each peer runs in an environment of its own. A step's effect is `Meter.effect`,
so the time of a step is the time between two consecutive effects: everything the engine does to commit one
step and to begin the next. CPU is the process time of this process and of the engine's servers between the
first and the last measured effect. In the crash check the effect is `crash_once`: it makes one durable line
and kills its process before the engine can record the step, then a second process recovers the workflow.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any


@dataclass
class Server:
    """What an engine runs beside the application: its address, its process, the settings it reports."""

    url: str = ""
    pid: int | None = None
    facts: dict[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def no_server(_folder: Path) -> Iterator[Server]:
    yield Server()


@dataclass
class Meter:
    """Counts the effects of a workflow and times those after the warm-up."""

    steps: int
    warmup: int
    server_pid: int | None = None
    effects: int = 0
    marks: list[float] = field(default_factory=list)
    window: list[float] = field(default_factory=list)
    cpu: list[dict[int, float]] = field(default_factory=list)

    @property
    def total(self) -> int:
        """The steps a workflow must have: the warm-up, one that opens the window, the measured ones."""
        return self.warmup + 1 + self.steps

    def effect(self) -> int:
        self.effects += 1
        if self.effects == self.warmup + 1:
            self._snapshot()
        if self.effects > self.warmup:
            self.marks.append(time.perf_counter())
        if self.effects == self.total:
            self._snapshot()
        return self.effects

    def _snapshot(self) -> None:
        self.window.append(time.time())
        servers = family(self.server_pid) if self.server_pid else []
        self.cpu.append({pid: cpu_seconds(pid) for pid in [os.getpid(), *servers]})

    def report(self, peer: str, packages: list[str], durability: dict[str, str]) -> dict[str, Any]:
        gaps = sorted((b - a) * 1e6 for a, b in zip(self.marks, self.marks[1:], strict=False))
        before, after = self.cpu
        used = {pid: seconds - before.get(pid, 0.0) for pid, seconds in after.items()}
        application = used.pop(os.getpid())
        return {
            "peer": peer,
            "version": ", ".join(f"{name} {version(name)}" for name in packages),
            "steps": len(gaps),
            "median_us": round(statistics.median(gaps), 1),
            "p99_us": round(gaps[int(len(gaps) * 0.99) - 1], 1),
            "mean_us": round(statistics.fmean(gaps), 1),
            "cpu_us_per_step": round((application + sum(used.values())) / len(gaps) * 1e6, 1),
            "cpu_us_per_step_server": round(sum(used.values()) / len(gaps) * 1e6, 1),
            "effects": self.effects,
            "durability": durability,
            "window": self.window,
        }


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process, its ended threads included; 0 for one that is gone."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3) on Linux
    except OSError:
        return 0.0


def family(root: int) -> list[int]:
    """A process and its descendants."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    members = [root]
    for member in members:
        members.extend(pid for pid, parent in parents.items() if parent == member)
    return members


def crash_once(folder: Path) -> int:
    """Append one durable line; the first time, die before the engine can record the step."""
    effects = folder / "effects"
    handle = os.open(effects, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, b"effect\n")
    os.fsync(handle)
    os.close(handle)
    done = effects.read_bytes().count(b"\n")
    if done == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return done


def crash_check(peer: str, folder: Path, server: Server) -> dict[str, Any]:
    """Run the worker until it kills itself, run it again to recover, count the effects."""
    command = [sys.executable, sys.argv[0], "worker", "--dir", str(folder), "--url", server.url]
    first, second = (subprocess.run(command, check=False, timeout=90).returncode for _ in range(2))
    if first != -signal.SIGKILL or second != 0:
        raise SystemExit(f"the worker was to be killed and then to recover, its exits were {first}, {second}")
    return {"peer": peer, "effects_after_kill": (folder / "effects").read_bytes().count(b"\n")}


def main(
    peer: str,
    step: Callable[[Path, Meter, Server], dict[str, Any]],
    worker: Callable[[Path, str], None],
    server: Callable[[Path], AbstractContextManager[Server]] = no_server,
) -> None:
    """`step` measures, `kill` checks a crash, `worker` is the process that `kill` runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["step", "kill", "worker"])
    parser.add_argument("--dir", type=Path, required=True, help="an empty folder on a real disk")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--warmup", type=int, default=30)
    parser.add_argument("--url", default="", help="for `worker`: the engine's server")
    args = parser.parse_args()
    if args.mode == "worker":
        worker(args.dir, args.url)
        return
    with server(args.dir) as started:
        if args.mode == "step":
            result = step(args.dir, Meter(args.steps, args.warmup, started.pid), started)
        else:
            result = crash_check(peer, args.dir, started)
    print(json.dumps(result), flush=True)
