"""``callslip grants``: what needs no further asking, in words, and taking it back."""

from __future__ import annotations

import json

import click
import msgspec

from callslip.cli import look, moments
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.keys_on_hand import installation, state
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.core.grant import Grant, in_words
from callslip.core.principal import Role
from callslip.core.shown import visible
from callslip.core.standing import GrantRevoked, Standing
from callslip.errors import NotFound, UsageError


@command
@click.argument("action", required=False, type=click.Choice(["revoke"]))
@click.argument("grant", required=False)
@click.option("--reason", default="", metavar="TEXT", help="With revoke: why.")
def grants(given: Given, action: str | None, grant: str | None, reason: str) -> None:
    """List the grants in force: which calls need no further asking, and by whose word.

    revoke GRANT: such calls are asked about again.
    """
    if action is None and reason:
        raise UsageError("--reason goes with revoke. Nothing was written.")
    if action is not None and grant is None:
        raise UsageError("Say which grant to revoke. Nothing was written. `callslip grants` lists them.")
    if action is not None and not reason.strip():
        raise UsageError("Revoking needs --reason; it stays in the trust file. Nothing was written.")
    at = installation(given)
    if action is None or grant is None:
        _list(given, at.standing)
        return
    if grant not in at.standing.grants:
        raise NotFound(f"There is no grant {grant!r} in force. Nothing was written. `callslip grants` lists them.")
    state(at, GrantRevoked(id=grant, reason=reason), Role.APPROVER, Role.OPERATOR)
    if given.as_json:
        print_document({"grant": grant, "did": "revoked"})
        return
    look.say(f"{look.mark('ok')} {visible(grant)} is revoked: such calls are asked about again.")


def _list(given: Given, standing: Standing) -> None:
    now = moments.now()
    live = [one for one in standing.grants.values() if one.until is None or now < one.until]
    if given.as_json:
        print_document({"grants": [_described(one, standing) for one in live]})
        return
    if not live:
        look.say("No grant is in force: every call that must be asked about is asked about.")
        return
    for one in live:
        signed = "" if not standing.advisory else " (unsigned)"
        look.say(f"{look.mark('ok')} {visible(one.id)}, by {visible(standing.granted_by[one.id])}{signed}", bold=True)
        for line in look.wrap(one_line(in_words(one)), look.columns()):
            look.say(f"  {line}")
        if one.reason:
            look.say(f"  {one_line(one.reason)}", dim=True)
        undo = given.command("grants", "revoke", one.id, tail="--reason '…'")
        look.say(f"  {undo}", dim=True)


def _described(grant: Grant, standing: Standing) -> dict[str, object]:
    return {
        **json.loads(msgspec.json.encode(grant)),
        "granted_by": standing.granted_by[grant.id],
        "words": in_words(grant),
    }
