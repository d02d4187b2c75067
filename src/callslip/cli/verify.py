"""``callslip verify``: is the log what was written, and can it be true?"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from callslip.application import Runtime
from callslip.build import LEDGER_FILE
from callslip.cli import look, moments
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.failure import BROKEN, DONE
from callslip.cli.options import Given
from callslip.cli.project import find
from callslip.cli.safe_text import one_line
from callslip.errors import LogBroken, NotFound, TrustBroken
from callslip.ledgers.connection import translate
from callslip.ledgers.sqlite_reader import damages
from callslip.sessions.verify import Erasure, Problem, Report, verify as check

_KEEP = "Keep the files; restore a backup beside them."
_MOST = 20
"""Problems shown of one session."""


@command
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("--payloads", is_flag=True, help="Read every payload kept beside the log, and hash it too.")
async def verify(given: Given, sessions: tuple[str, ...], payloads: bool) -> int:
    """Check the log of each SESSION, or of all, and name whatever is wrong with it.

    The stored bytes are hashed and compared with the chain, the end of the log with its high-water mark; the facts are
    folded to see whether they can be true; waits and checkpoints must say the same; payloads must be there; and the
    pages and indexes of the database file are looked through, of which driving needs them all. It changes nothing.
    Exit code 5 if anything is wrong, or if nothing was verified because the project is not as accepted.
    """
    progress = look.Progress()
    began = time.perf_counter()
    reports: list[Report] = []
    runtime = runtime_for(given, "look")
    database = _database(runtime.settings.state)
    if database and not await _opens(runtime):
        if given.as_json:
            print_document({"ok": False, "database": database, "sessions": []})
        else:
            _print_database(database)
            look.say(_KEEP)
        return BROKEN
    async with runtime:
        known = [head.session for head in await runtime.sessions()]
        missing = [name for name in sessions if name not in known]
        if missing:
            raise NotFound(f"There is no session {missing[0]!r}. `callslip sessions` lists those there are.")
        wanted = list(dict.fromkeys(sessions)) or known[::-1]
        for number, name in enumerate(wanted, 1):
            where = f"{number} of {len(wanted)}: {one_line(name)}"

            def tell(done: int, whole: int, where: str = where) -> None:
                progress.show(f"verifying {where}, {done:,} of {whole:,} records")

            try:
                reports.append(await check(runtime.parts, name, contents=payloads, progress=tell))
            except NotFound:  # listed, and yet an index does not lead to it
                lost = Problem(kind="storage", message="the session is listed, but can't be found by its name")
                reports.append(Report(session=name, problems=[lost]))
    progress.clear()
    good = not database and all(report.ok for report in reports) and not _elsewhere(given, reports)
    seconds = time.perf_counter() - began
    if given.as_json:
        sessions_told = [_document(one) for one in reports]
        print_document({"ok": good, "database": database, "sessions": sessions_told})
    else:
        _print_database(database)
        for report in reports:
            _print(report, contents=payloads)
        _sum_up(reports, seconds, database)
    return DONE if good else BROKEN


def _elsewhere(given: Given, reports: list[Report]) -> bool:
    """Whether the log that was meant may not be the one that was looked at, or what it rests on is broken: said
    already, and never a good end.
    """
    held = find(given).held
    return isinstance(held, TrustBroken) or (held is not None and given.state is None and not reports)


def _database(state: Path | None) -> list[str]:
    """What is wrong with the database file."""
    path = state / LEDGER_FILE if state is not None else None
    if path is None or not path.is_file():
        return []
    try:
        return damages(path, whole=True) or []
    except (sqlite3.Error, OSError) as error:
        told = translate(error, path)
        return [str(error)] if isinstance(told, LogBroken) else []  # what can't be opened is said by opening it


async def _opens(runtime: Runtime) -> bool:
    try:
        async with runtime:
            await runtime.sessions()
    except LogBroken:
        return False
    return True


def _print_database(database: list[str]) -> None:
    if database:
        look.say(f"{look.mark('bad')} {look.paint(LEDGER_FILE, bold=True)}  the database file is damaged")
        for text in database[:_MOST]:
            look.say(f"    {look.paint('database', 'red')}: {one_line(text)}")


def _document(report: Report) -> dict[str, Any]:
    return {
        "session": report.session,
        "ok": report.ok,
        "records": report.records,
        "digest": report.digest,
        "payloads": report.payloads,
        "erased": [msgspec.structs.asdict(erasure) for erasure in report.erased],
        "problems": [msgspec.structs.asdict(problem) for problem in report.problems],
    }


def _print(report: Report, *, contents: bool) -> None:
    name = look.paint(one_line(report.session), bold=True)
    if report.ok:
        found = "checked" if contents else "there"
        beside = f", {report.payloads} payload{'s' if report.payloads != 1 else ''} {found}" if report.payloads else ""
        mark = (
            f"{_counted(report.records, 'record')}{beside}, high-water mark {report.records}:{report.digest.hex()[:16]}"
        )
        look.say(f"{look.mark('ok')} {name}  {look.paint(mark, dim=True)}")
        for erasure in report.erased:
            look.say(f"    {_erasure(erasure)}", dim=True)
        return
    look.say(f"{look.mark('bad')} {name}  {_counted(report.records, 'record')}")
    for problem in report.problems[:_MOST]:
        look.say(f"    {look.paint(problem.kind, 'red')}: {one_line(problem.message)}")
    if len(report.problems) > _MOST:
        look.say(f"    and {len(report.problems) - _MOST:,} more; --json lists them all", dim=True)


def _erasure(erasure: Erasure) -> str:
    what = f"{erasure.payloads} payload{'s' if erasure.payloads != 1 else ''}"
    if erasure.whole:
        what = f"everything encrypted, and {what}," if erasure.payloads else "everything encrypted"
    return one_line(f"{what} erased on {moments.day(erasure.at)} by {erasure.actor}: {erasure.reason}")


def _sum_up(reports: list[Report], seconds: float, database: list[str]) -> None:
    records = sum(report.records for report in reports)
    broken = sum(not report.ok for report in reports)
    if not reports:
        look.say("There are no sessions to verify.")
    elif broken:
        look.say(
            f"{broken} of {_counted(len(reports), 'session')} can't be trusted. Nothing was changed, and nothing of "
            f"them is executed. {_KEEP}"
        )
    elif database:
        look.say(f"The records can all be read, but no session may be driven in a file like this. {_KEEP}")
    else:
        whole = f"All {records:,} records are" if records != 1 else "The one record is"
        look.say(f"{whole} what was written (checked in {seconds:.1f} s).", dim=True)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
