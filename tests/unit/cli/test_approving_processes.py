"""Asked in one process, answered in a second that has no tool, driven by a third; each may die in between."""

import signal
import subprocess
import sys
import time

import pytest

pytestmark = [pytest.mark.requirement("APPR-01"), pytest.mark.requirement("APPR-08")]

POLICY = 'app = "app.py:rt"\nstate = "state"\n[policy]\n"tool.pay" = "ask"\n'


@pytest.fixture
def project(project):
    project.configure(POLICY)
    return project


@pytest.fixture
def elsewhere(project, tmp_path):
    """A command in a process of its own that knows the state folder and nothing of the project."""
    away = tmp_path / "away"
    away.mkdir()

    def start(*words):
        return subprocess.Popen(
            [sys.executable, "-m", "callslip.cli.main", *words, "--state", str(project.state), "--project", str(away)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, cwd=away,
        )  # fmt: skip

    return start


def ask(project):
    out, err = project.finish(project.start("run", 'call pay {"amount": 100}', "--session", "s"), 3)
    assert out == ""
    return next(word for word in err.split() if word.startswith("appr_"))


def hide(project):
    (project.folder / "app.py").rename(project.folder / "app.hidden")


def bring_back(project):
    (project.folder / "app.hidden").rename(project.folder / "app.py")


def test_asked_approved_driven(project, elsewhere):
    """Case 23, and two restarts of case 2."""
    wait = ask(project)
    hide(project)
    out, _ = project.finish(elsewhere("inbox"), 0)
    assert "amount = 100" in out
    assert wait in out
    out, err = project.finish(elsewhere("approve", wait, "--yes"), 0)
    assert "amount = 100" in out
    assert "Traceback" not in err
    bring_back(project)
    assert project.effects() == []
    out, _ = project.finish(project.start("worker", "--once"), 0)
    assert "s  finished" in out
    assert project.effects() == ["pay 100"]
    out, _ = project.finish(project.start("worker", "--once"), 0)
    assert "0 drives made" in out
    assert project.effects() == ["pay 100"]
    assert project.json("verify")["ok"]
    shown = project("show", "s").stdout
    assert f"on approval {wait}" in shown


def test_edited_without_the_tool(project, elsewhere):
    wait = ask(project)
    hide(project)
    _, err = project.finish(elsewhere("edit", wait, "--set", 'amount="x"', "--yes"), 2)
    assert "amount must be of type integer" in err
    out, _ = project.finish(elsewhere("edit", wait, "--set", "amount=7", "--yes"), 0)
    assert "amount: 100 → 7" in out
    bring_back(project)
    project.finish(project.start("worker", "--once"), 0)
    assert project.effects() == ["pay 7"]


def test_answered_while_a_worker_lives(project, elsewhere):
    """Case 20."""
    wait = ask(project)
    workers = [project.start("worker") for _ in range(2)]
    try:
        for worker in workers:
            assert "working" in worker.stderr.readline()
        project.finish(elsewhere("approve", wait, "--yes"), 0)
        project.until("effects")
        for _ in range(600):  # its worker must not be told to end before the session has
            if "finished" in project("sessions").stdout:
                break
            time.sleep(0.1)
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        ended = [project.finish(worker, 0) for worker in workers]
    assert sum("s  finished" in out for out, _ in ended) == 1
    assert project.effects() == ["pay 100"]


def test_many_answer_at_once_and_one_wins(project, elsewhere):
    """Case 3."""
    wait = ask(project)
    racing = [elsewhere(*(("approve", wait, "--yes") if number % 2 else ("deny", wait))) for number in range(6)]
    ended = [(one.communicate(timeout=60), one.returncode) for one in racing]
    won = [out for (out, _), code in ended if code == 0]
    lost = [err for (_, err), code in ended if code == 2]
    assert (len(won), len(lost)) == (1, 5)
    said = "approved" if f"{wait}: approved" in won[0] else "denied"
    assert all(f"was {said} by" in err for err in lost)
    project.finish(project.start("worker", "--once"), 0)
    assert project.effects() == (["pay 100"] if said == "approved" else [])


def test_killed_between_the_answer_and_the_drive(project, elsewhere):
    wait = ask(project)
    process = project.start("approve", wait, "--yes", "--drive", "--json")
    assert '"answer": "approved"' in process.stdout.readline()
    process.kill()
    process.communicate()
    result = project.finish(project.start("worker", "--once"), 0)
    assert "Traceback" not in result[1]
    # The kill may have come before T1, after T2, or between the two: then a person must say what became of it.
    waits = [one["kind"] for one in project.json("waits")["waits"]]
    assert (project.effects(), waits) in [(["pay 100"], []), ([], ["parked"]), (["pay 100"], ["parked"])]
