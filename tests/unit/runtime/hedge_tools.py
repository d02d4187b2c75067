"""A tool in a process of its own that is slow the first time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from callslip import tool

AFTER = 0.2


@tool(name="hedge_look", risk="read", timeout=1000, hedge_after=AFTER, process=True)
def look(folder: str) -> str:
    """The first one starts another process and waits for ever; the second one answers."""
    here = Path(folder)
    try:
        (here / "first").touch(exist_ok=False)
    except FileExistsError:
        (here / "answered").touch()
        return "second"
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
    (here / "pid").write_text(str(grandchild.pid))
    (here / "pid").rename(here / "grandchild")
    time.sleep(1000)
    return "first"


def gone(pid: int) -> bool:
    """Whether the process has ended."""
    try:
        return b") Z " in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
