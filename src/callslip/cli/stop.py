"""``callslip stop``: ask a session to stop."""

from __future__ import annotations

import click

from callslip.cli import look
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.options import Given
from callslip.core.shown import visible


@command
@click.argument("session")
@click.option("--reason", default="", metavar="TEXT", help="Why; it stays in the log.")
async def stop(given: Given, session: str, reason: str) -> None:
    """Ask SESSION to stop, in whatever process it is driven.

    Calls that have not been dispatched are closed; those that run are told to end, and what they did is recorded.
    Where nothing is open but messages that nobody has read, these are taken back.
    """
    async with runtime_for(given, "say") as runtime:
        asked = await runtime.stop(session, reason=reason)
    if given.as_json:
        print_document({"session": session, "stopping": asked})
    elif asked:
        look.say(f"{look.mark('ok')} {visible(session)} is asked to stop.")
    else:
        look.say(f"{look.mark('dot')} {visible(session)} has nothing to stop: it is at rest, or stopping already.")
