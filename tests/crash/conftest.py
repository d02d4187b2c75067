"""Programs that are killed, and the folder they share."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from callslip.testing.effects import EffectCounter

PROGRAMS = Path(__file__).with_name("programs")


class Processes:
    """Starts a program of ``programs/`` as a process of its own; none outlives the test."""

    def __init__(self, folder, effects):
        self.folder = folder
        self.effects = effects
        self._all = []

    def start(self, program, *args):
        command = [sys.executable, str(PROGRAMS / f"{program}.py"), str(self.folder), str(self.effects.path), *args]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._all.append(process)
        return process

    def end(self):
        for process in self._all:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    """No longer than here: while this process has a child, every test is asked whose it is."""
    with EffectCounter(tmp_path_factory.mktemp("counter")) as counter:
        yield counter


@pytest.fixture
def effects(counter, tmp_path):
    return counter.world(tmp_path.name)


@pytest.fixture
def processes(tmp_path, effects):
    processes = Processes(tmp_path, effects)
    yield processes
    processes.end()


@pytest.fixture
def memory_folder():
    """A folder in memory where there is one: a kill leaves what was written, synced or not."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)
