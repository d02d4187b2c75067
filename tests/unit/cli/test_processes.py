"""Real processes: interrupted, killed, racing each other, draining."""

import json
import os
import signal
import sqlite3

import pytest

SLOW = ("run", "call wait_long", "--session", "s")


def test_the_first_ctrl_c_lets_the_call_settle_and_stops(project):
    process = project.start(*SLOW)
    project.until("started")
    process.send_signal(signal.SIGINT)
    while "stopping" not in (line := process.stderr.readline()):
        assert line
    assert "wait_long settles first" in line
    (project.folder / "go").touch()
    out, err = project.finish(process, 7)
    assert "✓ wait_long        settled" in err
    assert "callslip resume s" in err
    assert out == ""
    assert project("resume", "s").stdout == "all done\n"
    assert project.effects() == ["wait_long"]
    assert project.json("verify")["ok"]


def test_sigterm_is_the_same(project):
    process = project.start(*SLOW, "--json")
    project.until("started")
    process.terminate()
    (project.folder / "go").touch()
    out, _ = project.finish(process, 7)
    assert json.loads(out.splitlines()[-1])["status"] == "stopped"


@pytest.mark.parametrize("tool", ["wait_long", "block_loop"])
def test_the_second_ctrl_c_leaves_at_once_even_when_a_tool_blocks_everything(project, tool):
    process = project.start("run", f"call {tool}", "--session", "s")
    project.until("started")
    process.send_signal(signal.SIGINT)
    if tool == "wait_long":
        while "stopping" not in process.stderr.readline():
            pass
    else:
        while project_is_pending(process):
            pass
    process.send_signal(signal.SIGINT)
    _, err = project.finish(process, 130)
    assert "callslip resume s" in err
    assert project.json("sessions")["sessions"][0]["status"] == "interrupted"


def project_is_pending(process):
    """Whether the first signal has not been taken yet."""
    with open(f"/proc/{process.pid}/status") as status:
        pending = [line for line in status if line.startswith(("SigPnd", "ShdPnd"))]
    return any(int(line.split()[1], 16) for line in pending)


@pytest.mark.requirement("LEDG-03")
def test_the_second_terminal_is_told_that_the_session_is_busy(project):
    process = project.start(*SLOW)
    project.until("started")
    assert "driven by process" in project("resume", "s", code=4).stderr
    assert project.json("run", "more", "--session", "s", code=4)["error"]["code"] == "busy"
    assert project.json("sessions")["sessions"][0]["status"] == "running"
    assert "1 running" in project("doctor").stdout
    assert "has your message." in project("send", "s", "and then?").stdout
    (project.folder / "go").touch()
    out, _ = project.finish(process, 0)
    assert out == "all done\nYou said: and then?\n"  # the answer of each turn


@pytest.mark.requirement("ORCH-04")
def test_a_session_is_stopped_from_another_terminal(project):
    process = project.start(*SLOW)
    project.until("started")
    assert project.json("stop", "s", "--reason", "enough")["stopping"]
    (project.folder / "go").touch()
    _, err = project.finish(process, 7)
    assert "asked by" in err
    assert "asked to stop" in err


@pytest.fixture
def killed(project):
    """A process that was killed while its call ran."""
    process = project.start(*SLOW)
    project.until("started")
    process.kill()
    project.finish(process, -signal.SIGKILL)
    (project.folder / "go").touch()
    return project


@pytest.mark.requirement("RECO-02")
@pytest.mark.requirement("RECO-05")
def test_after_kill_9_nothing_is_repeated_and_a_person_decides(killed):
    project = killed
    assert project.json("sessions")["sessions"][0]["status"] == "interrupted"
    assert "interrupted" in project("doctor").stdout
    result = project("resume", "s", code=3)
    assert "resumed" in result.stderr
    assert "after a crash" in result.stderr
    assert "wait_long        parked" in result.stderr
    assert project.effects() == ["wait_long"]
    (wait,) = project.json("waits")["waits"]
    command = f"callslip resolve {wait['id']} happened|did-not-happen|give-up --reason '…'"
    assert command in result.stderr
    for words, told in (
        (("happened",), "needs --reason"),
        (("give-up", "--reason", "x", "--result", "1"), "goes with happened"),
        (("happened", "--reason", "x", "--result", "{"), "--result is no JSON"),
        (("accept",), "kind parked"),
        (("perhaps",), "perhaps"),
    ):
        assert told in project("resolve", wait["id"], *words, code=2).stderr
    told = project("resolve", wait["id"], "happened", "--reason", "saw it go", "--result", '"went"')
    assert "callslip resume s" in told.stdout
    assert "was resolved by" in project("resolve", wait["id"], "give-up", "--reason", "x", code=2).stderr
    assert project("resume", "s").stdout == "all done\n"
    assert project.effects() == ["wait_long"]
    shown = project("show", "s").stdout
    assert "happened, by" in shown
    assert "saw it go" in shown
    assert "after a crash" in shown
    assert project.json("verify")["ok"]


@pytest.mark.requirement("RECO-05")
def test_after_kill_9_did_not_happen_makes_the_call_again(killed):
    project = killed
    project("resume", "s", code=3)
    (wait,) = project.json("waits")["waits"]
    answer = project.json("resolve", wait["id"], "did-not-happen", "--reason", "looked")
    assert answer == {"wait": wait["id"], "session": "s", "answer": "did-not-happen"}
    assert project("resume", "s").stdout == "all done\n"
    assert project.effects() == ["wait_long", "wait_long"]


def test_a_worker_drives_what_can_go_on(killed):
    project = killed
    lines = project.lines("worker", "--once")
    assert lines == [
        {"type": "session", "session": "s", "status": "driving"},
        {"type": "session", "session": "s", "status": "waiting"},
        {"type": "ended", "drives": 1, "failed": 0},
    ]
    (wait,) = project.json("waits")["waits"]
    project("resolve", wait["id"], "give-up", "--reason", "enough")
    result = project("worker", "--once")
    assert "✓ s  finished" in result.stdout
    assert "1 drive made." in result.stdout
    assert project.json("worker", "--once") == {"type": "ended", "drives": 0, "failed": 0}


@pytest.mark.requirement("ORCH-04")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_drains(project, number):
    project("run", "hello", "--session", "s")
    project("send", "s", "call wait_long")
    worker = project.start("worker")
    project.until("started")
    worker.send_signal(number)
    while "ending" not in (line := worker.stderr.readline()):
        assert line
    assert "1 session comes to rest" in line
    (project.folder / "go").touch()
    out, _ = project.finish(worker, 0)
    assert "! s  stopped" in out
    assert project("resume", "s").stdout == "all done\n"
    assert project.effects() == ["wait_long"]


def test_a_worker_says_that_it_tells_what_is_left(project):
    table = f'[[notify]]\nkind = "log"\npath = "{project.folder / "told"}"\n'
    project.configure(f'app = "app.py:rt"\nstate = "state"\n{table}')
    worker = project.start("worker")
    assert "working" in worker.stderr.readline()
    worker.send_signal(signal.SIGTERM)
    assert worker.stderr.readline() == "ending: telling what is left: 5 s at most; once more leaves at once\n"
    project.finish(worker, 0)


def test_a_worker_does_not_say_that_it_works_before_it_is_known_to(project):
    (project.folder / "secret").write_text("whsec_" + "QUJD" * 8)
    (project.folder / "secret").chmod(0o644)
    table = f'kind = "webhook"\nurl = "https://example.com"\nsecret_file = "{project.folder / "secret"}"'
    project.configure(f'app = "app.py:rt"\nstate = "state"\n[[notify]]\n{table}\n')
    result = project("worker", code=5)
    assert "is open to others" in result.stderr
    assert "working" not in result.stderr


def test_a_worker_that_is_told_twice_leaves_at_once(project):
    project("run", "hello", "--session", "s")
    project("send", "s", "call wait_long")
    worker = project.start("worker")
    project.until("started")
    worker.send_signal(signal.SIGINT)
    while "ending" not in worker.stderr.readline():
        pass
    worker.send_signal(signal.SIGINT)
    project.finish(worker, 130)


def test_ctrl_c_before_anything_began(project):
    """Held up by another process at the database's door."""
    project("run", "hello", "--session", "s")
    lock = os.open(project.state / "ledger.lock", os.O_RDWR)
    import fcntl

    fcntl.flock(lock, fcntl.LOCK_EX)
    process = project.start("run", "x", "--session", "t", "--json")
    while not list((project.state / "owners").glob("*.lock")):
        pass
    process.send_signal(signal.SIGINT)
    fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)
    out, _ = process.communicate(timeout=60)
    assert process.returncode in {130, 7}  # the run may have begun before the signal was taken
    assert "Traceback" not in out


def test_a_given_up_thread_does_not_hold_the_process(project):
    project.write(
        "stuck.py",
        "import time, app\nfrom callslip import Runtime, tool\n"
        "@tool(risk='read', timeout=0.2)\ndef hang() -> str:\n    time.sleep(600)\n"
        "rt = Runtime(tools=[hang], model=app.Scripted([app.obey] * 9))\n"
        "from callslip.runtime.parts import Limits\nrt.configure(limits=Limits(grace=0.1))\n",
    )
    process = project.start("run", "call hang", "--session", "s", "--app", "stuck:rt")
    out, err = project.finish(process, 0)
    assert out == "all done\n"
    assert "timeout" in err


# The state folder


@pytest.mark.requirement("GATE-09")
def test_a_folder_that_others_may_open_is_refused(project):
    project("run", "hello", "--session", "s")
    project.state.chmod(0o755)
    for words in (("sessions",), ("run", "x"), ("verify",)):
        assert "open to others (mode 0755)" in project(*words, code=5).stderr
    assert project.json("sessions", code=5)["error"]["code"] == "state_refused"
    assert "✗ state folder" in project("doctor", code=1).stdout
    project.state.chmod(0o700)
    (project.state / "ledger.db").chmod(0o644)
    assert "chmod 600" in project("sessions", code=5).stderr


@pytest.mark.requirement("GATE-09")
def test_state_inside_the_workspace_is_refused(project):
    project.configure('app = "app.py:rt"\nworkspace = "."\nstate = "state"\n')
    assert "a tool could forge the log" in project("trust", "--yes", code=5).stderr
    project.configure('app = "own.py:rt"\n')
    project.write(
        "own.py",
        "from callslip import Runtime\nfrom callslip.providers.scripted import Scripted\n"
        "rt = Runtime(workspace='.', state='state', model=Scripted(['x']))\n",
    )
    assert "a tool could forge the log" in project("run", "x", code=5).stderr
    assert "✗ state folder" in project("doctor", code=1).stdout


def test_a_state_folder_that_cant_be_made(project):
    (project.folder / "file").write_text("")
    assert "can't be made" in project("trust", "--yes", "--state", "file/state", code=5).stderr


@pytest.fixture
def locked(project):
    """A project whose state folder may only be read."""
    project("run", "hello", "--session", "s")
    connection = sqlite3.connect(project.state / "ledger.db")
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    for path in (project.state, *project.state.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield project
    for path in (project.state, *project.state.rglob("*")):
        path.chmod(0o700)


def test_a_read_only_state_folder_is_said_in_a_sentence(locked, unprivileged):
    for words in (("run", "x", "--session", "t"), ("resume", "s"), ("send", "s", "x")):
        _, err = locked.finish(locked.start(*words, **unprivileged), 1)
        assert err.startswith("callslip: ")
        assert err.count("\n") == 1
    out, _ = locked.finish(locked.start("doctor", **unprivileged), 1)
    assert "can't be written" in out
