"""``callslip export``: a session in one file."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.core.principal import Role
from callslip.errors import UsageError
from callslip.sessions.export import Exported, write_session
from callslip.sessions.export_file import Writer
from callslip.sessions.seal import seal as seal_session


@command
@click.argument("session")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--seal", is_flag=True, help="Move it: end the session here first, for good.")
@click.option("--to", "destination", default="", metavar="TEXT", help="With --seal: where it goes, in your words.")
@click.option("--reason", default="", metavar="TEXT", help="With --seal: why; it stays in the log.")
async def export(given: Given, session: str, file: Path, *, seal: bool, destination: str, reason: str) -> None:
    """Write SESSION into FILE: its records as they are stored, its keys, and every payload it names.

    With --seal the session moves: nothing can be added to it here any more, and whoever imports the file knows that it
    is whole. Without, the file is a copy, and proves nothing of what it lacks. Guard it like the state folder.
    """
    if not seal and (destination or reason):
        raise UsageError("--to and --reason go with --seal. Nothing was written.")
    async with runtime_for(given, "say" if seal else "look") as runtime:
        if seal:
            check_hand(runtime, Role.OPERATOR)
        with Writer(file) as out:  # before the seal: a place that can't be written must not cost the session
            if seal:
                by = acting(runtime, quiet=True)
                await seal_session(runtime.parts, session, by=by, reason=reason, destination=destination)
            done = await write_session(runtime.parts, session, out)
    _tell(given, file, done)


def _tell(given: Given, file: Path, done: Exported) -> None:
    if given.as_json:
        print_document({"file": str(file), **msgspec.structs.asdict(done)})
        return
    gone = f", {done.erased} were erased" if done.erased else ""
    records = f"{done.records:,} record{'s' if done.records != 1 else ''}"
    what = f"{records}, {done.payloads:,} payload{'s' if done.payloads != 1 else ''}{gone}"
    look.say(f"{look.mark('ok')} {look.paint(one_line(done.session), bold=True)}  {what}, in {one_line(file)}")
    if done.sealed:
        look.say("  It is sealed: import the file in one place, and only there. It goes on from there.")
    else:
        look.say(
            "  It is a copy: where it is imported, what it lacks proves nothing. --seal moves a session.", dim=True
        )
    if done.protected:
        look.say("  The file holds the session's keys. Whoever has it can read all of it.", dim=True)
