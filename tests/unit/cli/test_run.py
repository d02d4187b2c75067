import json

import pytest

from callslip.cli import look
from callslip.core.wait import WaitKind


def test_the_answer_goes_to_stdout_and_the_work_to_stderr(project):
    result = project("run", 'call find_thing {"name": "x"}\ncall pay {"amount": 3}', "--session", "s")
    assert result.stdout == "all done\n"
    lines = result.stderr.splitlines()
    assert lines[0] == "let me see"
    assert [line.split()[:3] for line in lines if "pay" in line] == [
        ["·", "pay", "proposed"], ["▸", "pay", "dispatched"], ["✓", "pay", "settled"],
    ]  # fmt: skip
    assert lines[-1].startswith("✓ finished in ")
    assert project.effects() == ["pay 3"]


def test_a_run_without_session_makes_one_and_says_so(project):
    result = project("run", "hello")
    assert result.stderr.startswith("session s-")
    name = result.stderr.splitlines()[0].removeprefix("session ")
    assert name in project("sessions").stdout
    first, *_, last = project.lines("run", "hello")
    assert first["type"] == "session"
    assert last["session"] == first["session"]


def test_the_text_may_come_from_standard_input(project):
    assert project("run", "-", "--session", "s", text="hello there").stdout == "You said: hello there\n"
    assert "nothing to say" in project("run", "  ", code=2).stderr


def test_streamed_text_is_shown_while_it_comes(project):
    result = project("run", "hello", "--session", "s", "--stream")
    assert result.stdout == "You said: hello\n"
    assert result.stderr.startswith("You said: hello\n")


@pytest.mark.requirement("OBSV-05")
def test_json_is_a_line_an_event_and_ends_with_the_result(project):
    lines = project.lines("run", 'call pay {"amount": 3}', "--session", "s", "--stream")
    assert {line["type"] for line in lines} == {"record", "text", "ended"}
    assert [line["seq"] for line in lines if line["type"] == "record"] == list(range(1, len(lines) - 2))
    kinds = [line["record"]["event"]["type"] for line in lines if line["type"] == "record"]
    assert kinds.index("function_call") < kinds.index("tool_dispatch") < kinds.index("function_response")
    spent = lines[-1].pop("spent")
    assert (spent["session"]["calls"], set(spent)) == ({"used": 1, "budget": None}, {"turn", "session"})
    assert lines[-1] == {
        "type": "ended", "session": "s", "status": "finished", "text": "all done", "reason": "", "limit": "", "waits": [],
    }  # fmt: skip


def test_a_waiting_session_exits_with_3_and_says_how_to_answer(project):
    result = project("run", 'call sign {"document": "d"}', "--session", "s", code=3)
    (wait,) = project.json("waits")["waits"]
    place = f"--project {project.folder}"
    assert f"callslip submit {wait['id']} --result JSON {place}" in result.stderr
    assert f"then: callslip resume s {place}" in result.stderr
    assert result.stdout == ""
    assert wait["kind"] == WaitKind.CLIENT
    assert wait["arguments"] == {"document": "d"}
    assert f"callslip submit {wait['id']}" in project("waits").stdout
    assert "no session 'other'" in project("waits", "other", code=2).stderr
    (ended,) = [line for line in project.lines("resume", "s", code=3) if line["type"] == "ended"]
    assert [one["id"] for one in ended["waits"]] == [wait["id"]]
    (row,) = project.json("sessions")["sessions"]
    assert (row["session"], row["status"], row["waits"]) == ("s", "waiting", 1)


def test_a_broken_session_does_not_hide_what_the_others_wait_for(project):
    for name in ("broken", "whole"):
        project("run", 'call sign {"document": "d"}', "--session", name, code=3)
    project.sql("update records set text = cast(text || ' ' as blob) where no = 1 and seq = 3")
    result = project("waits", code=5)
    assert result.stdout.count("callslip submit") == 1
    assert "Record 3 of session 'broken'" in result.stderr
    listed = project.json("waits", code=5)
    assert [wait["session"] for wait in listed["waits"]] == ["whole"]
    assert [error["code"] for error in listed["errors"]] == ["log_broken"]
    assert "Record 3" in project("waits", "broken", code=5).stderr
    assert project("show", "broken", code=5).stdout


def test_a_client_submits_and_the_session_goes_on(project):
    project("run", 'call sign {"document": "d"}', "--session", "s", code=3)
    (wait,) = project.json("waits")["waits"]
    for words, told in (
        ((), "exactly one"),
        (("--result", "1", "--error", "x"), "exactly one"),
        (("--error", "x"), "go together"),
        (("--result", "1", "--effect", "none"), "go together"),
        (("--result", "{no"), "--result is no JSON"),
        (("--result-file", "gone.json"), "can't be read"),
    ):
        assert told in project("submit", wait["id"], *words, code=2).stderr
    assert "No wait 'w'" in project("submit", "w", "--result", "1", code=2).stderr
    (project.folder / "r.json").write_text('{"signed": 12345678901234567890}')
    told = project("submit", wait["id"], "--result-file", "r.json")
    assert "callslip resume s" in told.stdout
    assert "was submitted by" in project("submit", wait["id"], "--result", "1", code=2).stderr
    assert project("resume", "s").stdout == "all done\n"
    shown = project.json("show", "s")
    (response,) = [
        one["record"]["event"] for one in shown["records"] if one["record"]["event"]["type"] == "function_response"
    ]
    assert response["structured"]["text"] == {"signed": 12345678901234567890}


def test_a_client_submits_a_failure(project):
    project("run", 'call sign {"document": "d"}', "--session", "s", code=3)
    (wait,) = project.json("waits")["waits"]
    answer = project.json("submit", wait["id"], "--error", "out of ink", "--effect", "unknown")
    assert answer == {"wait": wait["id"], "session": "s", "answer": "submitted"}
    project("resume", "s")
    assert "settled    fatal_error (client_failed), effect unknown" in project("show", "s").stdout


@pytest.mark.requirement("RECO-04")
def test_another_workspace_is_accepted_by_a_person(project):
    (project.folder / "files").mkdir()
    project.configure('app = "app.py:rt"\nworkspace = "files"\n')
    project("run", "hello", "--session", "s")
    (project.folder / "files").rename(project.folder / "old")
    (project.folder / "files").mkdir()
    result = project("run", "and now?", "--session", "s", code=3)
    (wait,) = project.json("waits")["waits"]
    assert f"callslip resolve {wait['id']} accept --project" in result.stderr
    assert "keeps no --reason" in project("resolve", wait["id"], "accept", "--reason", "x", code=2).stderr
    assert "kind workspace" in project("submit", wait["id"], "--result", "1", code=2).stderr
    project("resolve", wait["id"], "accept")
    assert project("resume", "s").stdout == "You said: and now?\n"
    assert f"now in workspace {project.folder / 'files'}" in project("show", "s").stdout


def test_steps_used_up_is_a_stop_with_exit_code_7(project):
    project.configure('app = "app.py:rt"\nstate = "state"\n[limits]\nsteps_per_turn = 1\n')
    result = project("run", 'call pay {"amount": 3}', "--session", "s", code=7)
    assert "stopped it used its 1 steps" in result.stderr
    assert project("resume", "s").stdout == "all done\n"
    assert project.effects() == ["pay 3"]


def test_a_model_that_gives_nothing_exits_with_6_and_can_be_resumed(project):
    project.write(
        "dumb.py",
        "from callslip import Runtime\nfrom callslip.providers.scripted import Scripted\nrt = Runtime(model=Scripted([]))\n",
    )
    result = project("run", "hello", "--session", "s", "--app", "dumb.py:rt", code=6)
    assert "can be resumed" in result.stderr
    error = project.lines("resume", "s", "--app", "dumb.py:rt", code=6)[-1]["error"]
    assert (error["code"], error["layer"]) == ("model_unavailable", "network")
    assert project("resume", "s").stdout == "You said: hello\n"


def test_a_refused_call_says_why(project):
    project.configure('app = "app.py:rt"\nstate = "state"\n[policy]\ndangerous = "deny"\n')
    result = project("run", "call erase_all", "--session", "s")
    assert "✗ erase_all        refused    permission_denied" in result.stderr


def test_a_long_reason_of_a_wait_is_wrapped(project, monkeypatch):
    project("run", "call erase_all", "--session", "s", code=3)
    monkeypatch.setattr(look, "columns", lambda: 58)
    lines = project("waits").stdout.splitlines()
    assert lines[:2] == ["‖ erase_all approval: tools of risk dangerous are set to", " " * 22 + "ask"]


def test_what_a_run_asks_about_is_said_once(project):
    project.configure('app = "app.py:rt"\nstate = "state"\n[policy]\n"tool.pay" = "ask"\n')
    result = project("run", 'call pay {"amount": 12}', "--session", "s", code=3)
    assert result.stderr.count('{"amount": 12}') == 1  # as it was proposed
    assert "waiting" not in result.stderr
    assert project("resume", "s", code=3).stderr.count('{"amount": 12}') == 1  # nobody has seen it here
    more = project("run", "and hurry", "--session", "s", code=3).stderr
    assert "‖ waiting approval" in more
    assert "your message is kept" in more


@pytest.mark.requirement("APPR-01")
def test_a_call_that_must_be_asked_about_waits_and_says_how_to_answer(project):
    result = project("run", "call erase_all", "--session", "s", code=3)
    lines = result.stderr.splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("‖")] == [["‖", "erase_all"]]
    assert result.stderr.count("approval: ") == 1
    wait = next(word for word in result.stderr.split() if word.startswith("appr_"))
    assert f"callslip approve {wait}" in result.stderr
    project("deny", wait, "--reason", "never")
    result = project("resume", "s")
    assert "✗ erase_all        refused    permission_denied (approval_denied)" in result.stderr
    assert "never" in result.stderr


def test_hostile_text_is_shown_and_not_rendered(project):
    result = project("run", 'call shout\ncall find_thing {"name": "\\u001b[2J"}', "--session", "s\u00e9")
    shown = project("show", "s\u00e9", "--payloads")
    for text in (result.stderr, shown.stdout):
        assert "\x1b" not in text.replace("\x1b[0m", "")
        assert "\u202e" not in text
    assert "\\u202eevil" in shown.stdout


def test_resume_of_nothing_and_strange_names(project):
    assert "no session 'gone'" in project("resume", "gone", code=2).stderr
    assert "session id" in project("run", "x", "--session", " ", code=2).stderr


@pytest.mark.requirement("OBSV-05")
def test_send_and_stop(project):
    assert "no session" in project("send", "gone", "x", code=2).stderr
    assert "no session" in project("stop", "gone", code=2).stderr
    project("run", "hello", "--session", "s")
    assert project.json("stop", "s") == {"session": "s", "stopping": False}
    assert "nothing to stop" in project("stop", "s").stdout
    assert "callslip resume s" in project("send", "s", "and then?").stdout
    assert project("resume", "s").stdout == "You said: and then?\n"
    assert project.json("send", "s", "again", "--steer") == {
        "session": "s",
        "sent": True,
        "steer": True,
        "driven": False,
    }
    assert project.json("stop", "s", "--reason", "enough") == {"session": "s", "stopping": True}
    assert "is asked to stop" in stop_again(project)
    text = project("show", "s").stdout
    assert "enough" in text
    assert "as a steer" in text


def stop_again(project):
    project("run", 'call sign {"document": "d"}', "--session", "t", code=3)
    return project("stop", "t").stdout


def test_the_applications_own_watch_is_told_too(project):
    project.write(
        "own.py", "import app\nrt = app.made()\nrt.configure(watch=lambda event: app.note(type(event).__name__))\n"
    )
    project("run", "hello", "--session", "s", "--app", "own:rt")
    assert "Recorded" in project.effects()


@pytest.mark.requirement("RSLT-06")
def test_progress_and_pieces_are_for_eyes_only(project):
    project.write(
        "own.py",
        "import app\nfrom callslip import Context, Runtime, tool\n"
        "@tool(risk='read')\n"
        "def load(context: Context) -> int:\n"
        "    context.progress('half way', 0.5)\n    context.partial('piece')\n    return 1\n"
        "rt = Runtime(tools=[load], model=app.Scripted([app.obey] * 9))\n",
    )
    project("run", "call load", "--session", "s", "--app", "own:rt")
    lines = project.lines("run", "call load", "--session", "t", "--app", "own:rt")
    assert {"progress", "partial"} < {line["type"] for line in lines}
    assert json.dumps(project.json("show", "s")).count("half way") == 0
