"""``callslip chat``: a conversation at the terminal."""

from __future__ import annotations

import secrets

import click

from callslip.cli import early
from callslip.cli.app import runtime_for
from callslip.cli.chat_piped import talk
from callslip.cli.command import driving_command
from callslip.cli.consent import on_terminal
from callslip.cli.conversation import Conversation
from callslip.cli.drive import show_on
from callslip.cli.keys_on_hand import beginner
from callslip.cli.live import LiveView
from callslip.cli.options import Given
from callslip.cli.prompt import on_interrupt
from callslip.cli.session_name import check_name
from callslip.errors import UsageError


@driving_command
@click.argument("text", required=False)
@click.option("--session", metavar="ID", help="The session to go on with; made if new. Default: a new one.")
@click.option("--model", metavar="NAME", help="Instead of the project's: PROVIDER:NAME or recorded:FILE.")
@click.option("--stream/--no-stream", default=True, help="Show the model's words as they come; the default.")
async def chat(given: Given, text: str | None, session: str | None, model: str | None, stream: bool) -> int:
    """Talk with a session: it answers as the words come, its calls show as they happen, and what it waits for is asked
    and answered in place. TEXT is said first.

    Ctrl-C while it works lets running calls come to their end and then asks you: what you say steers the turn, Enter
    goes on, /stop ends it. /model NAME has another model answer from there on. Ctrl-D leaves; /help lists the rest.

    Where standard input is no terminal each line of it is a message, nobody is asked anything, and the output and the
    exit code are those of `callslip run`.
    """
    if session is not None:
        check_name(session)
    if text is not None and not text.strip():
        raise UsageError("There is nothing to say. Nothing was started. Give a text, or none and type it.")
    typed = on_terminal()
    if typed and given.as_json:
        raise UsageError(
            "A conversation at the terminal is no JSON. Nothing was started. Give the messages on standard input, one "
            "a line, or leave out --json."
        )
    runtime = runtime_for(given, "drive", model=model, stream=stream)
    identity = beginner(runtime.settings.state, runtime.settings.workspace)
    if identity is not None:
        runtime.configure(identity=identity)
    name = session if session is not None else f"s-{secrets.token_hex(5)}"
    view = LiveView(as_json=given.as_json, announce=name if session is None and not typed else "")
    show_on(view, runtime)
    async with runtime:
        if typed:
            early.give_back()
            with on_interrupt(_late):
                return await Conversation(given, runtime, name, view, model=model).hold(text)
        then = given.command("resume", name, *(("--model", model) if model is not None else ()))
        return await talk(given, runtime, name, view, text, then)


def _late(_number: int, _frame: object) -> None:
    """Ctrl-C between the end of a run and the next prompt: there is nothing to break off."""
