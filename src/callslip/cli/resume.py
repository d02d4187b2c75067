"""``callslip resume``: go on with a session."""

from __future__ import annotations

import click

from callslip.cli.app import runtime_for
from callslip.cli.command import driving_command
from callslip.cli.drive import drive
from callslip.cli.options import Given


@driving_command
@click.argument("session")
@click.option("--model", metavar="NAME", help="Instead of the project's: PROVIDER:NAME or recorded:FILE.")
@click.option("--stream/--no-stream", default=None, help="Show the model's words as they come.")
async def resume(given: Given, session: str, model: str | None, stream: bool | None) -> int:
    """Go on with SESSION: settle what a crash, a stop or a wait left open, then its turn.

    Nothing that may have happened is repeated unless its tool says that this is safe. Shows the same as
    `callslip run`.
    """
    runtime = runtime_for(given, "drive", model=model, stream=stream)
    return await drive(given, runtime, session, lambda: runtime.resume(session), model=model)
