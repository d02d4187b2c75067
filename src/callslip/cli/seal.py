"""``callslip seal``: end a session here."""

from __future__ import annotations

import click

from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.core.principal import Role
from callslip.sessions.seal import seal as seal_session


@command
@click.argument("session")
@click.option("--to", "destination", default="", metavar="TEXT", help="Where it goes, in your words.")
@click.option("--reason", default="", metavar="TEXT", help="Why; it stays in the log.")
async def seal(given: Given, session: str, *, destination: str, reason: str) -> None:
    """End SESSION here, for good: nothing may be added to it any more, except that something was erased.

    It must be at rest, with no run open. It can still be read, verified, exported and erased; it goes on where the
    export is imported. There is no way back but that.
    """
    async with runtime_for(given, "say") as runtime:
        check_hand(runtime, Role.OPERATOR)
        by = acting(runtime, quiet=True)
        await seal_session(runtime.parts, session, by=by, reason=reason, destination=destination)
    if given.as_json:
        print_document({"session": session, "sealed": True})
        return
    look.say(f"{look.mark('ok')} {one_line(session)} is sealed. Nothing can be added to it here.")
    look.say(f"  then: {given.command('export', session, 'FILE')}")
