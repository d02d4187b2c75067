"""``callslip restore``: a state folder was put back from a backup."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.failure import BUSY, DONE
from callslip.cli.options import Given
from callslip.cli.project import tell_unaccepted
from callslip.cli.safe_text import one_line
from callslip.core.principal import Role
from callslip.errors import UsageError
from callslip.sessions.restore import Restored, restore as restore_all


@command
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--reason", default="", metavar="TEXT", help="Which backup, and why; it stays in the log.")
async def restore(given: Given, folder: Path, *, reason: str) -> int:
    """Say that the state FOLDER was put back from a backup. Run it before anything else uses the folder.

    What happened after the backup was made is not in it. So from now on nothing counts as proof that a call was not
    made: open calls are left to a person, and no session goes on that might do something twice before an operator has
    accepted it. It may be run again. Exit code 4 if a session is driven, and was left as it is.
    """
    if given.state is not None:
        raise UsageError("restore is told the state folder as FOLDER, without --state. Nothing was written.")
    async with runtime_for(dataclasses.replace(given, state=folder), "say") as runtime:
        check_hand(runtime, Role.OPERATOR)
        by = acting(runtime, quiet=True)
        found = await restore_all(runtime.parts, by=by, reason=reason)
    busy = [one for one in found if one.error]
    if given.as_json:
        print_document({"sessions": [msgspec.structs.asdict(one) for one in found]})
    else:
        _tell(dataclasses.replace(given, state=folder), found, busy)
    return BUSY if busy else DONE


def _tell(given: Given, found: Sequence[Restored], busy: Sequence[Restored]) -> None:
    for one in busy:
        look.say(f"{look.mark('bad')} {look.paint(one_line(one.session), bold=True)}  {one_line(one.error)}")
    tell_unaccepted(given)
    waiting = [one for one in found if one.wait_id]
    for one in waiting:
        look.say(f"{look.mark('wait')} {look.paint(one_line(one.session), bold=True)}  look what was done in it since")
        look.say(f"  then: {given.command('resolve', one.wait_id, 'accept')}")
    voided = sum(one.voided for one in found)
    rest = f"; {voided - len(waiting)} of them at rest, and free to go on" if voided > len(waiting) else ""
    sessions = f"{voided} session{'s' if voided != 1 else ''}"
    look.say(f"{look.mark('ok')} In {sessions} the log's silence proves nothing any more{rest}.")
