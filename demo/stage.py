"""What all acts share: folders, the bank, the worker's processes, and a look at the log."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import click

from callslip.core.event import Event
from callslip.ledgers.sqlite import SqliteLedger
from demo import wire
from demo.child import ROOT, Child, module
from demo.claims import Claims
from demo.drawing import Trace
from demo.screen import Screen
from demo.tools import ACCOUNT

OLGA, MARA = "olga", "mara"
"""Whose agent it is, and who runs the office; and who may approve."""
SESSION = "office"
TEXT = (
    "Audit the versions of our twenty packages. Correct payments.toml if it names an old one. Then pay invoice "
    "INV-2041 of Hollis Paper Ltd, EUR 1,840.00, and send them a letter that it is paid."
)
AMOUNT_CENTS = 184_000
TEMPLATE = ROOT / "demo" / "workspace"
REPLIES = ROOT / "demo" / "replies" / "office.jsonl"
INSTANTS = ("effect.after", "settle.before")
"""The worker is held at one of these named instants: its effect is in the world, its T2 is not committed."""
SABOTAGE = ("no-keys", "double-charge", "lying-probe", "no-flip")
"""Faults the demo must notice; for its own tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked for on the command line."""

    seed: int
    interactive: bool = False
    model: str | None = None
    record: Path | None = None
    langgraph: Path | None = None
    sabotage: str = ""

    @property
    def patience(self) -> float:
        """Seconds a worker may be silent: a live model takes its time."""
        return 300.0 if self.model else 60.0


@dataclass(slots=True, kw_only=True)
class Stage:
    """One showing of the demo. Close it, or use it in ``with``."""

    options: Options
    screen: Screen
    claims: Claims
    folder: Path
    random: random.Random
    trace: Trace
    url: str = ""
    bank: Child = field(init=False)
    running: Child = field(init=False)
    """The worker that goes on from one act into the next."""
    summary: list[tuple[str, str]] = field(default_factory=list)
    """Rows of the box at the end, each written by the act that saw it."""
    _children: list[Child] = field(default_factory=list)

    def open(self) -> None:
        """Copy the workspace, and start the bank."""
        shutil.copytree(TEMPLATE, self.workspace)
        self.desk(MARA).mkdir()
        twice = ["--twice"] if self.options.sabotage == "double-charge" else []
        self.bank = self.start("the bank", *module("demo.bank", *twice))
        self.url = self.bank.until("open")["url"]

    def close(self) -> None:
        """End every process."""
        for child in reversed(self._children):
            child.close()

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def ledger(self) -> Path:
        return self.state / "ledger.db"

    def desk(self, who: str) -> Path:
        """The folder in which somebody's terminal stands."""
        return self.folder / who if who == MARA else self.folder

    def environment(self, who: str) -> dict[str, str]:
        """What a process of theirs starts with: their own keys, and none of the viewer's settings."""
        not_theirs = "CALLSLIP_" if who == OLGA else ("CALLSLIP_", "PYTHONPATH")
        mine = {name: value for name, value in os.environ.items() if not name.startswith(not_theirs)}
        theirs = {"XDG_CONFIG_HOME": str(self.folder / who), "XDG_STATE_HOME": str(self.folder / "elsewhere")}
        return mine | theirs | ({"CALLSLIP_STATE": str(self.state)} if who == OLGA else {})

    def start(self, name: str, *arguments: str) -> Child:
        """Start a process that knows where everything is."""
        environment = self.environment(OLGA) | {
            "DEMO_WORKSPACE": str(self.workspace), "DEMO_BANK": self.url,
            "DEMO_PROBE": "lies" if self.options.sabotage == "lying-probe" else "",
            "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false",  # nothing leaves this machine
        }  # fmt: skip
        child = Child(name, arguments, environment)
        self._children.append(child)
        return child

    def alive(self) -> list[int]:
        """Processes that work on the demo's state, by the environment they were started with. Not the bank."""
        mark = f"CALLSLIP_STATE={self.state}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it ended meanwhile, or is somebody else's
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        return sorted(set(found) - {self.bank.pid})

    def missed(self, worker: Child, tool: str) -> None:
        """The worker never came to that tool: say why, as a claim that does not hold."""
        why = worker.errors() or "\nthe session ended without it"
        self.claims.check(f"the agent called {tool}", seen=why.strip().splitlines()[-1])

    def worker(self, *, text: str | None = None, hold: str = "") -> Child:
        """Start a worker; with ``hold`` it stands still between that tool's effect and T2."""
        arguments = [SESSION, "--replies", str(REPLIES), "--instant", self.random.choice(INSTANTS)]
        arguments += ["--hold", hold] if hold else []
        arguments += ["--text", text] if text else []
        arguments += ["--model", self.options.model] if self.options.model else []
        arguments += ["--record", str(self.options.record)] if self.options.record else []
        return self.start("the worker", *module("demo.worker", *arguments))

    def watch(self, worker: Child, *, until_settled: str = "") -> dict[str, Any]:
        """Draw what the worker says, until it is held, at its end, or has settled a call of that tool.

        Returns:
            What it said last; empty if it just died.
        """
        while (line := worker.next(self.options.patience)) is not None:
            match line["kind"]:
                case "record":
                    self.trace.record(line)
                    if until_settled and until_settled == self.trace.settled(line["event"]):
                        return line
                case "waiting":
                    self.trace.waiting(line["reason"], line["seconds"])
                case "held" | "end":
                    return line
        return {}

    def kill(self, worker: Child, what: str) -> int:
        """SIGKILL, when a key is pressed or a random moment has come. The exit status."""
        if self.options.interactive:
            self.screen.line(click.style(f"  {what} Press any key to kill the worker.", fg="red"), rest=0)
            click.getchar()
        else:
            time.sleep(self.random.uniform(0.02, 0.25))
        status = worker.sigkill()
        shown = f"      ✖ SIGKILL   process {worker.pid}, exit status {status}"
        self.screen.line(click.style(shown, fg="red", bold=True), rest=3)
        self.screen.line()
        return status

    def books(self) -> dict[str, Any]:
        """What the bank and the mail room have counted."""
        books: dict[str, Any] = wire.ask(self.url, "GET", "/ledger")
        return books

    def charged(self, account: str = ACCOUNT) -> tuple[int, int]:
        """How many charges there are on the account, and their sum in cents."""
        found = self.books()["accounts"].get(account, {"charges": 0, "amount_cents": 0})
        return found["charges"], found["amount_cents"]

    def log(self) -> list[tuple[int, Event]]:
        """The session's log, read from the disk and checked."""

        async def read() -> list[tuple[int, Event]]:
            ledger = SqliteLedger(self.ledger)
            try:
                return [(stored.seq, stored.record.event) for stored in await ledger.read(SESSION)]
            finally:
                await ledger.aclose()

        return anyio.run(read)


def euros(cents: int) -> str:
    """Cents as people write them."""
    return f"EUR {cents / 100:,.2f}"


def counted(charges: int) -> str:
    """So many charges."""
    return f"{charges} charge{'' if charges == 1 else 's'}"
