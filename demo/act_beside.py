"""Act eight: the same errand and the same kill in LangGraph, where it is installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from demo.beside import ACCOUNT
from demo.child import Child, ChildError
from demo.stage import TEMPLATE, Stage, counted, euros

HOW = (
    "LangGraph is not installed here, so nothing is compared. To see it: make an environment with "
    "`pip install langgraph langgraph-checkpoint-sqlite`, and run the demo with --langgraph-python PATH/bin/python."
)
_BENCH = "callslip-bench/langgraph/bin/python"
"""Where bench/peers.py keeps its LangGraph."""


def compared(stage: Stage) -> None:
    """Run it beside, and print its count as it is."""
    stage.screen.act(8, "Beside it: the same errand and the same kill in LangGraph")
    python = stage.options.langgraph or _find()
    asked_for = stage.options.langgraph is not None
    try:
        count = _run(stage, python) if python else None
    except (ChildError, OSError) as error:
        stage.screen.prose(f"It could not be run: {error}".splitlines()[0], dim=True)
        count = None
    if count is None:
        if asked_for:
            stage.claims.check("the LangGraph of --langgraph-python ran", seen=False)
        else:
            stage.screen.prose(HOW, dim=True)
        stage.summary.append(("the same in LangGraph", "not installed here, not compared"))


def _run(stage: Stage, python: Path) -> int | None:
    """How many charges there were; ``None`` where it is not installed."""
    workspace = stage.folder / "langgraph" / "workspace"
    shutil.copytree(TEMPLATE, workspace)
    first = _start(stage, python, "first", workspace)
    if (first.next() or {}).get("kind") != "held":
        return None
    stage.screen.prose("A graph with its SQLite checkpointer, durability sync; one of its nodes pays. Same bank.")
    stage.screen.fact("the bank", f"{counted(stage.charged(ACCOUNT)[0])}: the money has left.", bold=True)
    status = stage.kill(first, "The node has paid and has not returned.")
    last = _start(stage, python, "again", workspace)
    last.until("end")
    charges, cents = stage.charged(ACCOUNT)
    stage.claims.check("killed the same way (exit status -9), resumed to its end", (status, last.wait()), (-9, 0))
    stage.screen.fact("the bank", f"{counted(charges)}, {euros(cents)}", bold=True, color="yellow")
    stage.screen.prose(
        "As LangGraph documents: a node that did not end is run again from its start, and its author sees to it that "
        "this is safe. A bank that honours idempotency keys would refuse the repeat; this one counts it.",
        dim=True,
    )
    stage.summary.append(("the same in LangGraph", f"{counted(charges)}, {euros(cents)}"))
    return charges


def _start(stage: Stage, python: Path, moment: str, workspace: Path) -> Child:
    return stage.start("LangGraph", str(python), "-m", "demo.beside", moment, str(workspace), stage.url)


def _find() -> Path | None:
    """A Python with LangGraph: this one, or the one that the benchmarks use."""
    if importlib.util.find_spec("langgraph"):
        return Path(sys.executable)
    bench = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / _BENCH
    return bench if bench.exists() else None
