"""``callslip waits``: what must be answered, and how."""

from __future__ import annotations

import click

from callslip.cli import look
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document, wait_document
from callslip.cli.options import Given
from callslip.cli.waiting import print_waits


@command
@click.argument("session", required=False)
async def waits(given: Given, session: str | None) -> None:
    """List what is waited for, in all sessions or in SESSION, oldest first, each with the command that answers it."""
    async with runtime_for(given, "look") as runtime:
        found = await runtime.waits(session)
    if given.as_json:
        print_document({"waits": [wait_document(wait) for wait in found]})
    elif found:
        print_waits(given, found)
    else:
        look.say("Nothing is waited for.")
