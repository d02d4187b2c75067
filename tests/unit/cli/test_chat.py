"""``callslip chat`` as a person at a terminal has it, and as a pipe has it."""

import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from callslip.testing.contract.answers import Fails
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.server import ContractServer

PATIENCE = 60
"""Seconds without anything new on the screen after which a test fails."""
BARE = "--no-passphrase"
CALL = "call {}".format
PAY = CALL('pay {"amount": 100}')
APPROVE = "or Enter to leave it:"
OPEN = "Enter leaves it open:"

MORE = '''
import msgspec

from callslip.ports.model import Delta
from callslip.sources.ask_user import ask_user


class Talking(Scripted):
    """Streams word by word. With "slowly" it waits in the middle until the file "go" is there."""

    async def reply(self, request, on_delta=None):
        said = request.messages[-1]
        last = said.text if isinstance(said, UserText) else ""
        if last.startswith("slowly "):
            on_delta(Delta(text="One moment … "))
            while not (HERE / "go").exists():
                await asyncio.sleep(0.01)
        reply = talk(last) or await super().reply(request)
        for word in reply.text.split(" ") if request.stream and not last.startswith("quietly ") else ():
            on_delta(Delta(text=word if word == "t" else word + " "))
        return reply


def talk(last):
    if last == "evil":
        return saying("\\x1b[31mred\\u202e")
    if last == "slowly pay":
        return calling(("pay", {"amount": 100}), text="I pay.")
    if last.startswith("slowly "):
        return saying(f"Slowly: {last}")
    if last == "cut me off":
        return msgspec.structs.replace(saying("one two t"), finish="cut")
    return None


rt = Runtime(tools=[*TOOLS, ask_user], model=Talking([obey] * 100))
short = Runtime(tools=TOOLS, model=Scripted([obey]))
'''
CONFIG = 'app = "app.py:rt"\nstate = "state"\n[policy]\n"tool.pay" = "ask"\n'
SURROUNDINGS = {"NO_COLOR": "1", "COLUMNS": "300", "TERM": "xterm", "INPUTRC": "/dev/null"}
PROMPT = "\x1b[?2004hyou › "
"""What readline writes before it reads: the words alone may also stand in what was said before."""


def _own_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C becomes a signal only on a terminal that the session controls


class Seat:
    """A chat in a process of its own, on a terminal of its own, and what a person there sees and types."""

    def __init__(self, project, *words, env=None):
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "callslip.cli.main", "chat", *words, "--project", str(project.folder)],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=project.folder, start_new_session=True,
            env={name: value for name, value in {**os.environ, **SURROUNDINGS, **(env or {})}.items() if value is not None},
            preexec_fn=_own_terminal,  # noqa: PLW1509 - the other thread is a server's, and holds no lock that matters
        )  # fmt: skip
        os.close(theirs)
        self.raw, self.at = b"", 0

    @property
    def seen(self):
        return self.raw.decode(errors="ignore").replace("\r\n", "\n")

    def until(self, text=PROMPT):
        """Read until this stands on the screen, after what was waited for before. What came since."""
        while text not in self.seen[self.at :]:
            part = self.read()
            assert part, f"{text!r} never came:\n{self.seen}"
            self.raw += part
        before = self.at
        self.at = self.seen.index(text, before) + len(text)
        return self.seen[before : self.at]

    def read(self):
        """The next piece; nothing when there will be none."""
        if not select.select([self.ours], [], [], PATIENCE)[0]:
            return b""
        try:
            return os.read(self.ours, 65536)
        except OSError:  # its last holder has closed it
            return b""

    def type(self, text, then=PROMPT):
        """Type at once, and give what is shown until the next prompt, or until ``then``."""
        self.press(text)
        return self.until(then)

    def press(self, text):
        os.write(self.ours, text.encode())

    def interrupt(self):
        """Press Ctrl-C at a prompt, once it reads: a signal just before that Python would hear at the next key only."""
        main = f"/proc/{self.process.pid}/task/{self.process.pid}/stat"
        while Path(main).read_text().rpartition(")")[2].split()[0] != "S":
            os.sched_yield()
        self.press("\x03")

    def say(self, text, then=PROMPT):
        return self.type(f"{text}\n", then)

    def end(self, code=0):
        """What is shown until it has ended."""
        before = self.at
        try:
            while part := self.read():
                self.raw += part
            assert self.process.wait(timeout=60) == code, self.seen
        finally:
            self.close()
        assert "Traceback" not in self.seen
        return self.seen[before:]

    def leave(self):
        self.press("\x04")
        return self.end()

    def close(self):
        self.process.kill()
        self.process.wait()
        if self.ours is not None:
            os.close(self.ours)
        self.ours = None


@pytest.fixture
def project(project):
    (project.folder / "app.py").write_text((project.folder / "app.py").read_text() + MORE)
    project.configure(CONFIG)
    return project


@pytest.fixture
def sit(project):
    seats = []

    def make(*words, **settings):
        seats.append(Seat(project, *words, **settings))
        return seats[-1]

    yield make
    for seat in seats:
        seat.close()


def session_of(project, name="s"):
    return project.json("show", name)["records"]


def events(project, kind, name="s"):
    return [one["record"]["event"] for one in session_of(project, name) if one["record"]["event"]["type"] == kind]


def test_words_stream_and_calls_show_as_they_happen(project, sit):
    seat = sit("--session", "s")
    shown = seat.until()
    assert "new session s  scripted:test · 8 tools" in shown
    assert "You said: hello \n✓ finished in" in seat.say("hello")
    shown = seat.say(CALL('find_thing {"name": "tea"}'))
    marks = [line.split()[:3] for line in shown.splitlines() if "find_thing  " in line]
    assert marks == [["·", "find_thing", "proposed"], ["▸", "find_thing", "dispatched"], ["✓", "find_thing", "settled"]]
    assert shown.index("let me see") < shown.index("proposed") < shown.index("all done")
    shown = seat.say("evil")
    assert "\\x1b[31mred\\u202e" in shown
    assert "\x1b[31m" not in shown
    assert "\u202e" not in shown
    assert "You said: quietly now\n" in seat.say("quietly now")  # nothing of this one came as a stream
    shown = seat.say("slowly now", "One moment …")  # its first words are there while the rest is not
    (project.folder / "go").touch()
    assert "Slowly: slowly now" in seat.until()
    assert "Go on with: callslip chat --session s --project" in seat.leave()


def test_the_first_text_from_the_command_line(project, sit):
    seat = sit("hello you", "--session", "s", "--no-stream")
    assert "you › hello you\nYou said: hello you\n" in seat.until()
    seat.leave()


def test_colours_keep_away_when_asked(project, sit):
    plain = sit()
    assert "\x1b[1m" not in plain.until()
    assert "Nothing was said, so there is no session to go on with." in plain.leave()
    coloured = sit(env={"NO_COLOR": None})
    shown = coloured.until("\x1b[?2004h\x1b[36m\x1b[1myou ›\x1b[0m ")
    assert "\x1b[1mnew session" in shown
    coloured.leave()


def test_lines_commands_and_how_to_leave(project, sit):
    seat = sit("--session", "s")
    seat.until()
    assert "You said" not in seat.say("")
    seat.say("first \\", "... › ")
    assert "You said: first \nsecond " in seat.say("second")
    assert "You said: a\nb " in seat.say("\x1b[200~a\nb\x1b[201~")  # pasted
    assert "You said: /etc" in seat.say("//etc")
    assert "There is no /modle. Nothing was said. Did you mean /model?" in seat.say("/modle x")
    assert "/stop takes no words" in seat.say("/stop now")
    assert "Nothing is open: there is nothing to stop." in seat.say("/stop")
    shown = seat.say("/go")
    assert "Nothing is open: there is nothing to go on with." in shown
    assert "You said" not in shown
    assert "Nothing is waited for." in seat.say("/waits")
    shown = seat.say("/session")
    assert "scripted:test" in shown
    assert "turns     3" in shown
    assert "erase_all" in seat.say("/tools")
    assert "Ctrl-C while it works" in seat.say("/help")
    seat.type("/mod\t", "/model")  # completed
    assert "scripted:test answers. Another one: /model openai:NAME" in seat.say("")
    assert "You said: //etc" not in seat.seen
    seat.type("half a word", "half a word")
    seat.interrupt()
    assert "leaves" not in seat.until()
    seat.interrupt()
    assert "Ctrl-C once more leaves" in seat.until()
    assert "You said: on" in seat.say("on")  # which makes the next one the first again
    seat.interrupt()
    assert "Ctrl-C once more leaves" in seat.until()
    seat.interrupt()
    assert "Go on with: callslip chat --session s" in seat.end()


@pytest.mark.requirement("APPR-08")
class TestApprovals:
    def test_yes_and_it_goes_on_by_itself(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        shown = seat.say(PAY, APPROVE)
        assert "pay needs approval  appr_" in shown
        assert "amount = 100" in shown
        assert project.effects() == []
        assert "what?" in seat.say("what?", APPROVE)
        shown = seat.say("y")
        assert "answers are advisory" in shown
        assert shown.index("approved. It stands in the log.") < shown.index("settled") < shown.index("all done")
        assert project.effects() == ["pay 100"]
        seat.leave()

    def test_no_with_a_reason(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        seat.say(PAY, APPROVE)
        seat.say("no", "no reason:")
        assert "all done" in seat.say("too much")
        seat.leave()
        (decided,) = events(project, "approval_decided")
        assert (decided["decision"], decided["reason"], decided["via"]) == ("denied", "too much", "cli")
        assert project.effects() == []

    def test_other_arguments_in_the_editor(self, project, sit):
        (project.folder / "editor").write_text("#!/bin/sh\nsed -i s/100/5/ $1\n")
        (project.folder / "editor").chmod(0o700)
        seat = sit("--session", "s", env={"EDITOR": "./editor"})
        seat.until()
        seat.say(PAY, APPROVE)
        assert "amount: 100 → 5" in seat.say("e", "[y/N]")
        assert "edited. It stands in the log." in seat.say("y")
        assert project.effects() == ["pay 5"]
        seat.leave()

    @pytest.mark.parametrize("editor", ["false", "./there-is-none", "true"])
    def test_an_editor_that_comes_to_nothing_leaves_the_question_there(self, project, sit, editor):
        seat = sit("--session", "s", env={"EDITOR": editor, "VISUAL": None})
        seat.until()
        seat.say(PAY, APPROVE)
        assert "Nothing was written." in seat.say("e", APPROVE)
        seat.say("y")
        assert project.effects() == ["pay 100"]
        seat.leave()

    @pytest.mark.parametrize("command", ["/help", "/session", "/model"])
    def test_commands_are_no_answer(self, project, sit, command):
        seat = sit("--session", "s")
        seat.until()
        seat.say(PAY, APPROVE)
        shown = seat.say(command)
        assert "Nothing was written; the question stays open." in shown
        assert {"/help": "Ctrl-D", "/session": "scripted:test", "/model": "Another one"}[command] in shown
        assert "One thing is left open" in shown
        seat.say("/waits", APPROVE)
        assert "Did you mean /quit?" in seat.say("/quitt", APPROVE)
        seat.say("/quit", "Go on with")
        seat.end()
        assert events(project, "approval_decided") == []

    def test_for_the_session_with_the_rule_in_words(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        seat.say(PAY, APPROVE)
        assert "From then on, without asking:" in seat.say("s", "[y/N]")
        assert "the question stays open" in seat.say("n")
        seat.say("/waits", APPROVE)
        seat.say("s", "[y/N]")
        seat.say("y")
        assert "on grant" in seat.say(PAY)
        assert project.effects() == ["pay 100", "pay 100"]
        seat.leave()

    def test_left_open_and_answered_later(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        seat.say(PAY, APPROVE)
        assert "One thing is left open: /waits asks again. What you say instead ends it" in seat.say("")
        assert seat.say("").count("left open") == 1
        shown = seat.say("/go")
        assert "needs approval" not in shown  # it was left open on purpose
        seat.leave()
        again = sit("--session", "s")
        assert "needs approval" in again.until(APPROVE)  # whoever comes back is asked
        again.say("y")
        assert project.effects() == ["pay 100"]
        again.leave()

    @pytest.mark.parametrize("leave", [Seat.interrupt, lambda seat: seat.press("\x04")])
    def test_what_is_said_instead_ends_it(self, project, sit, leave):
        seat = sit("--session", "s")
        seat.until()
        seat.say(PAY, APPROVE)
        leave(seat)
        assert "Nothing was written; the question stays open." in seat.until()
        shown = seat.say("rather not")
        assert "cancelled" in shown
        assert "You said: rather not" in shown
        assert "left open" not in shown
        assert project.effects() == []
        seat.leave()

    def test_what_was_typed_before_the_question_stood_there_is_no_answer(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        seat.say("slowly pay", "One moment …")
        seat.type("y\n", "y\n")
        (project.folder / "go").touch()
        seat.until(APPROVE)
        assert "left open" in seat.say("")
        assert project.effects() == []
        seat.leave()

    def test_by_whose_key_is_on_hand(self, project, sit, monkeypatch):
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        for words in (["anna"], ["bob", "--role", "approver"], ["eve", "--role", "caller"]):
            project("enrol", *words, BARE)
        project.accept()
        seat = sit("--session", "s", env={"CALLSLIP_KEY": "eve"})
        seat.until()
        shown = seat.say(PAY)
        assert "needs approval" in shown
        assert "'eve', whose key is on hand, is no approver. Nothing was written." in shown
        seat.leave()
        seat = sit("--session", "s", env={"CALLSLIP_KEY": "bob"})
        seat.until(APPROVE)
        seat.say("y")
        seat.leave()
        (decided,) = events(project, "approval_decided")
        assert decided["proof"]["principal"] == "bob"
        assert decided["proof"]["signature"]
        assert project.effects() == ["pay 100"]

    def test_of_several_people_none_can_edit_or_grant(self, project, sit, monkeypatch):
        project.configure(CONFIG.replace('"ask"', '"ask_two"'))
        monkeypatch.setenv("CALLSLIP_KEY", "anna")
        for words in (["anna"], ["bob", "--role", "approver"], ["eve", "--role", "caller"]):
            project("enrol", *words, BARE)
        project.accept()
        monkeypatch.setenv("CALLSLIP_KEY", "eve")
        project("run", PAY, "--session", "s", code=3)
        seat = sit("--session", "s", env={"CALLSLIP_KEY": "bob"})
        assert "Approve it? [y]es / [n]o, or Enter" in seat.until(APPROVE)
        shown = seat.say("y")
        assert "2 different people must approve this, and 'bob' uses the same account" in shown
        assert "One thing is left open" in shown
        seat.leave()
        assert events(project, "approval_decided") == []

    def test_not_where_tools_could_read_the_passphrase(self, project, sit, tmp_path):
        (tmp_path / "secret").write_text("x")
        seat = sit("--session", "s", env={"CALLSLIP_PASSPHRASE_FILE": str(tmp_path / "secret")})
        seat.until()
        shown = seat.say(PAY)
        assert "CALLSLIP_PASSPHRASE_FILE is in the environment" in shown
        assert "callslip approve appr_" in shown
        assert APPROVE not in shown
        seat.leave()

    def test_what_cant_be_shown_whole_cant_be_approved_here(self, project, sit):
        project.configure(CONFIG + '"tool.find_thing" = "ask"\n')
        project("run", CALL("find_thing " + json.dumps({"name": "line\n" * 300})), "--session", "s", code=3)
        seat = sit("--session", "s")
        shown = seat.until(APPROVE)
        assert "what was not seen can't be approved" in shown
        assert "--digest" in shown
        assert "Approve it? [n]o, or Enter" in shown
        seat.say("y", APPROVE)
        seat.say("")
        seat.leave()
        assert events(project, "approval_decided") == []


@pytest.mark.requirement("CALL-09")
def test_questions_of_the_model(project, sit):
    seat = sit("--session", "s")
    seat.until()
    ask = CALL('ask_user {"question": "Which colour\\u202e?", "choices": ["red", "blue"]}')
    shown = seat.say(ask, OPEN)
    assert "ask_user asks: Which colour⟨U+202E⟩?" in shown
    assert "\n  1  red\n  2  blue\n" in shown
    assert "all done" in seat.say("2")
    seat.say(ask, OPEN)
    assert "There is no such choice. Give a number from 1 to 2" in seat.say("7", OPEN)
    seat.say("a warm grey")
    seat.say(ask, OPEN)
    assert "left open" in seat.say("")
    assert "You said: never mind" in seat.say("never mind")
    seat.leave()
    assert [one.get("from_user", False) for one in events(project, "function_response")] == [True, True, False]
    shown = project("show", "s", "--payloads").stdout
    assert shown.index('"blue"') < shown.index('"a warm grey"')


def test_a_call_that_its_client_runs(project, sit):
    seat = sit("--session", "s")
    seat.until()
    sign = CALL('sign {"document": "lease"}')
    seat.say(sign, APPROVE)
    seat.say("r", OPEN)
    assert "This is no JSON" in seat.say("signed", OPEN)
    assert "all done" in seat.say('"signed"')
    seat.say(sign, APPROVE)
    assert "What you say is kept, and read once all of it has come." in seat.say("")
    assert "Your words are kept" in seat.say("hello?")
    seat.say("/waits", APPROVE)
    seat.say("failed", "told it:")
    seat.say("no pen", APPROVE)
    assert "You said: hello?" in seat.say("nothing")
    seat.leave()
    last = events(project, "function_response")[-1]
    assert (last["error_message"], last["effect"]) == ("no pen", "none")


class TestInterrupted:
    def test_in_the_middle_of_its_words_and_steered(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        seat.say("slowly now", "One moment …")
        shown = seat.type("\x03")
        assert "^C\n!                  stopping   nothing is in flight; press Ctrl-C again to leave at once" in shown
        assert "Your last words are not read yet: Enter has them read" in shown
        assert "You said: be quick" in seat.say("be quick")
        seat.leave()
        assert len(events(project, "model_replied")) == 1  # what was broken off left no trace

    def test_in_the_middle_of_its_words_which_are_taken_back(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        seat.say("slowly now", "One moment …")
        assert "/stop takes them back" in seat.type("\x03")
        assert "Your words are taken back" in seat.say("/stop")
        assert "Nothing is open" in seat.say("/stop")
        shown = seat.say("hello")
        assert "You said: hello" in shown
        seat.leave()
        (request,) = events(project, "model_requested")
        assert len(request["consumed"]) == 1
        assert "what was not read is taken back" in project("show", "s").stdout

    def test_while_a_call_runs_and_steered(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        seat.say(CALL("wait_long {}"), "dispatched")
        project.until("started")
        seat.type("\x03", "wait_long settles first")
        (project.folder / "go").touch()
        shown = seat.until()
        assert "settled" in shown
        assert "Paused. Say something to steer it; Enter goes on; /stop ends the turn." in shown
        assert "You said: and now this" in seat.say("and now this")
        seat.leave()
        (steered,) = [one for one in events(project, "user_message") if one["text"] == "and now this"]
        assert steered["steer"]
        assert project.effects() == ["wait_long"]

    @pytest.mark.parametrize("then", ["", "/go", "/stop"])
    def test_while_a_call_runs_and_then_on_or_stopped(self, project, sit, then):
        seat = sit("--session", "s")
        seat.until()
        seat.say(CALL("wait_long {}"), "dispatched")
        project.until("started")
        seat.type("\x03", "wait_long settles first")
        (project.folder / "go").touch()
        seat.until()
        shown = seat.say(then)
        assert ("all done" in shown) is (then != "/stop")
        assert ("stopped  asked to stop" in shown) is (then == "/stop")
        assert "Paused" not in shown
        assert "You said: next" in seat.say("next")
        seat.leave()

    def test_twice_leaves_at_once(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        seat.say(CALL("wait_long {}"), "dispatched")
        project.until("started")
        seat.type("\x03", "wait_long settles first")
        seat.press("\x03")
        shown = seat.end(130)
        assert "Left at once. Go on with: callslip chat --session s" in shown
        assert "What wait_long did is judged then by the log." in shown

    def test_asked_to_end_by_the_system(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        seat.say(CALL("wait_long {}"), "dispatched")
        project.until("started")
        seat.process.send_signal(signal.SIGTERM)
        seat.until("wait_long settles first")
        (project.folder / "go").touch()
        shown = seat.end(7)
        assert "Go on with: callslip chat --session s" in shown
        assert "press Ctrl-C" not in shown
        assert len(events(project, "function_response")) == 1

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    @pytest.mark.parametrize("at", [PROMPT, APPROVE, OPEN, "[y/N]"])
    def test_asked_to_end_at_a_prompt(self, project, sit, number, at):
        seat = sit("--session", "s")
        seat.until()
        seat.say("hello")
        if at == OPEN:
            seat.say(CALL('ask_user {"question": "Why?"}'), OPEN)
        elif at != PROMPT:
            seat.say(PAY, APPROVE)
        if at == "[y/N]":
            seat.say("s", at)
        seat.process.send_signal(number)
        shown = seat.end(7)
        assert "\nGo on with: callslip chat --session s" in shown
        assert seat.seen.rfind("\x1b[?2004l") > seat.seen.rfind("\x1b[?2004h")  # pasting is left as it was

    def test_its_terminal_is_closed(self, project, sit):
        seat = sit("--session", "s")
        seat.until()
        seat.say("hello")
        os.close(seat.ours)
        seat.ours = None
        assert seat.process.wait(timeout=60) == 7


@pytest.mark.requirement("RECO-01")
def test_killed_in_the_middle_it_goes_on(project, sit):
    seat = sit("hello", "--session", "s")
    seat.until()
    seat.say(CALL("wait_long {}"), "dispatched")
    project.until("started")
    seat.process.kill()
    seat.end(-signal.SIGKILL)
    (project.folder / "go").touch()
    again = sit("--session", "s")
    shown = again.until(APPROVE)
    assert "you › call wait_long {}" in shown  # where one was
    assert "It was broken off in the middle. It goes on." in shown
    assert "wait_long parked: it was dispatched and no outcome was recorded" in shown
    assert "callslip resolve" not in shown  # it is asked here
    again.say("did not happen", "stays in the log:")
    assert "needs a reason" in again.say("")
    again.say("/waits", APPROVE)
    again.say("d", "stays in the log:")
    assert "all done" in again.say("I have looked")
    assert project.effects() == ["wait_long", "wait_long"]
    assert "turns     2" in again.say("/session")
    again.leave()
    last = sit("--session", "s")
    shown = last.until()
    assert "you › call wait_long {}\nall done\n" in shown
    assert "broken off" not in shown
    last.leave()


def test_while_another_process_drives_it(project, sit):
    process = project.start("run", CALL("wait_long {}"), "--session", "s")
    project.until("started")
    seat = sit("--session", "s")
    assert "It is running: another process drives it." in seat.until()
    shown = seat.say("are you there")
    assert "Your words are kept: another process drives the session, and reads them" in shown
    assert "Nothing was written" not in shown
    (project.folder / "go").touch()
    out, err = project.finish(process, 0)
    assert "You said: are you there" in out
    (said,) = [line for line in err.splitlines() if " said " in line]  # and not what it said itself
    assert said.endswith(": are you there")
    assert "You said: good" in seat.say("good")
    seat.leave()


def test_while_another_one_waits_for_the_first_answer(project, sit):
    first = sit("--session", "s")
    first.until()
    first.say("slowly now", "One moment …")
    second = sit("--session", "s")
    shown = second.until()
    assert "you › slowly now\n" in shown
    shown = second.say("me too")
    assert "Your words are kept: another process drives the session, and reads them" in shown
    assert "Nothing was written" not in shown
    (project.folder / "go").touch()
    shown = first.until()
    assert "said" in shown
    assert "You said: me too" in shown
    for seat in (first, second):
        seat.leave()


def test_a_reply_that_is_cut(project, sit):
    seat = sit("--session", "s")
    seat.until()
    shown = seat.say("cut me off")
    assert (
        "one two t\n!                  cut        the stream broke in the middle of the reply; the model is told"
        in shown
    )
    assert "asked again\nall done \n✓ finished" in shown
    assert "said" not in shown
    seat.leave()


def test_what_went_wrong_is_whole_on_a_narrow_terminal(project, sit):
    seat = sit("--session", "s", env={"COLUMNS": "70"})
    seat.until()
    shown = seat.say("cut me off")
    assert "…" not in shown
    words = " ".join(shown.split())
    assert "the stream broke in the middle of the reply; the model is told so when it is asked again" in words
    seat.leave()


def test_killed_in_the_first_request_one_sees_what_was_asked(project, sit):
    seat = sit("--session", "s")
    seat.until()
    seat.say("hello")
    seat.say("slowly now", "One moment …")
    seat.process.kill()
    seat.end(-signal.SIGKILL)
    again = sit("--session", "s")
    shown = again.until("One moment …")
    assert "\nyou › slowly now\n! It was broken off in the middle. It goes on." in shown
    assert "hello" not in shown
    (project.folder / "go").touch()
    again.until()
    again.leave()


@pytest.mark.parametrize(("name", "told"), [("-x", "begins with a dash"), ("it's a ", "1 to "), ("a\nb", "1 to ")])
def test_an_id_that_no_session_may_have(project, sit, name, told):
    shown = sit("--session", name).end(2)
    assert told in shown
    assert "you ›" not in shown


def test_a_model_that_fails_is_asked_again(project, sit):
    seat = sit("hello", "--session", "s", "--app", "app.py:short")
    seat.until()
    shown = seat.say("more")
    assert "holds 1 replies" in shown
    assert "Not answered. /go asks again; /model NAME takes another model." in shown
    assert "holds 1 replies" in seat.say("/go")
    assert "left open" not in seat.say("")
    seat.leave()


def test_a_model_whose_own_code_fails(project, sit):
    seat = sit("--session", "s")
    seat.until()
    shown = seat.say(CALL("pay {"))
    assert "Something unexpected happened (JSONDecodeError" in shown
    assert "You said: better" in seat.say("better")
    seat.leave()


# Another model in the middle


def pays(body):
    tools = body["tools"]
    name = next(one for one in (tool.get("name") or tool["function"]["name"] for tool in tools) if "find" in one)
    return Says(text="I look.", calls=(Call(name, {"name": "tea"}),))


def texts(body):
    return json.dumps(body, ensure_ascii=False)


@pytest.mark.requirement("WIRE-01")
def test_another_provider_in_the_middle(project, sit):
    script = [pays, Says("Tea is here.")]
    with ContractServer(script) as first, ContractServer([pays, Says("Tea, said Claude.")]) as second:
        servers = f'[servers]\nanthropic = "{second.url("anthropic")}"\n'
        project.configure(
            f'app = "app.py:bare"\nstate = "state"\nmodel = "openai:gpt-5"\nbase_url = "{first.url("openai_chat")}"\n{servers}'
        )
        env = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "NO_PROXY": "127.0.0.1"}
        seat = sit("--session", "s", env=env)
        assert "new session s  openai_chat:gpt-5" in seat.until()
        assert "Tea is here." in seat.say("Where is tea?")
        shown = seat.say("/model nobody:x")
        assert "The model 'nobody:x' can't be built: there is no provider 'nobody'." in shown
        assert "openai_chat:gpt-5 goes on answering." in shown
        assert "From now on anthropic:claude-sonnet-4-5 answers." in seat.say("/model anthropic:claude-sonnet-4-5")
        shown = seat.say("And who says so?")
        assert "settled" in shown
        assert "Tea, said Claude." in shown
        assert "--model anthropic:claude-sonnet-4-5" in seat.leave()
    assert first.violations == second.violations == []
    assert (len(first.seen), len(second.seen)) == (2, 2)
    history = texts(second.seen[0].body)
    assert all(
        words in history for words in ("Where is tea?", "I look.", "found tea", "Tea is here.", "And who says so?")
    )
    assert [one["model"] for one in events(project, "model_requested")] == ["openai_chat:gpt-5"] * 2 + [
        "anthropic:claude-sonnet-4-5"
    ] * 2


@pytest.mark.requirement("WIRE-01")
def test_another_provider_after_the_first_has_failed(project, sit):
    with ContractServer([Fails(401), Fails(401)]) as first, ContractServer([Says("Here I am.")]) as second:
        servers = f'[servers]\nanthropic = "{second.url("anthropic")}"\n'
        project.configure(
            f'app = "app.py:bare"\nstate = "state"\nmodel = "openai:gpt-5"\nbase_url = "{first.url("openai_chat")}"\n{servers}'
        )
        env = {"OPENAI_API_KEY": "sk-hidden", "ANTHROPIC_API_KEY": "k", "NO_PROXY": "127.0.0.1"}
        seat = sit("--session", "s", env=env)
        seat.until()
        assert "Not answered. /go asks again" in seat.say("Anybody?")
        seat.say("/model anthropic:claude-sonnet-4-5")
        assert "Here I am." in seat.say("/go")
        assert "sk-hidden" not in seat.seen
        seat.leave()
    assert second.violations == []


# From a pipe


class TestPiped:
    def test_each_line_is_a_message(self, project):
        result = project("chat", "--session", "s", text="one\n\ntwo \\\nmore\n/quit\n")
        assert result.stdout == "You said: one\nYou said: two \nmore\nYou said: /quit\n"
        assert "you ›" not in result.output
        assert len(events(project, "user_message")) == 3

    def test_the_text_of_the_command_line_comes_first(self, project):
        assert project("chat", "zero", text="one\n").stdout == "You said: zero\nYou said: one\n"
        assert project("chat", "zero", text="").stdout == "You said: zero\n"

    def test_waits_are_left_open_and_told(self, project):
        result = project("chat", "--session", "s", text=f"{PAY}\nhello\n", code=3)
        assert "callslip approve appr_" in result.stderr
        assert "your message is kept" in result.stderr
        assert result.stdout == ""
        assert project.effects() == []

    def test_in_json_each_ends_with_a_document_of_its_own(self, project):
        result = project("chat", "--json", text="one\ntwo\n")
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        assert [line["text"] for line in lines if line["type"] == "ended"] == ["You said: one", "You said: two"]
        assert [line["type"] for line in lines].count("session") == 1

    def test_it_stops_at_the_first_that_fails(self, project):
        result = project("chat", "--app", "app.py:short", text="one\ntwo\nthree\n", code=6)
        assert result.stdout == "You said: one\n"
        assert "then: callslip resume s-" in result.stderr

    @pytest.mark.parametrize(
        ("words", "text", "told"),
        [
            ([], "", "There is nothing to say. Nothing was started."),
            ([], "\n  \n", "There is nothing to say. Nothing was started."),
            ([" "], "x", "There is nothing to say. Nothing was started."),
            (["--session", "-x"], "x", "begins with a dash"),
            (["--model", "nobody:x"], "x", "can't be built"),
        ],
    )
    def test_what_cant_be(self, project, words, text, told):
        assert told in project("chat", *words, text=text, code=2).stderr
        assert project.json("sessions")["sessions"] == []

    def test_no_text_at_all(self, project):
        process = project.start(
            "chat", "--session", "s", stdin=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
        )
        process.stdin.buffer.write(b"one\n\xff\xfe\n")
        process.stdin.flush()
        out, err = project.finish(process, 2)
        assert out == "You said: one\n"
        assert "no UTF-8 text" in err

    def test_interrupted_while_it_works(self, project):
        process = project.start("chat", "--session", "s", stdin=subprocess.PIPE)
        process.stdin.write(f"{CALL('wait_long {}')}\nnever said\n")
        process.stdin.flush()
        project.until("started")
        process.send_signal(signal.SIGINT)
        while "settles first" not in process.stderr.readline():
            pass
        (project.folder / "go").touch()
        project.finish(process, 7)
        assert len(events(project, "user_message")) == 1

    def test_on_a_terminal_there_is_no_json(self, project, sit):
        assert "A conversation at the terminal is no JSON" in sit("--json").end(2)
