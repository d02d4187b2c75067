"""What a chat is made of, without a terminal: lines, commands, how a session stands, choices."""

import os
import signal

import pytest

from callslip.cli import chat_mode, chat_typing
from callslip.cli.chat_answers import chosen
from callslip.cli.chat_command import COMMANDS, Command, completions, goes_on, messages, read
from callslip.cli.chat_mode import enter_goes_on, hint, mode_of, steers
from callslip.cli.prompt import Interrupted
from callslip.core.state import QueuedMessage, SessionState
from callslip.core.wait import WaitKind
from callslip.errors import UsageError


class TestLines:
    @pytest.mark.parametrize(
        ("message", "meant"),
        [
            ("", None),
            ("  \t ", None),
            ("hello", "hello"),
            (" /model x", " /model x"),  # a slash that does not begin the line is the user's
            ("//etc/hosts", "/etc/hosts"),
            ("///", "//"),
            ("/quit", Command("quit")),
            ("/ quit", Command("quit")),
            ("/stop  ", Command("stop")),
            ("/model anthropic:claude x", Command("model", "anthropic:claude x")),
            ("/model", Command("model")),
            ("line\n/model x", "line\n/model x"),
        ],
    )
    def test_words_and_commands(self, message, meant):
        assert read(message) == meant

    @pytest.mark.parametrize(
        ("message", "told"),
        [
            ("/modle x", "no /modle. Nothing was said. Did you mean /model?"),
            ("/MODEL x", "Did you mean /model?"),
            ("/etc/hosts", "two slashes begin a text that begins with one"),
            ("/", "There is no /."),
            ("/stop now", "/stop takes no words. Nothing was done."),
        ],
    )
    def test_what_is_no_command_is_told(self, message, told):
        with pytest.raises(UsageError) as error:
            read(message)
        assert told in str(error.value)

    @pytest.mark.parametrize(
        ("line", "more"), [("a\\", True), ("\\", True), ("a\\\\", False), ("a", False), ("", False), ("\\ ", False)]
    )
    def test_a_line_that_goes_on(self, line, more):
        assert goes_on(line) is more

    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            ([], []),
            (["", "  "], []),
            (["a", "", "b"], ["a", "b"]),
            (["a\\", "b", "c"], ["a\nb", "c"]),
            (["a\\", "", "c"], ["a\n", "c"]),
            (["a", "b\\"], ["a", "b"]),  # the last line of a file that was to go on
            (["\\"], []),
            (["/quit"], ["/quit"]),
        ],
    )
    def test_messages_of_a_pipe(self, lines, said):
        assert list(messages(lines)) == said

    def test_they_are_said_as_they_come(self):
        read_so_far = []

        def lines():
            for line in ("a", "b"):
                read_so_far.append(line)
                yield line

        assert next(iter(messages(lines()))) == "a"
        assert read_so_far == ["a"]

    @pytest.mark.parametrize(
        ("begun", "found"), [("/s", ["/session", "/stop"]), ("/model", ["/model"]), ("s", []), ("/x", []), ("", [])]
    )
    def test_completions(self, begun, found):
        assert completions(begun) == found
        assert [chat_typing._complete(begun, number) for number in range(len(found) + 1)] == [*found, None]

    def test_every_command_has_a_letter_of_its_own_to_be_told_apart(self):
        assert len(COMMANDS) == len({read(f"/{name}").name for name in COMMANDS})


def state(*, waits=(), queued=0, **fields):
    made = SessionState(session="s", seq=5, **fields)
    made.waits = dict.fromkeys(waits)
    made.queued = [QueuedMessage(seq=number, text="x", steer=False) for number in range(queued)]
    return made


class TestHowItStands:
    @pytest.mark.parametrize(
        ("state", "mode", "steered", "by_enter"),
        [
            (SessionState(session="s"), "free", False, False),
            (state(last_status="finished"), "free", False, False),
            (state(last_status="stopped"), "free", False, False),
            (state(last_status="stopped", turn_open=True), "paused", True, True),
            (state(last_status="left", turn_open=True), "paused", True, True),
            (state(last_status="stopped", queued=1), "unread", False, True),
            (state(last_status="failed", queued=1), "failed", False, False),
            (state(last_status="failed", turn_open=True), "failed", True, False),
            (state(last_status="waiting", turn_open=True, waits=["w"]), "waiting", True, False),
            (state(last_status="stopped", turn_open=True, waits=["w"]), "waiting", True, False),
            (state(last_status="waiting", run_open=True, turn_open=True, waits=["w"]), "broken_off", True, True),
        ],
    )
    def test_it_is_read_from_the_log(self, state, mode, steered, by_enter):
        assert mode_of(state) == mode
        assert steers(state) is steered
        assert enter_goes_on(mode) is by_enter

    @pytest.mark.parametrize(
        ("kinds", "told"),
        [
            ([WaitKind.APPROVAL], "One thing is left open: /waits asks again. What you say instead ends it"),
            ([WaitKind.APPROVAL, WaitKind.QUESTION], "2 things are left open"),
            ([WaitKind.PARKED], "What you say is kept"),
            ([WaitKind.APPROVAL, WaitKind.CLIENT], "What you say is kept"),
        ],
    )
    def test_what_becomes_of_what_is_said_while_it_waits(self, kinds, told):
        assert told in hint("waiting", kinds)

    def test_there_is_a_hint_unless_nothing_is_open(self):
        modes = chat_mode.Mode.__args__
        assert [mode for mode in modes if not hint(mode, [WaitKind.TIME])] == ["free"]


class TestChoices:
    @pytest.mark.parametrize(
        ("said", "choices", "meant"),
        [
            ("2", ["red", "blue"], "blue"),
            ("0", ["red", "blue"], None),
            ("3", ["red", "blue"], None),
            ("3 of them", ["red", "blue"], "3 of them"),
            ("2", ["1", "2", "3"], "2"),
            ("1", ["2", "1"], "1"),  # a choice that is a number is meant as itself
            ("blue", ["red", "blue"], "blue"),
            ("green", ["red", "blue"], "green"),
            ("2", [], "2"),
            ("²", ["red", "blue"], "²"),
        ],
    )
    def test_a_number_or_words(self, said, choices, meant):
        assert chosen(said, choices) == meant

    @pytest.fixture
    def typing(self, monkeypatch):
        typed = []

        def take(prompt):
            asked.append(prompt)
            if not typed:
                raise EOFError
            if isinstance(typed[0], type):
                raise typed.pop(0)
            return typed.pop(0)

        asked = []
        monkeypatch.setattr(chat_typing, "input", take, raising=False)
        typing = chat_typing.Typing()
        typing.typed, typing.asked = typed, asked
        return typing

    @pytest.mark.parametrize(
        ("typed", "key"),
        [(["y"], "yes"), (["YES "], "yes"), ([""], ""), (["what", "g"], "give_up"), (["give up"], "give_up")],
    )
    def test_one_of_several(self, typing, typed, key, capsys):
        typing.typed[:] = typed
        assert typing.choice("Approve?", {"yes": "yes", "give_up": "give up"}) == key
        assert "Approve? [y]es / [g]ive up, or Enter" in typing.asked[0]
        assert ("Say one of yes, give up, or nothing." in capsys.readouterr().err) is (len(typed) > 1)

    @pytest.mark.parametrize("typed", [[], [KeyboardInterrupt]])
    def test_neither(self, typing, typed, capsys):
        typing.typed[:] = typed
        with pytest.raises(Interrupted, match="the question stays open"):
            typing.choice("Approve?", {"yes": "yes"})
        assert capsys.readouterr().out == "\n"  # what comes next does not run over the question

    @pytest.mark.parametrize(
        "ask", [lambda typing: typing.words("Why?"), lambda typing: typing.choice("Yes?", {"y": "yes"})]
    )
    def test_a_command_is_none(self, typing, ask):
        typing.typed[:] = ["/model x:y "]
        with pytest.raises(chat_typing.Instead) as raised:
            ask(typing)
        assert raised.value.command == Command("model", "x:y")

    def test_what_begins_with_a_slash(self, typing, capsys):
        typing.typed[:] = ["/etc/hosts", "//etc/hosts"]
        assert typing.words("Which file?") == "/etc/hosts"
        assert "There is no /etc/hosts." in capsys.readouterr().err

    def test_asked_to_end_while_nothing_is_read(self, typing):
        typing.typed[:] = ["never read"]
        with typing.heeding():
            os.kill(os.getpid(), signal.SIGTERM)
            with pytest.raises(chat_typing.Ended):
                typing.message()
        assert typing.typed == ["never read"]

    def test_ctrl_c_leaves_when_it_is_pressed_twice_with_nothing_typed(self, typing, monkeypatch, capsys):
        buffers = ["", "half a word", ""]
        monkeypatch.setattr(chat_typing, "_buffer", lambda: buffers.pop(0))
        typing.typed[:] = [KeyboardInterrupt, KeyboardInterrupt, KeyboardInterrupt, "words"]
        assert typing.message() == "words"
        assert capsys.readouterr().err.count(chat_typing.LEAVES) == 2
        buffers[:] = ["", ""]
        typing.typed[:] = [KeyboardInterrupt, KeyboardInterrupt, "words"]
        assert typing.message() is None

    def test_ctrl_c_drops_the_lines_that_were_begun(self, typing, monkeypatch, capsys):
        monkeypatch.setattr(chat_typing, "_buffer", lambda: "")
        typing.typed[:] = ["a\\", KeyboardInterrupt, "b"]
        assert typing.message() == "b"
        assert chat_typing.LEAVES not in capsys.readouterr().err

    def test_what_is_no_text_is_asked_for_again(self, typing, capsys):
        typing.typed[:] = ["b"]
        real, failed = chat_typing.input, []

        def broken(prompt):
            if not failed:
                failed.append(prompt)
                raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no")
            return real(prompt)

        chat_typing.input = broken
        assert typing.message() == "b"
        assert "no UTF-8 text. Nothing was said." in capsys.readouterr().err

    def test_without_readline(self, typing, monkeypatch, capsys):
        monkeypatch.setattr(chat_typing, "readline", None)
        typing.typed[:] = ["a"]
        assert chat_typing.Typing().message() == "a"
        assert "\x01" not in typing.asked[-1]
        assert chat_typing._buffer() == ""
