"""``callslip init``: a project that runs at once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from callslip.cli import look
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.options import Given
from callslip.cli.review import accept, review
from callslip.config import FILE
from callslip.errors import CallslipError, ConfigError

APP_FILE = "app.py"

CONFIG = """\
# The project's settings for Callslip.
app = "app.py:rt"

# A model, when app.py names none: openai:NAME, with OPENAI_API_KEY in the environment.
# model = "openai:gpt-5"
# base_url = "http://127.0.0.1:8080/v1"   # any server that speaks the same protocol

# A folder that the built-in file tools may read and write, for a project without an app.
# workspace = "files"

# What each risk comes to, and single tools: allow, ask (a person must approve), ask_two (two people must) or deny.
# [policy]
# dangerous = "ask"
# "tool.add_note" = "ask"

# [limits]
# approval_expires = 86400   # seconds for which a person is waited for; without it, for ever

# Keep the head of the audit where this account can't rewrite it, so that an audit that was rewritten shows.
# [audit]
# anchor = "/var/log/callslip/heads"

# Who is told, by a worker, when a person is needed.
# [[notify]]
# kind = "command"
# argv = ["/usr/local/bin/tell-the-team"]
"""

APP = '''\
"""An example: two tools, and a model that answers from a script, so that it runs without a key."""

from pathlib import Path

from callslip import Context, Runtime, tool
from callslip.providers.scripted import Scripted, calling

NOTES = Path(__file__).parent / "notes"


@tool(risk="read", recovery="idempotent")
def get_weather(city: str) -> str:
    """Look up today's weather in a city. Not for forecasts.

    Args:
        city: The city's name, such as Oslo.
    """
    return f"It is sunny in {city}, 21 degrees."


@tool(risk="write", recovery="idempotent", local_effect=True)
def add_note(text: str, context: Context) -> str:
    """Add a short note in a file. Not for secrets.

    Args:
        text: What to note down, in one sentence.
    """
    # The key is the same whenever this very call is made again, so a repeat writes the same file.
    NOTES.mkdir(exist_ok=True)
    note = NOTES / f"{context.idempotency_key}.txt"
    note.write_text(text + "\\n")
    return f"Noted in {note.name}."


SCRIPT = [
    calling(("get_weather", {"city": "Oslo"}), text="I look it up."),
    calling(("add_note", {"text": "Sunny in Oslo, 21 degrees."})),
    "It is sunny in Oslo, 21 degrees. I have noted it down.",
]

# For a real model, take `model=` away here and name one in callslip.toml.
rt = Runtime(tools=[get_weather, add_note], model=Scripted(SCRIPT * 50, name="scripted:example"))
'''


@command
def init(given: Given) -> None:
    """Write a callslip.toml and an app.py into this folder (or --project). It runs without a key or a network.

    Both are accepted as they were written (callslip trust); nothing else in the folder is.
    """
    folder = given.project or Path.cwd()
    if not folder.is_dir():
        raise ConfigError(f"There is no folder {folder}. Nothing was written. Make it first.")
    files = {folder / FILE: CONFIG, folder / APP_FILE: APP}
    there = [path.name for path in files if path.exists() or path.is_symlink()]
    if there:
        raise ConfigError(
            f"{folder} has {' and '.join(there)} already. Nothing was written, and nothing is ever overwritten. "
            "Choose another folder, or move it away."
        )
    for path, text in files.items():
        with path.open("x") as file:
            file.write(text)
    _accept(given, folder)
    if given.as_json:
        print_document({"written": [str(path) for path in files]})
        return
    for path in files:
        look.say(f"{look.mark('ok')} {path}, accepted as written")
    look.say("\nNext:", bold=True)
    for line, why in (
        (given.command("run", "What is the weather in Oslo?", "--session", "first"), "watch it work"),
        (given.command("show", "first"), "see what was recorded"),
        (given.command("doctor"), "check that all is well"),
    ):
        look.say(f"  {line}")
        look.say(f"      {why}", dim=True)
    click.echo()


def _accept(given: Given, folder: Path) -> None:
    """Whoever asked for exactly these bytes need not be asked whether they may act."""
    written = {FILE: CONFIG.encode(), APP_FILE: APP.encode()}
    try:
        accept(review(dataclasses.replace(given, app=None, project=folder)).only(written))
    except CallslipError as error:
        error.add_note(f"The files were written; accept them with: {given.command('trust')}")
        raise
