"""A tool that stands in for another is shown as what it is, to whoever decides on it (RESI-05)."""

import pytest

pytestmark = pytest.mark.requirement("RESI-05")

STANDING_IN = (
    "import app\nfrom callslip import Runtime, ToolFailed, tool\n"
    "from callslip.core.retry import Retry\nfrom callslip.runtime.parts import Limits\n"
    "@tool(risk='write', fallback='backup', local_effect=True, quiet=0)\n"
    "def pay() -> str:\n    raise ToolFailed('bank down', code='shut', transient=True)\n"
    "@tool(risk='write')\ndef backup() -> str:\n    raise ValueError('lost')\n"
    "rt = Runtime(tools=[pay, backup], model=app.Scripted([app.obey] * 9), "
    "policy={'write': 'allow', 'tool.backup': 'ask'}, limits=Limits(retry=Retry(attempts=1)))\n"
)


def test_who_approves_what_stands_in_is_told_for_which_and_why(project):
    project.write("own.py", STANDING_IN)
    project.configure('app = "own:rt"\n')
    run = project("run", "call pay", "--session", "s", code=3)
    words = "in place of pay, which failed (shut)"
    assert words in run.stderr
    for command in ("waits", "inbox", "show"):
        shown = project(command, *(("s",) if command == "show" else ())).stdout
        assert words in shown, command
    for command in ("waits", "show"):
        shown = project(command, *(("s",) if command == "show" else ())).stdout
        assert "the attempt of pay said: ToolFailed: bank down" in shown, command
        assert "its attempt said" not in shown
    assert "in the place of pay (shut)" in project("show", "s").stdout
    instead = {"tool": "backup", "of": "pay", "why": "shut"}
    for command in ("waits", "inbox"):
        (wait,) = project.json(command)["waits"]
        assert (wait["tool"], wait["instead"]) == ("backup", instead)
    (wait,) = project.json("waits")["waits"]
    assert (wait["error"], wait["error_of"]) == ("ToolFailed: bank down", "pay")
    project("approve", wait["id"], "--yes")
    project("resume", "s", code=3)
    shown = project("show", "s").stdout
    told = [line.split()[3:5] for line in shown.splitlines()]
    for line in ("pay failed", "backup asks", "backup waits", "backup approved", "backup failed", "backup parked"):
        assert line.split() in told, line
    assert ["pay", "waits"] not in told
    assert "the attempt of backup said: ValueError: lost" in shown
    (wait,) = project.json("waits")["waits"]
    assert (wait["kind"], wait["tool"], wait["error_of"]) == ("parked", "backup", "backup")
