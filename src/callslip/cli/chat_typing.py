"""What a person types in a chat: messages with a line to edit, and answers to questions.

While it is typed nothing of the session runs, so the loop may stand still meanwhile. Earlier messages can be called
back with the arrow keys; they are kept in memory, and never written.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import termios
from collections.abc import Iterator, Mapping
from typing import Any

from callslip.cli import look
from callslip.cli.chat_command import MORE, Command, completions, goes_on, read
from callslip.cli.failure import report
from callslip.cli.nudge import nudged
from callslip.cli.prompt import STAYS_OPEN, Interrupted, confirm, interruptible, on_interrupt
from callslip.errors import UsageError

try:
    import readline as _readline
except ImportError:  # pragma: no cover - a Python without it; lines can be typed all the same
    _readline = None  # type: ignore[assignment]
readline: Any = _readline

_ESCAPES = re.compile(r"(\x1b\[[0-9;]*m)")
_ENDING = (signal.SIGTERM, signal.SIGHUP)
LEAVES = "Ctrl-C once more leaves; so do Ctrl-D and /quit."


class Ended(Exception):
    """The system asks the chat to end, at a prompt: SIGTERM, or SIGHUP of a terminal that is closed."""


class Instead(Exception):
    """A command was typed where an answer was asked for."""

    def __init__(self, command: Command) -> None:
        super().__init__(f"/{command.name}")
        self.command = command


class Typing:
    """Reads from the terminal."""

    def __init__(self) -> None:
        self._pressed = False
        """Ctrl-C was the last thing that was done at the empty prompt."""
        self._reading = False
        self.ended = False
        """The system asked the chat to end, while nothing was read."""
        if readline is not None:
            readline.set_auto_history(False)
            readline.set_completer_delims(" ")
            readline.set_completer(_complete)
            readline.parse_and_bind("tab: complete")
            if os.environ.get("TERM") != "dumb":
                readline.parse_and_bind(
                    "set enable-bracketed-paste on"
                )  # lines that are pasted together are one message

    @contextlib.contextmanager
    def heeding(self) -> Iterator[None]:
        """While inside, SIGTERM and SIGHUP end what is being read, and otherwise the next that is to be: an
        :class:`Ended`. What drives a session takes them for itself meanwhile.
        """

        def end(_number: int, _frame: object) -> None:
            self.ended = True
            if self._reading:
                self._reading = False  # once: it is sent again until it is heard
                raise Ended

        taken = [number for number in _ENDING if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, end) for number in taken}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """While inside, something is read from the terminal.

        Raises:
            Ended: the chat is to end.
        """
        self._reading = True
        try:
            with nudged(_ENDING):
                if self.ended:
                    raise Ended
                yield
        finally:
            self._reading = False

    def message(self) -> str | None:
        """The next message; ``None``: they leave.

        Raises:
            Ended: the system asks for it.
        """
        begun: list[str] = []
        while True:
            try:
                with self.reading():
                    line = _input(sign(more=bool(begun)))
            except EOFError:
                _next_line()
                return None
            except KeyboardInterrupt:
                _next_line()
                if self._leaves(empty=not begun and not _buffer()):
                    return None
                begun = []
                continue
            except UnicodeDecodeError:
                look.murmur("That was no UTF-8 text. Nothing was said.")
                continue
            self._pressed = False
            if goes_on(line):
                begun.append(line.removesuffix(MORE))
                continue
            message = "\n".join([*begun, line])
            if readline is not None and message.strip():
                readline.add_history(message)
            return message

    def _leaves(self, *, empty: bool) -> bool:
        """Whether Ctrl-C leaves: the second in a row, with nothing typed."""
        if empty and self._pressed:
            return True
        if empty:
            look.murmur(LEAVES, dim=True)
        self._pressed = empty
        return False

    def words(self, ask: str) -> str:
        """An answer in words; perhaps none.

        Raises:
            Interrupted: Ctrl-C or Ctrl-D. Instead: a command. Ended: the system asks for it.
        """
        while True:
            try:
                with self.reading(), interruptible(STAYS_OPEN):
                    said = read(_input(look.paint(ask, bold=True) + " ").strip())
            except (EOFError, Interrupted):
                _next_line()
                raise Interrupted(STAYS_OPEN) from None
            except UnicodeDecodeError:
                look.murmur("That was no UTF-8 text. Once more, please.")
            except UsageError as error:
                report(error, as_json=False, debug=False)
            else:
                if isinstance(said, Command):
                    raise Instead(said)
                return said or ""

    def confirm(self, ask: str, *, default: bool = False) -> bool:
        """Whether they say yes.

        Raises:
            Interrupted: they say neither. Ended: the system asks for it.
        """
        with self.reading():
            return confirm(ask, kept=STAYS_OPEN, default=default)

    def choice(self, ask: str, choices: Mapping[str, str]) -> str:
        """The key of one of the choices, by its word or the word's first letter; ``""`` for an empty line.

        Raises:
            Interrupted, Instead, Ended: as of :meth:`words`.
        """
        forget_typed()
        by_said = {said: key for key, word in choices.items() for said in (word, word[0])}
        shown = " / ".join(f"[{word[0]}]{word[1:]}" for word in choices.values())
        while True:
            said = self.words(f"{ask} {shown}, or Enter to leave it:").lower()
            if not said or said in by_said:
                return by_said.get(said, "")
            look.murmur(f"Say one of {', '.join(choices.values())}, or nothing.")


def forget_typed() -> None:
    """Drop what was typed before a question stood there: nobody can have meant it as an answer."""
    with contextlib.suppress(OSError, ValueError, termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _next_line() -> None:
    """Leave the line that was begun; a terminal that is gone has none."""
    with contextlib.suppress(OSError, ValueError):
        look.say()


def _input(prompt: str) -> str:
    with on_interrupt(signal.default_int_handler):
        # Readline counts columns; it must know which characters take none.
        return input(_ESCAPES.sub("\x01\\1\x02", prompt) if readline is not None else prompt)


def sign(*, more: bool = False) -> str:
    """What stands before the person's words; before those that go on, ``more``."""
    arrow = "›" if look.speaks_unicode() else ">"
    return look.paint(f"{'...' if more else 'you'} {arrow}", "cyan", bold=True) + " "


def _buffer() -> str:
    """What stood in the line that Ctrl-C has struck."""
    return readline.get_line_buffer() if readline is not None else ""


def _complete(begun: str, number: int) -> str | None:
    found = completions(begun)
    return found[number] if number < len(found) else None
