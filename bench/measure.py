"""What the measuring scripts share: CPU time, medians, the bare SQLite commit that sets the scale, a no-op tool.

CPU is that of the whole process, all threads. Machines differ and are never idle, so whatever is compared is measured
in one run, in turns, and each figure is the median over the turns.
"""

import contextlib
import json
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from callslip import Runtime, Tool, tool
from callslip.ports.model import Proposal

Figures = dict[str, Any]
BODY = b"x" * 400
"""As large as a short record."""


class Cpu:
    """CPU microseconds since its making."""

    def __init__(self) -> None:
        self._began = time.process_time()

    def per(self, count: int) -> float:
        return (time.process_time() - self._began) / count * 1e6


def middle(values: Sequence[float]) -> float:
    return round(statistics.median(values), 1)


def at_most(value: float, limit: float) -> Figures:
    return {"value": value, "at_most": limit, "met": value <= limit}


def at_least(value: float, limit: float) -> Figures:
    return {"value": value, "at_least": limit, "met": value >= limit}


def bare_commits(folder: Path, count: int) -> float:
    """CPU microseconds of one SQLite transaction with one insert, WAL, synchronous=FULL: the floor of any ledger."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        connection.execute("create table if not exists bare (seq integer primary key, body blob)")
        cpu = Cpu()
        for _ in range(count):
            connection.execute("begin immediate")
            connection.execute("insert into bare (body) values (?)", (BODY,))
            connection.execute("commit")
        return cpu.per(count)
    finally:
        connection.close()


@tool(risk="read")
async def noop(number: int) -> int:
    """Does nothing, on the event loop."""
    return number


@tool(risk="read")
def noop_in_thread(number: int) -> int:
    """Does nothing, in a worker thread."""
    return number


def proposals(width: int, one: Tool = noop) -> list[Proposal]:
    """Calls as a provider sends them: the arguments are text."""
    return [Proposal(tool=one.spec.name, arguments=json.dumps({"number": number})) for number in range(width)]


def commits(runtime: Runtime) -> int:
    """Transactions the runtime's ledger has committed."""
    count: int = getattr(runtime.parts.ledger, "commits")  # noqa: B009 - both ledgers have it, the port does not ask
    return count


@contextlib.contextmanager
def scratch(parent: Path | None) -> Iterator[Path]:
    """A temporary folder on a real disk, if there is one."""
    parent = parent or (Path("/var/tmp") if os.access("/var/tmp", os.W_OK) else None)
    with tempfile.TemporaryDirectory(dir=parent, prefix="callslip-bench-") as folder:
        yield Path(folder)
