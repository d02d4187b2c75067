"""What a chat says about itself: where one is, what was said last, what can be done, how to come back."""

from __future__ import annotations

import click

from callslip.application import Runtime
from callslip.cli import look
from callslip.cli.chat_command import COMMANDS, TAKE_WORDS
from callslip.cli.chat_typing import sign
from callslip.cli.safe_text import one_line
from callslip.core.shown import prose
from callslip.core.state import SessionState, StepItem, UserItem

_MOST_LINES = 8
"""Lines that are shown of what was said before."""
_LABEL = 10


def banner(runtime: Runtime, session: str, *, known: bool) -> None:
    """Who answers here, and how to leave."""
    tools = len(runtime.catalogue)
    parts = [model_name(runtime), f"{tools} tool{'s' if tools != 1 else ''}"]
    dot = "·" if look.speaks_unicode() else "-"
    what = "session" if known else "new session"
    look.say(f"{look.paint(f'{what} {one_line(session)}', bold=True)}  {look.paint(f' {dot} '.join(parts), dim=True)}")
    look.say("/help says what you can do here; Ctrl-D leaves.", dim=True)


def model_name(runtime: Runtime) -> str:
    """Who answers."""
    return one_line(runtime.settings.model.name) if runtime.settings.model is not None else "no model"


def said_before(state: SessionState) -> None:
    """The last words of each side, so that whoever comes back knows where they are. Those that no request has read
    yet are the last.
    """
    if state.queued:
        look.say()
        _quote(f"{click.unstyle(sign())}{state.queued[-1].text}")
        return
    words = [item for item in state.items if isinstance(item, UserItem)]
    replies = [item for item in state.items if isinstance(item, StepItem) and item.text.strip()]
    if words:
        look.say()
        _quote(f"{click.unstyle(sign())}{words[-1].text}")
    if replies and (not words or state.items.index(replies[-1]) > state.items.index(words[-1])):
        _quote(replies[-1].text)


def _quote(text: str) -> None:
    lines = prose(text.strip()).split("\n")
    for line in lines[:_MOST_LINES]:
        look.say(line, dim=True)
    if len(lines) > _MOST_LINES:
        look.say(f"(and {len(lines) - _MOST_LINES} more lines)", dim=True)


def about(runtime: Runtime, state: SessionState) -> None:
    """Which session this is, and what is in it."""
    facts = {
        "session": state.session,
        "model": model_name(runtime),
        "turns": f"{state.turn:,}{', the last one open' if state.turn_open else ''}",
        "records": f"{state.seq:,}",
        "waits": f"{len(state.waits)}",
        "unread": f"{len(state.queued)} of your messages" if state.queued else "",
        "begun by": state.requester,
    }
    for label, text in facts.items():
        if text:
            look.say(f"  {look.paint(look.pad(label, _LABEL), dim=True)}{one_line(text)}")


def help_() -> None:
    """The commands."""
    for name, text in COMMANDS.items():
        shown = f"/{name}{' [NAME]' if name in TAKE_WORDS else ''}"
        look.hang(f"  {look.paint(look.pad(shown, 14), bold=True)}", text)
    look.say()
    for line in (
        "Whatever else you type is said to the model. A line that ends with a backslash goes on in the next one.",
        "Ctrl-C while it works lets running calls come to their end, and then asks you; once more leaves at once.",
    ):
        look.hang("  ", line, dim=True)


def leave(state: SessionState, then: str) -> None:
    """How to come back."""
    if not state.seq:
        look.say("Nothing was said, so there is no session to go on with.", dim=True)
        return
    look.say(f"Go on with: {then}", dim=True)
