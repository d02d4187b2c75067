"""``callslip trust``: a person accepts what the project is made of."""

from __future__ import annotations

import sys
from typing import Any

import click

from callslip.cli import look
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.failure import BROKEN, DONE
from callslip.cli.options import Given
from callslip.cli.review import Part, Review, accept, review
from callslip.cli.safe_text import one_line
from callslip.core.shown import visible
from callslip.errors import UsageError

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_MARKS = {"new": "next", "changed": "warn", "gone": "bad"}


@command
@click.option("--check", is_flag=True, help="Only look: exit code 5 if something differs from what was accepted.")
@click.option("--yes", is_flag=True, help="Accept without asking.")
def trust(given: Given, check: bool, yes: bool) -> int:
    """Show what differs from what was accepted, and accept it: callslip.toml, the modules, what they name.

    Nothing of a project acts before it was accepted, and a change is held until it is. Once a key is enrolled, it
    takes an operator's.
    """
    if check and yes:
        raise UsageError("--check only looks, so it does not go with --yes. Nothing was accepted.")
    if given.as_json and not (check or yes):
        raise UsageError("With --json nobody is asked: say --check or --yes. Nothing was accepted.")
    made = review(given)
    if not given.as_json:
        _show(made)
    if not made.changes or check:
        _tell(given, made, accepted=False, by="")
        return BROKEN if made.changes else DONE
    if not yes and not _wanted(given, made):
        look.say("Nothing was accepted.")
        return BROKEN
    _tell(given, made, accepted=True, by=accept(made))
    return DONE


def _wanted(given: Given, made: Review) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            "There is no terminal to ask on. Nothing was accepted. Look with "
            f"`{given.command('trust', '--check')}`, then say --yes."
        )
    return click.confirm(f"Accept {_counted(len(made.changes))}?", default=False)


def _show(made: Review) -> None:
    for part in made.parts:
        if not part.changes:
            continue
        look.say(visible(str(part.root)), bold=True)
        if part.accepted:
            for change in part.changes:
                look.say(
                    f"{look.mark(_MARKS[change.kind])} {look.paint(one_line(change.path), bold=True)}  {change.kind}"
                )
                for line in made.shown(part, change):
                    look.say(visible(line.expandtabs(4)), colour=_COLOURS.get(line[:1]))
        else:
            _list(part)


def _list(part: Part) -> None:
    """What has never been accepted is there to be read in an editor: its names will do here."""
    rows = [(name, f"{len(part.now[name].splitlines()):,}", digest[:16]) for name, digest in part.digests.items()]
    look.table(("file", "lines", "sha-256"), rows)


def _tell(given: Given, made: Review, *, accepted: bool, by: str) -> None:
    if given.as_json:
        print_document(_document(made, accepted=accepted, by=by))
        return
    count = _counted(sum(len(part.now) for part in made.parts))
    if not made.changes:
        look.say(f"{look.mark('ok')} {count} as accepted.")
    elif accepted:
        look.say(f"{look.mark('ok')} {count} accepted{f', signed by {visible(by)}' if by else ''}.")
        if not by:
            text = "  advisory: no key is enrolled, so whoever can write the state folder can accept"
            look.say(text, dim=True)
    else:
        look.say(f"{_counted(len(made.changes))} held. To accept: {given.command('trust')}")


def _counted(number: int) -> str:
    return f"{number:,} file{'' if number == 1 else 's'}"


def _document(made: Review, *, accepted: bool, by: str) -> dict[str, Any]:
    held = [
        {
            "root": str(part.root),
            "path": change.path,
            "change": change.kind,
            "was": change.was or None,
            "now": change.now or None,
            "diff": made.shown(part, change) if part.accepted else None,
        }
        for part in made.parts
        for change in part.changes
    ]
    return {
        "ok": accepted or not held,
        "accepted": accepted,
        "signed_by": by or None,
        "state": str(made.state),
        "files": sum(len(part.now) for part in made.parts),
        "changes": held,
    }
