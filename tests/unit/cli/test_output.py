"""What becomes of the output never reaches the work, and signals are answered in a sentence."""

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from callslip.cli import asking, live
from callslip.cli.live import LiveView
from callslip.cli.wording import own_line

SLOW = ("run", "call wait_long", "--session", "s")


def settled(project):
    events = [one["record"]["event"]["type"] for one in project.json("show", "s")["records"]]
    return "function_response" in events and events[-1] == "run_ended"


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_viewer_that_goes_away_leaves_the_call_alone(project, words):
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "callslip.cli.main", *SLOW, *words], cwd=project.folder, stdout=writing, stderr=writing
    )
    os.close(writing)
    project.until("started")
    os.close(reading)
    (project.folder / "go").touch()
    assert process.wait(60) == 0
    assert settled(project)
    assert project.json("waits")["waits"] == []


@pytest.mark.parametrize("full", ["stdout", "stderr"])
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_output_to_a_full_disk_leaves_the_call_alone(project, full, words):
    (project.folder / "go").touch()
    other = "stderr" if full == "stdout" else "stdout"
    with open("/dev/full", "w") as nowhere:
        streams = {full: nowhere, other: subprocess.PIPE}
        done = subprocess.run(
            [sys.executable, "-m", "callslip.cli.main", *SLOW, *words], cwd=project.folder, text=True, check=False,
            **streams,
        )  # fmt: skip
    assert done.returncode == 0
    assert settled(project)
    if full == "stderr" and not words:
        assert done.stdout == "all done\n"
    if full == "stdout" and not words:
        assert "The answer could not be shown (No space left on device). It is kept: callslip show s" in done.stderr


def test_a_worker_whose_output_is_gone_goes_on(project):
    project("run", "hello", "--session", "s")
    project("send", "s", 'call pay {"amount": 1}')
    with open("/dev/full", "w") as nowhere:
        done = subprocess.run(
            [sys.executable, "-m", "callslip.cli.main", "worker", "--once"],
            cwd=project.folder, stdout=nowhere, stderr=nowhere, check=False,
        )  # fmt: skip
    assert done.returncode == 0
    assert project.effects() == ["pay 1"]
    assert settled(project)


def test_an_exit_code_stays_what_it_is_when_nobody_can_read_the_error(project):
    with open("/dev/full", "w") as nowhere:
        done = subprocess.run(
            [sys.executable, "-m", "callslip.cli.main", "resume", "gone"],
            cwd=project.folder,
            stderr=nowhere,
            check=False,
        )
    assert done.returncode == 2


def test_sighup_lets_the_call_settle_however_often_it_comes(project):
    process = project.start(*SLOW)
    project.until("started")
    process.send_signal(signal.SIGHUP)
    while "stopping" not in (line := process.stderr.readline()):
        assert line
    process.send_signal(signal.SIGHUP)
    (project.folder / "go").touch()
    project.finish(process, 7)
    assert settled(project)


def test_nohup_means_what_it_says(project):
    process = project.start(*SLOW, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    project.until("started")
    process.send_signal(signal.SIGHUP)
    (project.folder / "go").touch()
    assert project.finish(process, 0)[0] == "all done\n"


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_ctrl_c_before_anything_was_started_is_a_sentence(project, words):
    project.write("slow.py", "import time\nfrom pathlib import Path\nPath('importing').touch()\ntime.sleep(60)\n")
    process = project.start("run", "x", "--app", "slow.py:rt", *words)
    project.until("importing")
    process.send_signal(signal.SIGINT)
    out, err = project.finish(process, 130)
    said = json.loads(out)["error"]["message"] if words else err
    assert said.strip().removeprefix("callslip: ") == "Interrupted. Nothing was started."


def test_ctrl_c_while_the_command_line_itself_is_imported():
    script = (
        "import sys, os, signal; sys.argv[0] = '/usr/bin/callslip'; import callslip.cli;"
        "os.kill(os.getpid(), signal.SIGINT); import callslip.cli.main"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "callslip: Interrupted. Nothing was started.\n")


def test_importing_the_command_line_takes_no_signal():
    script = "import signal, callslip.cli.main; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


# Streaming, and a model that does not answer


def test_streamed_text_stands_once_where_both_outputs_are_one(project):
    done = subprocess.run(
        [sys.executable, "-m", "callslip.cli.main", "run", "hello", "--session", "s", "--stream"],
        cwd=project.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.count("You said: hello") == 1


SLOW_MODEL = (
    "import asyncio\nfrom callslip import Runtime\nfrom callslip.providers.scripted import Scripted, saying\n"
    "class Slow(Scripted):\n"
    "    async def reply(self, request, on_delta=None):\n"
    "        await asyncio.sleep(0.5)\n        return await super().reply(request, on_delta)\n"
    "rt = Runtime(model=Slow([saying('at last')] * 9))\n"
)


def test_a_model_that_hangs_is_told_of(project, monkeypatch):
    monkeypatch.setattr(asking, "TICK", 0.05)
    project.write("slow.py", SLOW_MODEL)
    assert "asking" not in project("run", "x", "--session", "s", "--app", "slow.py:rt").stderr
    monkeypatch.setattr(live, "_LATE", 0)
    result = project("run", "x", "--session", "s", "--app", "slow.py:rt")
    assert result.stderr.count("asking") == 1
    assert "has not answered for" in result.stderr
    assert {line["type"] for line in project.lines("run", "x", "--session", "s", "--app", "slow.py:rt")} == {
        "record",
        "ended",
    }


def test_on_a_terminal_the_seconds_count(project, capsys):
    master, slave = pty.openpty()
    script = (
        "import sys; from callslip.cli import asking; asking.TICK = 0.05;"
        "from callslip.cli.main import main; sys.argv = ['callslip', 'run', 'x', '--app', 'slow.py:rt']; main()"
    )
    project.write("slow.py", SLOW_MODEL)
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=project.folder, stdout=subprocess.PIPE, stderr=slave, text=True
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    assert process.wait(60) == 0
    process.stdout.close()
    os.close(master)
    assert b"asking scripted" in shown


def test_a_view_that_failed_once_is_quiet(monkeypatch):
    def fail(*_, **__):
        raise BrokenPipeError

    view = LiveView(as_json=False)
    monkeypatch.setattr(live.look, "aside", fail)
    view.line("dot", "", "x", "y")
    assert view.quiet
    view.asking("m", 99)
    view.asked()
    view.close(1)


def test_the_watched_model_is_the_other_one_in_all_else():
    class Model:
        name = "m"
        closed = False

        async def aclose(self):
            self.closed = True

    model = Model()
    watched = asking.Watched(model, LiveView(as_json=False))
    asyncio.run(watched.aclose())
    assert (watched.name, model.closed) == ("m", True)


# What a failed attempt said


@pytest.mark.parametrize(
    ("internal", "line"),
    [
        ("", ""),
        ("ToolFailed: no", "ToolFailed: no"),
        ('Traceback:\n  File "x"\n    f()\nTimeoutError: no answer\n', "TimeoutError: no answer"),
        ("ValueError: " + "x" * 400, "ValueError: " + "x" * 287 + "…"),
    ],
)
def test_an_errors_own_line(internal, line):
    assert own_line(internal) == line


FAILING = (
    "import app\nfrom callslip import Runtime, tool\n"
    "@tool(risk='write')\ndef book() -> str:\n    raise TimeoutError('no \\x1b[31m answer')\n"
    "@tool(risk='read')\ndef look() -> str:\n    raise OSError('unplugged')\n"
    "rt = Runtime(tools=[book, look], model=app.Scripted([app.obey] * 9))\n"
)


REPEATING = (
    "import app\nfrom callslip import Conflict, Context, Runtime, tool\n"
    "@tool(risk='write', recovery='idempotent', claims=['it'], version=lambda: 1, quiet=0)\n"
    "def put(context: Context) -> str:\n"
    "    raise ConnectionError('lost') if context.attempt == 1 else Conflict(2)\n"
    "rt = Runtime(tools=[put], model=app.Scripted([app.obey] * 9))\n"
)


def test_what_a_repeat_said_of_itself_is_not_shown_as_what_became_of_the_call(project):
    project.write("own.py", REPEATING)
    result = project("run", "call put", "--session", "s", "--app", "own:rt", code=3)
    shown = result.stdout + result.stderr + project("show", "s").stdout + project("waits").stdout
    assert "Nothing was executed" not in shown
    assert "attempt 1 may have taken effect, whatever the latest says" in shown
    assert "its attempt 2 said, of itself alone: Conflict: it has version 2 by now. Whether an" in shown


def test_what_a_failed_attempt_said_is_shown_to_the_operator(project):
    project.write("own.py", FAILING)
    words = ("--app", "own:rt")
    told = "TimeoutError: no \\x1b[31m answer"
    result = project("run", "call book\ncall look", "--session", "s", *words, code=3)
    shown = project("show", "s").stdout
    waits = project("waits").stdout
    for text in (result.stderr, shown, waits):
        assert told in text
        assert "\x1b[31m" not in text
        assert "Traceback" not in text
    assert "its attempt said: " + told in waits
    assert "OSError: unplugged" in shown
    assert "OSError: unplugged" in result.stderr
    (wait,) = project.json("waits")["waits"]
    assert wait["error"] == "TimeoutError: no \x1b[31m answer"
    full = output_of(project, "show", "s", "--payloads")
    assert "error  Traceback (most recent call last):" in full
    assert "own.py" in full


def output_of(project, *words):
    process = project.start(*words)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out
