"""``callslip verify``: is the log what was written, and can it be true?"""

from __future__ import annotations

import time
from typing import Any

import click
import msgspec

from callslip.cli import look
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.failure import BROKEN, DONE
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.errors import NotFound
from callslip.sessions.verify import Report, verify as check

_MOST = 20
"""Problems shown of one session."""


@command
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@click.option("--payloads", is_flag=True, help="Read every payload kept beside the log, and hash it too.")
async def verify(given: Given, sessions: tuple[str, ...], payloads: bool) -> int:
    """Check the log of each SESSION, or of all, and name whatever is wrong with it.

    The stored bytes are hashed and compared with the chain, the end of the log with its high-water mark; the facts are
    folded to see whether they can be true; payloads must be there. It changes nothing. Exit code 5 if anything is
    wrong.
    """
    progress = look.Progress()
    began = time.perf_counter()
    reports: list[Report] = []
    async with runtime_for(given, "look") as runtime:
        known = [head.session for head in await runtime.sessions()]
        missing = [name for name in sessions if name not in known]
        if missing:
            raise NotFound(f"There is no session {missing[0]!r}. `callslip sessions` lists those there are.")
        wanted = list(dict.fromkeys(sessions)) or known[::-1]
        for number, name in enumerate(wanted, 1):
            where = f"{number} of {len(wanted)}: {one_line(name)}"

            def tell(done: int, whole: int, where: str = where) -> None:
                progress.show(f"verifying {where}, {done:,} of {whole:,} records")

            reports.append(await check(runtime.parts, name, contents=payloads, progress=tell))
    progress.clear()
    seconds = time.perf_counter() - began
    if given.as_json:
        print_document({"ok": all(report.ok for report in reports), "sessions": [_document(one) for one in reports]})
    else:
        for report in reports:
            _print(report, contents=payloads)
        _sum_up(reports, seconds)
    return DONE if all(report.ok for report in reports) else BROKEN


def _document(report: Report) -> dict[str, Any]:
    return {
        "session": report.session,
        "ok": report.ok,
        "records": report.records,
        "digest": report.digest,
        "payloads": report.payloads,
        "problems": [msgspec.structs.asdict(problem) for problem in report.problems],
    }


def _print(report: Report, *, contents: bool) -> None:
    name = look.paint(one_line(report.session), bold=True)
    if report.ok:
        found = "checked" if contents else "there"
        beside = f", {report.payloads} payload{'s' if report.payloads != 1 else ''} {found}" if report.payloads else ""
        mark = f"{report.records:,} records{beside}, high-water mark {report.records}:{report.digest.hex()[:16]}"
        look.say(f"{look.mark('ok')} {name}  {look.paint(mark, dim=True)}")
        return
    look.say(f"{look.mark('bad')} {name}  {report.records:,} records")
    for problem in report.problems[:_MOST]:
        look.say(f"    {look.paint(problem.kind, 'red')}: {one_line(problem.message)}")
    if len(report.problems) > _MOST:
        look.say(f"    and {len(report.problems) - _MOST:,} more; --json lists them all", dim=True)


def _sum_up(reports: list[Report], seconds: float) -> None:
    records = sum(report.records for report in reports)
    broken = sum(not report.ok for report in reports)
    if not reports:
        look.say("There are no sessions to verify.")
    elif broken:
        look.say(
            f"{broken} of {len(reports)} sessions can't be trusted. Nothing was changed, and nothing of them is "
            "executed. Keep the files; restore a backup beside them."
        )
    else:
        look.say(f"All {records:,} records are what was written (checked in {seconds:.1f} s).", dim=True)
