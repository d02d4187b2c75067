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
from collections.abc import Mapping
from typing import Any

from callslip.cli import look
from callslip.cli.chat_command import MORE, completions, goes_on
from callslip.cli.prompt import STAYS_OPEN, Interrupted, interruptible, on_interrupt

try:
    import readline as _readline
except ImportError:  # pragma: no cover - a Python without it; lines can be typed all the same
    _readline = None  # type: ignore[assignment]
readline: Any = _readline

_ESCAPES = re.compile(r"(\x1b\[[0-9;]*m)")
LEAVES = "Ctrl-C once more leaves; so do Ctrl-D and /quit."


class Typing:
    """Reads from the terminal."""

    def __init__(self) -> None:
        self._pressed = False
        """Ctrl-C was the last thing that was done at the empty prompt."""
        if readline is not None:
            readline.set_auto_history(False)
            readline.set_completer_delims(" ")
            readline.set_completer(_complete)
            readline.parse_and_bind("tab: complete")
            if os.environ.get("TERM") != "dumb":
                readline.parse_and_bind(
                    "set enable-bracketed-paste on"
                )  # lines that are pasted together are one message

    def message(self) -> str | None:
        """The next message; ``None``: they leave."""
        begun: list[str] = []
        while True:
            try:
                line = _input(sign(more=bool(begun)))
            except EOFError:
                look.say()
                return None
            except KeyboardInterrupt:
                look.say()
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
            Interrupted: Ctrl-C or Ctrl-D.
        """
        with interruptible(STAYS_OPEN):
            while True:
                try:
                    return _input(look.paint(ask, bold=True) + " ").strip()
                except EOFError:
                    look.say()
                    raise Interrupted(STAYS_OPEN) from None
                except UnicodeDecodeError:
                    look.murmur("That was no UTF-8 text. Once more, please.")

    def choice(self, ask: str, choices: Mapping[str, str]) -> str:
        """The key of one of the choices, by its word or the word's first letter; ``""`` for an empty line.

        Raises:
            Interrupted: Ctrl-C or Ctrl-D.
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
