"""``callslip breakers``: which tools are left alone because they keep failing, and having them called again."""

from __future__ import annotations

import json

import click
import msgspec

from callslip.cli import look
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.look import Cell
from callslip.cli.moments import span
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.core.shown import visible
from callslip.errors import LedgerUnavailable, NotFound, UsageError
from callslip.ports.breakers import Breakers, Seen

_COLOURS = {"closed": "green", "open": "red", "half-open": "yellow"}


@command
@click.argument("action", required=False, type=click.Choice(["reset"]))
@click.argument("key", required=False)
@click.option("--all", "every", is_flag=True, help="List those that only succeeded lately, too.")
async def breakers(given: Given, action: str | None, key: str | None, *, every: bool) -> int:
    """List the breakers: of each tool and target that failed lately, whether it is called, since when it is not, and
    when one call tries it. A tool that does well, or was not called, is not listed.

    reset [KEY]: have it called again at once, as if it had never failed; without KEY all of them. Works while others
    drive sessions: they see it at their next call.
    """
    if action is not None and every:
        raise UsageError("--all is about the list, and doesn't go with reset. Nothing was reset.")
    async with runtime_for(given, "look") as runtime:
        found = runtime.parts.breakers
        if found is None and not runtime.settings.breakers.on:
            raise UsageError("The setting `on` in [breakers] is false: no tool is ever left alone. Nothing was done.")
        if found is None:
            raise LedgerUnavailable("The state folder can only be read here, which does not show its breakers.")
        if action is None:
            _list(given, [one for one in found.seen() if every or one.bad or one.phase != "closed"], every=every)
        else:
            _reset(given, found, key)
    return 0


def _list(given: Given, found: list[Seen], *, every: bool) -> None:
    if given.as_json:
        print_document({"breakers": [json.loads(msgspec.json.encode(one)) for one in found]})
        return
    if not found:
        look.say(f"No tool is left alone, and none has failed {'or succeeded ' if every else ''}lately.")
        return
    rows = [
        (
            Cell(one.key),
            Cell(one.phase, _COLOURS[one.phase]),
            Cell(f"{one.bad} of {one.good + one.bad}"),
            Cell("" if one.open_for is None else _span(one.open_for)),
            Cell(_next(one)),
            Cell(one_line(one.reason)),
        )
        for one in found
    ]
    look.table(("breaker", "state", "failed", "open for", "tried", "why"), rows)
    barred = [one for one in found if one.phase != "closed"]
    if barred:
        look.say(given.command("breakers", "reset", barred[0].key) + " has it called again at once.", dim=True)


def _reset(given: Given, found: Breakers, key: str | None) -> None:
    done = found.reset(key)
    if key is not None and not done:
        raise NotFound(f"There is no breaker {key!r}. Nothing was reset. `callslip breakers` lists them.")
    if given.as_json:
        print_document({"reset": done})
        return
    if not done:
        look.say("There was no breaker to reset.")
    for one in done:
        look.say(f"{look.mark('ok')} {visible(one)} is called again.")


def _next(one: Seen) -> str:
    if one.phase == "closed":
        return ""
    return (
        "now, by one call"
        if one.again_in is None
        else "by the next call"
        if not one.again_in
        else f"in {_span(one.again_in)}"
    )


def _span(seconds: float) -> str:
    return span(round(seconds * 1000))
