"""``callslip deny``: a person's no to a call."""

from __future__ import annotations

import click

from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.deciding import find_question, tell_decision
from callslip.cli.options import Given
from callslip.cli.question import show_question
from callslip.core.principal import Role

_MOST = 20
"""Lines of arguments: a no need not be read to the end."""


@command
@click.argument("wait")
@click.option("--reason", default="", metavar="TEXT", help="Why: the model is told it.")
@click.option("--for", "behalf", default="", metavar="PRINCIPAL", help="Who has handed the deciding on to you.")
async def deny(given: Given, wait: str, reason: str, behalf: str) -> None:
    """Don't let the call that WAIT is about be made. The calls beside it are not touched.

    The model is told so, and the reason.
    """
    async with runtime_for(given, "say") as runtime:
        asked = await find_question(given, runtime, wait)
        check_hand(runtime, Role.APPROVER, on_behalf_of=behalf)
        if not given.as_json:
            for line in show_question(asked, most=_MOST).lines:
                look.say(line)
        by = acting(runtime, quiet=given.as_json)
        await runtime.approvals.deny(wait, by=by, reason=reason, on_behalf_of=behalf, via="cli", shown=asked.binding)
    tell_decision(given, asked, "denied", by=by.name, advisory=asked.advisory, reason=reason)
