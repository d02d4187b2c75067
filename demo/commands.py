"""The real command line, run as a person would: shown as typed, its answer as it came.

Two terminals. Olga's knows the state folder by ``CALLSLIP_STATE``. Mara's is on a desk of her own: another folder,
another key, nothing of the application, and the state folder only where she names it.
"""

from __future__ import annotations

import shlex
import subprocess
import sys

from demo.child import ChildError
from demo.stage import OLGA, Stage

_SECONDS = 30
_CALLSLIP = ("-m", "callslip.cli.main")
_CODE = """
import importlib.util, sys
try:
    found = importlib.util.find_spec("demo.tools")
except ModuleNotFoundError:
    found = None
print(found is None and not any(name.partition(".")[0] == "demo" for name in sys.modules))
"""


def callslip(stage: Stage, *words: str, who: str = OLGA) -> tuple[int, str]:
    """Type a command into somebody's terminal and run it there. Its exit code and answer."""
    stage.screen.command(shlex.join(["callslip", *words]), who=f"{who} " if who != OLGA else "")
    code, said = python(stage, who, *_CALLSLIP, *words)
    for line in said.splitlines():
        stage.screen.output(line)
    return code, said


def quietly(stage: Stage, who: str, *words: str) -> str:
    """The same, not shown. Its answer.

    Raises:
        ChildError: it failed.
    """
    code, said = python(stage, who, *_CALLSLIP, *words)
    if code:
        raise ChildError(f"callslip {words[0]} ended with {code}.\n{said}")
    return said


def has_no_code(stage: Stage, who: str) -> bool:
    """Whether a Python in somebody's terminal finds nothing of the application."""
    return python(stage, who, "-c", _CODE) == (0, "True\n")


def python(stage: Stage, who: str, *words: str) -> tuple[int, str]:
    """Run this Python in somebody's terminal. ``-P``: what lies in the folder is not importable."""
    done = subprocess.run(
        [sys.executable, "-P", *words],
        cwd=stage.desk(who),
        env={**stage.environment(who), "COLUMNS": str(stage.screen.width - 4), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout
