"""``callslip waits``: what must be answered, and how."""

from __future__ import annotations

import click

from callslip.cli import look
from callslip.cli.app import runtime_for
from callslip.cli.causes import causes
from callslip.cli.command import command
from callslip.cli.document import print_document, wait_document
from callslip.cli.failure import described, exit_code, report
from callslip.cli.options import Given
from callslip.cli.waiting import print_waits
from callslip.core.wait import Wait
from callslip.errors import CallslipError, NotFound


@command
@click.argument("session", required=False)
async def waits(given: Given, session: str | None) -> int:
    """List what is waited for, in all sessions or in SESSION, oldest first, each with the command that answers it."""
    found: list[Wait] = []
    broken: list[CallslipError] = []
    async with runtime_for(given, "look") as runtime:
        if session is not None and not await runtime.parts.ledger.heads(session):
            raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
        rows = await runtime.parts.ledger.waits(session)
        for name in dict.fromkeys(row.session for row in rows):
            try:
                found += await runtime.waits(name)
            except CallslipError as error:  # one broken session must not hide the waits of the others
                broken.append(error)
        said = await causes(runtime, found)
    found.sort(key=lambda wait: wait.opened_at)
    code = max((exit_code(one) for one in broken), default=0)
    if given.as_json:
        errors = [described(one) for one in broken]
        print_document({"waits": [wait_document(wait, said) for wait in found], "errors": errors})
        return code
    if found:
        print_waits(given, found, said=said)
    elif not broken:
        look.say("Nothing is waited for.")
    for one in broken:
        report(one, as_json=False, debug=given.debug)
    return code
