"""``answer`` and ``revert``, and jobs on the screen: calls that go on outside a run, and what is undone of them."""

import json
import signal

import pytest

from callslip.cli import prompt, revert as revert_command

APP = '''
import json
from pathlib import Path

from callslip import Runtime, ToolFailed, tool
from callslip.core.message import UserText
from callslip.ports.background import Done, Running
from callslip.providers.scripted import Scripted, calling, saying
from callslip.sources.ask_user import ask_user

HERE = Path(__file__).parent


def obey(request):
    last = request.messages[-1]
    if not isinstance(last, UserText) or not last.text.startswith("call "):
        return saying("all done")
    calls = [line.removeprefix("call ").partition(" ") for line in last.text.splitlines()]
    return calling(*[(name, json.loads(rest or "{}")) for name, _, rest in calls])


def note(what):
    with (HERE / "effects").open("a") as file:
        file.write(what + "\\n")


@tool(
    risk="write",
    local_effect=True,
    compensation="refund",
    compensate_with=lambda arguments, result: {"receipt": result},
)
def pay(amount: int) -> str:
    """Pay an amount."""
    note(f"pay {amount}")
    return f"r{amount}"


@tool(risk="write", local_effect=True, callable_from=())
def refund(receipt: str) -> str:
    """Give it back."""
    if receipt == "r13":
        raise ToolFailed("The till is shut.")
    note(f"refund {receipt}")
    return "given back"


@tool(risk="write", local_effect=True)
def shout(text: str) -> str:
    """Shout."""
    note(f"shout {text}")
    return "heard"


def poll(handle, context):
    return Done(result="film") if (HERE / "film").exists() else Running(note="10 \\x1b[31m% done")


@tool(risk="write", local_effect=True, poll=poll)
def render(film: str) -> dict:
    """Render a film."""
    note(f"render {film}")
    return {"job": film}


rt = Runtime(tools=[ask_user, pay, refund, shout, render], model=Scripted([obey] * 100))
'''
BARE = "--no-passphrase"


@pytest.fixture
def project(project):
    project.write("app.py", APP)
    return project


@pytest.fixture
def staffed(project, monkeypatch):
    """anna is the root, an operator and caller; eve only looks."""
    project("enrol", "anna", BARE)
    project("enrol", "eve", "--role", "viewer", BARE)
    monkeypatch.setenv("CALLSLIP_KEY", "anna")
    project.accept()
    return project


def run(project, *calls, code=0):
    project("run", "\n".join(f"call {call}" for call in calls), "--session", "s", code=code)


def wait_of(project):
    (wait,) = project.json("waits")["waits"]
    return wait


ASK = 'ask_user {"question": "Which colour?\\u202e", "choices": ["red", "blue"]}'


@pytest.mark.requirement("CALL-09")
class TestAnswer:
    def test_a_question_is_shown_and_its_answer_goes_to_the_model(self, project):
        run(project, ASK, code=3)
        wait = wait_of(project)
        text = project("waits").stdout
        assert "question: Which colour?" in text
        assert '"red","blue"' in text.replace(" ", "")
        assert "\u202e" not in text
        assert f"callslip answer {wait['id']}" in text
        said = project("answer", wait["id"], "blue").stdout
        assert f"{wait['id']}: answered" in said
        assert "callslip resume s" in said
        assert "all done" in project("resume", "s").stdout
        shown = project("show", "s").stdout
        assert "in the user's words" in shown
        assert "asked of the user" in shown

    def test_in_json(self, project):
        run(project, ASK, code=3)
        wait = wait_of(project)
        assert wait["kind"] == "question"
        assert project.json("answer", wait["id"], "Neither.") == {
            "wait": wait["id"], "session": "s", "answer": "answered",
        }  # fmt: skip
        events = [record["record"]["event"] for record in project.json("show", "s")["records"]]
        (response,) = [event for event in events if event["type"] == "function_response"]
        assert (response["from_user"], response["structured"]["text"]) == (True, "Neither.")

    def test_words_from_standard_input(self, project):
        run(project, ASK, code=3)
        project("answer", wait_of(project)["id"], "-", text="Two\nlines\n")
        assert '"Two\\nlines"' in project("show", "s", "--payloads").stdout

    def test_no_words(self, project):
        run(project, ASK, code=3)
        assert "has words" in project("answer", wait_of(project)["id"], " ", code=2).stderr

    def test_a_wait_of_another_kind_says_how_it_is_answered(self, project):
        run(project, 'render {"film": "x"}', code=3)
        wait = wait_of(project)["id"]
        assert f"callslip submit {wait}" in project("answer", wait, "x", code=2).stderr

    def test_a_second_answer(self, project):
        run(project, ASK, code=3)
        wait = wait_of(project)["id"]
        project("answer", wait, "blue")
        assert "was answered by" in project("answer", wait, "red", code=2).stderr
        assert "No wait" in project("answer", "wait_none", "red", code=2).stderr

    def test_where_keys_are_enrolled_with_the_key_on_hand(self, staffed, monkeypatch):
        run(staffed, ASK, code=3)
        wait = wait_of(staffed)["id"]
        monkeypatch.setenv("CALLSLIP_KEY", "eve")
        assert "is no caller or operator" in staffed("answer", wait, "blue", code=8).stderr
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        staffed("answer", wait, "blue")
        assert "all done" in staffed("resume", "s").stdout


@pytest.mark.requirement("CALL-09")
class TestWithoutAnApplication:
    def test_the_setting_lets_the_model_ask(self, project):
        project.configure("ask_user = true\n")
        assert [tool["name"] for tool in project.json("tools")["tools"]] == ["ask_user"]

    def test_and_is_off_unless_it_is_said(self, project):
        project.configure('system = "x"\n')
        assert "no application" in project("tools", code=2).stderr

    def test_beside_the_tools_of_a_workspace(self, project):
        (project.folder / "work").mkdir()
        project.configure('ask_user = true\nworkspace = "work"\n')
        names = [tool["name"] for tool in project.json("tools")["tools"]]
        assert names[-1] == "ask_user"
        assert len(names) > 1

    def test_a_whole_conversation(self, project):
        call = {"id": "c1", "type": "function", "function": {"name": "ask_user", "arguments": '{"question": "Why?"}'}}
        replies = [
            {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"},
            {"message": {"role": "assistant", "content": "Thank you."}, "finish_reason": "stop"},
        ]
        lines = [json.dumps({"body": {"choices": [{"index": 0, **reply}]}}) for reply in replies]
        (project.folder / "replies.jsonl").write_text("\n".join(lines) + "\n")
        project.configure('ask_user = true\nmodel = "recorded:replies.jsonl"\n')
        project("run", "Hello", "--session", "s", code=3)
        project("answer", wait_of(project)["id"], "Because.")
        assert "Thank you." in project("resume", "s").stdout


@pytest.mark.requirement("SPEC-06")
class TestJobs:
    def test_a_job_is_shown_as_one_and_may_be_ended_from_here(self, project):
        run(project, 'render {"film": "x"}', code=3)
        wait = wait_of(project)
        assert (wait["kind"], wait["tool"]) == ("background", "render")
        text = project("waits").stdout
        assert f"callslip submit {wait['id']}" in text
        project("submit", wait["id"], "--result", '"from outside"')
        assert "all done" in project("resume", "s").stdout
        shown = project("show", "s", "--payloads").stdout
        assert "goes on" in shown
        assert '{"job":"x"}' in shown

    def test_what_its_tool_said_is_shown_safely(self, project):
        run(project, 'render {"film": "x"}', code=3)
        project("stop", "s")
        project("resume", "s", code=7)
        text = project("waits").stdout
        assert "its tool said: it can't be told to end; 10 \\x1b[31m% done" in text
        assert "\x1b" not in text
        assert "the session was stopped; it goes on" in project("show", "s").stdout


@pytest.mark.requirement("RECO-07")
class TestRevert:
    CALLS = ('pay {"amount": 1}', 'shout {"text": "hello"}', 'pay {"amount": 2}')

    def test_ctrl_c_at_the_question(self, project, monkeypatch):
        run(project, *self.CALLS)
        monkeypatch.setattr(revert_command, "on_terminal", lambda: True)
        monkeypatch.setattr(prompt.click, "confirm", lambda *_, **__: signal.raise_signal(signal.SIGINT))
        assert project("revert", "s", code=130).stderr == "callslip: Interrupted. Nothing was undone.\n"

    def test_it_shows_undoes_and_says_what_stays(self, project):
        run(project, *self.CALLS)
        text = project("revert", "s", "--yes", "--reason", "by mistake").stdout
        assert 'pay {"amount":2}: to be undone' in text.replace('": ', '":')
        assert "by refund" in text
        assert "stays (its tool declares nothing that undoes it)" in text
        assert "turn 1 is undone, as far as it can be" in text
        assert sorted(project.effects()[-2:]) == ["refund r1", "refund r2"]
        shown = project("show", "s").stdout
        assert "turn 1, asked by" in shown
        assert "by mistake" in shown
        assert "undoes pay" in shown

    def test_twice(self, project):
        run(project, *self.CALLS)
        project("revert", "s", "--yes")
        before = project.effects()
        text = project("revert", "s", "--yes").stdout
        assert text.count(": undone") == 2
        assert project.effects() == before

    def test_nobody_to_ask(self, project):
        run(project, *self.CALLS)
        before = project.effects()
        assert "--yes" in project("revert", "s", code=2).stderr
        assert "--yes" in project("revert", "s", "--json", code=2).output
        assert project.effects() == before

    @pytest.mark.parametrize(("said", "code"), [("y\n", 0), ("\n", 1)])
    def test_a_person_is_asked(self, project, monkeypatch, said, code):
        monkeypatch.setattr(revert_command, "on_terminal", lambda: True)
        run(project, 'pay {"amount": 1}')
        text = project("revert", "s", code=code, text=said).output
        assert "Undo these?" in text
        assert ("refund r1" in project.effects()) == (code == 0)

    def test_the_plan_alone(self, project):
        run(project, *self.CALLS)
        before = project.json("show", "s")["records"]
        text = project("revert", "s", "--plan").stdout
        assert text.count("to be undone") == 2
        planned = project.json("revert", "s", "--plan")
        assert [one["status"] for one in planned["calls"]].count("to_do") == 2
        assert project.json("show", "s")["records"] == before

    def test_in_json(self, project):
        run(project, 'pay {"amount": 1}')
        said = project.json("revert", "s", "--yes")
        assert (said["status"], said["turn"], said["waits"]) == ("reverted", 1, [])
        (one,) = said["calls"]
        assert (one["status"], one["by"], one["given"]) == ("undone", "refund", {"receipt": "r1"})

    def test_of_another_turn(self, project):
        run(project, 'pay {"amount": 1}')
        run(project, 'pay {"amount": 2}')
        project("revert", "s", "--yes", "--turn", "1")
        assert project.effects()[-1] == "refund r1"
        assert "no turn 7" in project("revert", "s", "--turn", "7", code=2).stderr

    def test_nothing_to_undo(self, project):
        run(project, "hello")
        assert "nothing to undo" in project("revert", "s").stdout

    def test_one_that_fails(self, project):
        run(project, 'pay {"amount": 13}')
        text = project("revert", "s", "--yes", code=1).stdout
        assert "refund did not undo pay: The till is shut." in text

    def test_one_that_waits(self, project):
        project.configure('app = "app.py:rt"\nstate = "state"\n[policy]\n"tool.refund" = "ask"\n')
        run(project, 'pay {"amount": 1}')
        text = project("revert", "s", "--yes", code=3).stdout
        wait = wait_of(project)["id"]
        assert f"callslip approve {wait}" in text
        assert "then: callslip revert s --turn 1" in text
        project("approve", wait, "--yes")
        project("revert", "s", "--yes")
        assert project.effects()[-1] == "refund r1"

    def test_while_something_is_open(self, project):
        run(project, 'render {"film": "x"}', code=3)
        assert "no outcome yet" in project("revert", "s", "--yes", code=2).stderr

    def test_texts_are_shown_safely(self, project):
        run(project, 'pay {"amount": 1}', "shout " + json.dumps({"text": "\x1b[31m\u202e"}))
        text = project("revert", "s", "--plan").stdout
        assert "\x1b" not in text
        assert "\u202e" not in text

    def test_where_keys_are_enrolled_an_operator_does(self, staffed, monkeypatch):
        run(staffed, 'pay {"amount": 1}')
        monkeypatch.setenv("CALLSLIP_KEY", "eve")
        assert "is no operator" in staffed("revert", "s", "--yes", code=8).stderr
        assert staffed.effects() == ["pay 1"]
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        staffed("revert", "s", "--yes")
        assert staffed.effects() == ["pay 1", "refund r1"]
