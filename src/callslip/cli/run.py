"""``callslip run``: say something, and watch the session work."""

from __future__ import annotations

import functools
import secrets
import sys

import click

from callslip.cli.app import runtime_for
from callslip.cli.command import driving_command
from callslip.cli.drive import drive
from callslip.cli.keys_on_hand import beginner
from callslip.cli.options import Given
from callslip.cli.session_name import check_name
from callslip.errors import UsageError


@driving_command
@click.argument("text")
@click.option("--session", metavar="ID", help="The session to go on with; made if new. Default: a new one.")
@click.option("--model", metavar="NAME", help="Instead of the project's: PROVIDER:NAME or recorded:FILE.")
@click.option("--stream/--no-stream", default=None, help="Show the model's words as they come.")
async def run(given: Given, text: str, session: str | None, model: str | None, stream: bool | None) -> int:
    """Say TEXT to a session (- reads it from standard input), and drive it until it answers, waits or is stopped.

    The answer goes to standard output, what happens meanwhile to standard error; with --json both go to standard
    output as one JSON document a line, the last one of type "ended". Ctrl-C lets calls that run settle and then
    stops; once more leaves at once. Either way, `callslip resume` goes on.

    With CALLSLIP_KEY, or a caller's only key on hand if it takes no passphrase, a new session is begun by that key, so
    that it is known who asks.
    """
    if text == "-":
        text = sys.stdin.read()
    if not text.strip():
        raise UsageError(
            "There is nothing to say. Nothing was started. Give a text, or - and a text on standard input."
        )
    if session is not None:
        check_name(session)
    runtime = runtime_for(given, "drive", model=model, stream=stream)
    identity = beginner(runtime.settings.state, runtime.settings.workspace)
    if identity is not None:
        runtime.configure(identity=identity)
    name = session if session is not None else f"s-{secrets.token_hex(5)}"
    work = functools.partial(runtime.run, text, session=name)
    return await drive(given, runtime, name, work, model=model, announce=session is None, said=text)
