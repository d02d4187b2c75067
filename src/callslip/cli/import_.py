"""``callslip import``: take a session in."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from callslip.application import Runtime
from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.options import Given
from callslip.cli.project import find, tell_unaccepted
from callslip.cli.safe_text import one_line
from callslip.core.principal import Role
from callslip.ledgers.state_folder import open_state
from callslip.sessions.export_file import Bounds
from callslip.sessions.import_ import Imported, import_session

_GIB = 1 << 30


@command
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--reason", default="", metavar="TEXT", help="Why; it stays in the log.")
@click.option("--most", type=click.IntRange(1, 4096), default=16, show_default=True, metavar="GIB",
              help="How much the file may unpack to.")  # fmt: skip
async def import_(given: Given, file: Path, *, reason: str, most: int) -> None:
    """Take in the session that FILE holds. It must not be here yet.

    All of it is checked before anything is written. A sealed session begins again where it was. Of one without a seal
    it is not known what happened since: its open calls are left to a person, and it does not go on before an operator
    has accepted the copy.
    """
    async with _runtime(given) as runtime:
        check_hand(runtime, Role.OPERATOR)
        by = acting(runtime, quiet=True)
        done = await import_session(runtime.parts, file, by=by, reason=reason, bounds=Bounds(total=most * _GIB))
    _tell(given, done)


def _runtime(given: Given) -> Runtime:
    """The project's, with a state folder even where there was none."""
    project = find(given).settled()
    if given.state is not None and not project.state.exists():
        open_state(project.state, writable_roots=[project.workspace] if project.workspace is not None else [])
    runtime = runtime_for(given, "say")
    if runtime.settings.state is None:
        runtime.configure(state=project.state)
    return runtime


def _tell(given: Given, done: Imported) -> None:
    if given.as_json:
        print_document(msgspec.structs.asdict(done))
        return
    records = f"{done.records:,} record{'s' if done.records != 1 else ''}"
    what = f"{records}, {done.payloads:,} payload{'s' if done.payloads != 1 else ''}"
    name = one_line(done.session)
    if done.proven:
        look.say(f"{look.mark('ok')} {look.paint(name, bold=True)}  {what}; sealed, so it is whole")
        tell_unaccepted(given)
        look.say(f"  then: {given.command('resume', done.session)} (or a worker goes on by itself)")
        return
    look.say(f"{look.mark('warn')} {look.paint(name, bold=True)}  {what}; a copy: {one_line(done.doubt)}")
    look.say("  What happened in it after the copy was made is not known. Whatever is open in it is left to you.")
    tell_unaccepted(given)
    if done.wait_id:
        look.say("  Find out what was done since, and see that the original does not go on. Then:")
        look.say(f"  {given.command('resolve', done.wait_id, 'accept')}")
