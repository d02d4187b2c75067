"""The real command line, run as a person would: shown as typed, its answer as it came."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

from demo.child import ROOT
from demo.stage import Stage

_SECONDS = 30


def callslip(stage: Stage, *words: str) -> tuple[int, str]:
    """Type a command into the screen and run it, on the demo's state. Its exit code and answer."""
    stage.screen.command(shlex.join(["callslip", *words]))
    done = subprocess.run(
        [sys.executable, "-m", "callslip.cli.main", *words],
        cwd=stage.folder,
        env={**os.environ, "CALLSLIP_STATE": str(stage.state), "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    for line in done.stdout.splitlines():
        stage.screen.output(line)
    return done.returncode, done.stdout
