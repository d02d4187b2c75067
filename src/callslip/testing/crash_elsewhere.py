"""The tool of crash runs that works in a process of its own, and has something go on behind its back there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from callslip.ports.context import Context
from callslip.sources.functions import tool
from callslip.testing.effects import Effects

SOCKET, WORLD = "CRASH_SOCKET", "CRASH_WORLD"


@tool(risk="write", recovery="idempotent", local_effect=True, process=True, claims=["item:{item}"])
def elsewhere(item: str, context: Context, size: int = 0) -> dict[str, Any]:
    """Do something that the service does once per idempotency key, and leave a deaf process in a session of its own."""
    subprocess.Popen(["sh", "-c", "trap '' TERM; exec sleep 600"], start_new_session=True)  # noqa: S607 - whichever
    effects = Effects(Path(os.environ[SOCKET]), os.environ[WORLD])
    return effects.take(context, "elsewhere", target=item, value=f"{item} was done") | {"data": "x" * size}


def tell(effects: Effects) -> None:
    """Let the processes that are started from now on know where effects are taken."""
    os.environ[SOCKET], os.environ[WORLD] = str(effects.path), effects.world
