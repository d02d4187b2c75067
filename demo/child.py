"""A process that the story starts, listens to and may kill: lines of JSON come out of it."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
"""The folder that holds the ``demo`` package."""
_PATIENCE = 60.0


class ChildError(Exception):
    """The process did not do what the story needs; the text holds what it said on standard error."""


class Child:
    """A process of ours. Standard input is a pipe: when this process ends, so does the child."""

    def __init__(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(
            list(arguments),
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def next(self, seconds: float = _PATIENCE) -> dict[str, Any] | None:
        """What it says next; ``None`` when it has said everything.

        Raises:
            ChildError: nothing came in that time.
        """
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            raise ChildError(f"{self.name} said nothing for {seconds:.0f} s.{self.errors()}") from None

    def until(self, kind: str, seconds: float = _PATIENCE) -> dict[str, Any]:
        """The next line of that kind; others are passed over.

        Raises:
            ChildError: it ended without.
        """
        while (line := self.next(seconds)) is not None:
            if line.get("kind") == kind:
                return line
        raise ChildError(f"{self.name} ended without the line {kind!r}.{self.errors()}")

    def sigkill(self) -> int:
        """Kill it the hard way. Its exit status as the system tells it: minus the signal's number."""
        self._process.send_signal(signal.SIGKILL)
        return self.wait()

    def wait(self) -> int:
        """Its exit status.

        Raises:
            ChildError: it does not end.
        """
        try:
            return self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise ChildError(f"{self.name} does not end.{self.errors()}") from None

    def errors(self) -> str:
        """What it said on standard error."""
        self._errors.seek(0)
        text = self._errors.read().decode(errors="replace").strip()
        return f"\n{text}" if text else ""

    def close(self) -> None:
        """End it, if it has not ended."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(_PATIENCE)
        if self._process.stdin:
            self._process.stdin.close()
        self._reader.join(1)
        if self._process.stdout:
            self._process.stdout.close()
        self._errors.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b"{"):
                self._lines.put(json.loads(line))
        self._lines.put(None)


def module(name: str, *arguments: str) -> list[str]:
    """The command line that runs a module of the demo in this very Python."""
    return [sys.executable, "-m", name, *arguments]
