import ctypes
import json
import os
import sqlite3
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from callslip.cli.main import cli

APP = '''
import asyncio
import json
import time
from pathlib import Path

from callslip import Runtime, tool
from callslip.core.message import UserText
from callslip.providers.scripted import Scripted, calling, saying

HERE = Path(__file__).parent


def obey(request):
    """The user's words are calls, one a line: a tool's name and its arguments. Then an answer."""
    last = request.messages[-1]
    if not isinstance(last, UserText):
        return saying("all done")
    if not last.text.startswith("call "):
        return saying(f"You said: {last.text}")
    calls = [line.removeprefix("call ").partition(" ") for line in last.text.splitlines()]
    return calling(*[(name, json.loads(rest or "{}")) for name, _, rest in calls], text="let me see")


def note(what):
    with (HERE / "effects").open("a") as file:
        file.write(what + "\\n")


@tool(risk="read", recovery="idempotent")
def find_thing(name: str) -> str:
    """Find a thing by its name."""
    return f"found {name}"


@tool(risk="write", local_effect=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    note(f"pay {amount}")
    return f"paid {amount}"


@tool(risk="write", local_effect=True)
def wait_long() -> str:
    """Work until the file "go" is there."""
    note("wait_long")
    (HERE / "started").touch()
    while not (HERE / "go").exists():
        time.sleep(0.01)
    return "went"


@tool(risk="write", local_effect=True)
async def block_loop() -> str:
    """Hold up the whole event loop, as a careless tool would."""
    (HERE / "started").touch()
    while not (HERE / "go").exists():
        time.sleep(0.01)
    return "went"


@tool(risk="write", client_owned=True)
def sign(document: str) -> str:
    """Have the client sign a document."""


@tool(risk="read")
def shout(size: int = 10) -> str:
    """Give back text that would steer a terminal."""
    return "\\x1b[31mred\\u202eevil" + "x" * size


@tool
def erase_all() -> str:
    """Dangerous, as nothing is declared."""


TOOLS = [find_thing, pay, wait_long, block_loop, sign, shout, erase_all]
rt = Runtime(tools=TOOLS, model=Scripted([obey] * 100))
bare = Runtime(tools=TOOLS)
not_one = 42


def made():
    return Runtime(tools=TOOLS, model=Scripted([obey] * 100))
'''

ANSI = "\x1b"


class Project:
    """A project in a folder, accepted as it is, and the command line in it."""

    def __init__(self, folder):
        self.folder = folder
        self.state = folder / "state"
        (folder / "app.py").write_text(APP)
        self.configure()

    def configure(self, text='app = "app.py:rt"\n'):
        (self.folder / "callslip.toml").write_text(('state = "state"\n' if "state" not in text else "") + text)
        self("trust", "--yes", code=None)  # what can't be accepted is for the test to find out

    def write(self, name, text):
        """A file of the project, accepted."""
        (self.folder / name).write_text(text)
        self.accept()

    def accept(self, *words):
        self("trust", "--yes", *words)

    def __call__(self, *words, code=0, text=None):
        forget(self.folder)  # as a process of its own would begin
        result = CliRunner().invoke(cli, [*words, "--project", str(self.folder)], input=text)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert code in {None, result.exit_code}, (result.exit_code, result.output)
        assert "Traceback" not in result.output or "--debug" in words
        return result

    def json(self, *words, code=0):
        return json.loads(self(*words, "--json", code=code).stdout)

    def lines(self, *words, code=0):
        return [json.loads(line) for line in self(*words, "--json", code=code).stdout.splitlines()]

    def start(self, *words, **settings):
        """The same in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "callslip.cli.main", *words, "--project", str(self.folder)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, **settings,
        )  # fmt: skip

    def finish(self, process, code):
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == code, (process.returncode, out, err)
        assert "Traceback" not in err
        return out, err

    def until(self, name):
        """Wait for a file that a tool makes."""
        path = self.folder / name
        for _ in range(6000):
            if path.exists():
                return
            time.sleep(0.01)
        raise AssertionError(f"{name} never came")

    def effects(self):
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    def sql(self, statement, *values):
        connection = sqlite3.connect(self.state / "ledger.db")
        with connection:
            rows = connection.execute(statement, values).fetchall()
        connection.close()
        return rows


def forget(folder):
    """Drop the modules that came from below the folder."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("CALLSLIP_STATE", "OPENAI_BASE_URL", "OPENAI_API_KEY", "NO_COLOR", "CALLSLIP_OWNER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    before = [(places, list(places)) for places in (sys.path, sys.meta_path, sys.path_hooks)]
    yield Project(folder)
    for places, were in before:
        places[:] = were
    sys.path_importer_cache.clear()
    forget(tmp_path)


@pytest.fixture
def unprivileged():
    """How a process is started that modes hold back: root loses the capability to pass over them."""
    return {} if os.geteuid() != 0 else {"preexec_fn": _obey_modes}


def _obey_modes():
    ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1
