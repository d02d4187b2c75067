"""``callslip send``: leave a message for a session."""

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
@click.argument("text")
@click.option("--steer", is_flag=True, help="Read it at the next step, and close calls that have not been dispatched.")
async def send(given: Given, session: str, text: str, steer: bool) -> None:
    """Leave TEXT for SESSION. It is read when the turn is over, by whoever drives the session then."""
    async with runtime_for(given, "say") as runtime:
        await runtime.send(session, text, steer=steer)
        head = (await runtime.parts.ledger.heads(session))[0]
    if given.as_json:
        print_document({"session": session, "sent": True, "steer": steer, "driven": head.owner is not None})
        return
    then = "" if head.owner is not None else f" Nobody drives it now: {given.command('resume', session)}"
    look.say(f"{look.mark('ok')} {visible(session)} has your message.{then}")
