"""``callslip principals``: who is enrolled, who may decide in whose place, and taking both back."""

from __future__ import annotations

import re

import click

from callslip.cli import look, moments
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.keys_on_hand import Installation, installation, state
from callslip.cli.options import Given
from callslip.clocks.system import SystemClock
from callslip.core.principal import Role
from callslip.core.shown import visible
from callslip.core.standing import Delegated, Delegation, DelegationEnded, PrincipalRevoked, Standing
from callslip.errors import NotFound, UsageError

ACTIONS = ("revoke", "delegate", "undelegate")
DIGITS = 16
"""Of a key, where not all of it is shown."""
_UNITS = {"min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_SPAN = re.compile(r"([1-9][0-9]{0,3})(min|h|d|w)")


@command
@click.argument("action", required=False, type=click.Choice(ACTIONS))
@click.argument("name", required=False)
@click.option("--reason", default="", metavar="TEXT", help="With revoke: why.")
@click.option("--until", metavar="SPAN", help="With delegate: for how long, such as 30min, 2h, 3d or 1w.")
@click.option("--tool", "tools", multiple=True, metavar="TOOL", help="With delegate: only for this tool; repeatable.")
def principals(
    given: Given, action: str | None, name: str | None, reason: str, until: str | None, tools: tuple[str, ...]
) -> None:
    """List who is enrolled and what they may do.

    revoke NAME: nothing they sign counts any more, and their grants end. delegate NAME: they may decide in your place
    for a while. undelegate NAME: no longer.
    """
    _check(action, name, reason, until, tools)
    at = installation(given)
    if action is None or name is None:
        _list(given, at.standing)
        return
    if name not in at.standing.principals and action != "undelegate":
        raise NotFound(f"Nobody named {name!r} is enrolled. Nothing was written. See `callslip principals`.")
    if action == "revoke":
        state(at, PrincipalRevoked(name=name, reason=reason), Role.OPERATOR)
        _tell(given, name, "revoked", "is revoked: nothing they sign counts any more, and their grants have ended.")
    elif action == "delegate" and until is not None:
        ends = SystemClock().now() + _milliseconds(until)
        state(at, Delegated(to=name, until=ends, tools=tools), Role.APPROVER)
        what = f" on {', '.join(tools)}" if tools else ""
        _tell(given, name, "delegated", f"may decide{what} in your place until {moments.day(ends)}.", until=ends)
    else:
        _undelegate(given, at, name)


def _check(action: str | None, name: str | None, reason: str, until: str | None, tools: tuple[str, ...]) -> None:
    if action is not None and name is None:
        raise UsageError(f"Say whom to {action}. Nothing was written.")
    if action == "revoke" and not reason.strip():
        raise UsageError("Revoking needs --reason; it stays in the trust file. Nothing was written.")
    if action == "delegate" and until is None:
        raise UsageError("Delegating needs --until, such as --until 3d. Nothing was written.")
    if until is not None and not _SPAN.fullmatch(until):
        raise UsageError(f"--until {until!r} is no span of time: a number and min, h, d or w. Nothing was written.")
    if reason and action != "revoke":
        raise UsageError("--reason goes with revoke. Nothing was written.")
    if (until is not None or tools) and action != "delegate":
        raise UsageError("--until and --tool go with delegate. Nothing was written.")


def _milliseconds(span: str) -> int:
    found = _SPAN.fullmatch(span)
    assert found is not None
    return int(found[1]) * _UNITS[found[2]]


def _undelegate(given: Given, at: Installation, name: str) -> None:
    if not any(one.to == name for one in at.standing.delegations):
        raise NotFound(f"Nothing has been handed on to {name!r}. Nothing was written. See `callslip principals`.")
    state(at, DelegationEnded(to=name), Role.APPROVER)
    _tell(given, name, "undelegated", "may no longer decide in your place.")


def _tell(given: Given, name: str, did: str, words: str, **more: int) -> None:
    if given.as_json:
        print_document({"name": name, "did": did, **more})
        return
    look.say(f"{look.mark('ok')} {visible(name)} {words}")


def _list(given: Given, standing: Standing) -> None:
    now = moments.now()
    live = [one for one in standing.delegations if now < one.until]
    if given.as_json:
        _document(standing, live)
        return
    if standing.advisory:
        look.say(f"{look.mark('warn')} Nobody is enrolled: whoever can write as this user can answer.")
        look.say(f"  {given.command('enrol', 'NAME')}")
        return
    rows: list[tuple[look.Cell | str, ...]] = []
    for one in standing.principals.values():
        uid = "" if one.uid is None else str(one.uid)
        mark = "root" if one.key == standing.root else ""
        rows.append((one.name, ", ".join(one.roles), one.key[:DIGITS], uid, mark))
    rows += [(name, look.Cell("revoked", "red"), "", "", "") for name in sorted(standing.revoked)]
    look.table(("name", "roles", "key", "uid", ""), rows)
    for place in live:
        what = ", ".join(place.tools) if place.tools else "everything"
        ends = moments.due(place.until)
        look.say(f"{look.mark('next')} {visible(f'{place.to} may decide for {place.by} on {what}')}; ends {ends}")


def _document(standing: Standing, live: list[Delegation]) -> None:
    enrolled = [
        {
            "name": one.name,
            "roles": one.roles,
            "key": one.key,
            "uid": one.uid,
            "host": one.host,
            "root": one.key == standing.root,
        }
        for one in standing.principals.values()
    ]
    print_document(
        {
            "advisory": standing.advisory,
            "root": standing.root or None,
            "principals": enrolled,
            "revoked": sorted(standing.revoked),
            "delegations": live,
        }
    )
