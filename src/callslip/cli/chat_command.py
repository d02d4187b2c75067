"""What a line of a chat is: words for the model, or a command, which begins with a slash."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from callslip.errors import UsageError

COMMANDS = {
    "model": "Which model answers; with its NAME, another one does from the next step on.",
    "tools": "What the model may call.",
    "waits": "Answer what is waited for.",
    "session": "Which session this is, and what is in it.",
    "go": "Go on with what is open: after an error, or an answer from elsewhere.",
    "stop": "End the turn that is open; or take back what was not read yet.",
    "help": "This list.",
    "quit": "Leave; so does Ctrl-D.",
}
TAKE_WORDS = frozenset({"model"})
ONLY_SHOW = frozenset({"model", "tools", "session", "help"})
"""After these, what was answered before goes on by itself."""
MORE = "\\"
"""At the end of a line: the message goes on in the next one."""


class Command(NamedTuple):
    """A command and the words behind it."""

    name: str
    words: str = ""


def read(message: str) -> Command | str | None:
    """The command in a message, or else the words in it; ``None`` when there is nothing in it.

    Two slashes at the beginning stand for one that is meant as text.

    Raises:
        UsageError: there is no such command, or it takes no words.
    """
    if not message.strip():
        return None
    if message.startswith("//"):
        return message[1:]
    if not message.startswith("/"):
        return message
    name, _, words = message[1:].strip().partition(" ")
    if name not in COMMANDS:
        near = difflib.get_close_matches(name.lower(), COMMANDS, n=1, cutoff=0.5)
        meant = f"Did you mean /{near[0]}? /help" if near else "/help"
        raise UsageError(
            f"There is no /{name}. Nothing was said. {meant} lists them; two slashes begin a text that begins with one."
        )
    if words.strip() and name not in TAKE_WORDS:
        raise UsageError(f"/{name} takes no words. Nothing was done. Say it alone.")
    return Command(name, words.strip())


def goes_on(line: str) -> bool:
    """Whether the message goes on in the next line. Two backslashes at the end are two backslashes."""
    return line.endswith(MORE) and not line.endswith(MORE * 2)


def messages(lines: Iterable[str]) -> Iterable[str]:
    """The messages in lines, those that go on put together; nothing for lines that are empty."""
    begun: list[str] = []
    for line in lines:
        if goes_on(line):
            begun.append(line.removesuffix(MORE))
            continue
        message = "\n".join([*begun, line])
        begun = []
        if message.strip():
            yield message
    if "".join(begun).strip():  # it ends with a line that was to go on
        yield "\n".join(begun)


def completions(begun: str) -> list[str]:
    """The commands that what was typed so far may become."""
    return [f"/{name}" for name in COMMANDS if begun.startswith("/") and f"/{name}".startswith(begun)]
