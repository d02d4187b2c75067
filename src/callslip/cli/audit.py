"""``callslip audit``: who did what, when and why; and whether anybody has changed that since."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from callslip.application import Runtime
from callslip.audit import anchors as keeping
from callslip.audit.book import FILE, Book
from callslip.audit.entry import Read
from callslip.audit.kept import kept
from callslip.audit.query import Query, find, latest
from callslip.audit.records import StoredLog
from callslip.audit.report import Report
from callslip.audit.verify import verify as check
from callslip.cli import audit_words, look, moments
from callslip.cli.app import runtime_for
from callslip.cli.command import command, group
from callslip.cli.document import print_document
from callslip.cli.failure import BROKEN, DONE
from callslip.cli.options import Given
from callslip.cli.project import Project, find as find_project
from callslip.cli.safe_text import one_line
from callslip.cli.since import moment
from callslip.clocks.system import SystemClock
from callslip.errors import Busy, LogBroken, NotFound

_MOST = 50
"""Problems shown."""
_WIDE, _UNDER = 120, 4
"""Columns that a table of entries needs; with fewer, an entry takes several lines, indented by so many."""
_FOLDER = "audit"


@command
@click.option("-n", "--lines", default=20, type=click.IntRange(1), metavar="N", help="How many; 20 unless given.")
async def tail(given: Given, lines: int) -> None:
    """Show the latest entries."""
    _print(given, latest(_folder(runtime_for(given, "look")) / FILE, lines))


@command
@click.option("--session", default="", metavar="SESSION", help="Of this session.")
@click.option("--tool", default="", metavar="NAME", help="Of calls of this tool.")
@click.option("--actor", default="", metavar="NAME", help="Of whoever asked, answered, approved or is stood in for.")
@click.option("--call", default="", metavar="ID", help="Of this call.")
@click.option(
    "--kind",
    type=click.Choice(audit_words.KINDS),
    metavar="KIND",
    help="Of this kind, such as tool_dispatch or approval_decided.",
)
@click.option("--effect", type=click.Choice(["none", "done", "unknown"]), help="With this effect.")
@click.option(
    "--status",
    type=click.Choice(audit_words.STATUSES),
    metavar="STATUS",
    help="With this status, such as success.",
)
@click.option("--since", default="", metavar="TIME", help="Not before 2026-01-31, 2026-01-31T08:00, or 2h, 3d ago.")
@click.option("--until", default="", metavar="TIME", help="Before then.")
async def query(given: Given, since: str, until: str, **wanted: str | None) -> None:
    """Show the entries asked for, the oldest first: those for which all that is given holds."""
    now = moments.now()
    meant = Query(
        since=moment("--since", since, now=now) if since else None,
        until=moment("--until", until, now=now) if until else None,
        **{name: value or "" for name, value in wanted.items()},
    )
    async with runtime_for(given, "look") as runtime:
        book = _folder(runtime) / FILE
        if meant.session and next(find(book, Query(session=meant.session)), None) is None:
            await _known(runtime, meant.session)
    _print(given, find(book, meant))


async def _known(runtime: Runtime, session: str) -> None:
    """Whether there is such a session, though the audit has nothing of it.

    Raises:
        NotFound: there is none.
    """
    if not await runtime.parts.ledger.heads(session):
        raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")


@command
@click.option(
    "--anchors",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Compare with the heads in this file too: what a command was given, or a copy.",
)
async def verify(given: Given, files: tuple[Path, ...]) -> int:
    """Check that the audit is what was written.

    Its chain, each entry against the log, and the heads that are kept elsewhere. Names the session and the positions
    of whatever is missing, and how many entries no kept head covers. It changes nothing. Exit code 5 if anything is
    wrong.
    """
    project = find_project(given)
    progress = look.Progress()
    async with runtime_for(given, "look") as runtime:
        folder = _folder(runtime)
        place = _place(project, folder)
        log = runtime.parts.ledger
        if not isinstance(log, StoredLog):
            raise LogBroken("This ledger can't give its stored bytes, so nothing can be verified.")
        report = await check(
            log,
            runtime.parts.blobs,
            folder,
            runtime.parts.redactor,
            anchors=kept(folder, place, *files),
            progress=lambda done, whole: progress.show(f"comparing session {done:,} of {whole:,}"),
        )
    progress.clear()
    if given.as_json:
        print_document({**{name: getattr(report, name) for name in (*Report.__struct_fields__, "ok", "unanchored")}})
    else:
        _print_report(given, report, place)
    return DONE if report.ok else BROKEN


@command
async def anchor(given: Given) -> None:
    """Keep the head of the audit elsewhere, now: where [audit] of callslip.toml says."""
    project = find_project(given).acting()
    folder = _folder(runtime_for(given, "look"))
    place = _place(project, folder)
    book = Book(folder)
    if not book.take():
        raise Busy("Another process writes the audit at this moment. Nothing was anchored. Try again.")
    try:
        tip = book.ready()
        made = await keeping.Anchors(book, place, SystemClock()).put(tip)
    finally:
        book.close()
    assert place is not None
    if given.as_json:
        print_document({"place": place.name, "at": made.at, "count": made.count, "digest": made.digest})
        return
    head = f"{made.count:,} entries, head {made.digest[:16]}…"
    look.say(f"{look.mark('ok')} {head} is kept: {one_line(place.name)}")


audit = group(
    "audit",
    "Say who did what, when and why; and check that nobody has changed it since.",
    tail,
    query,
    verify,
    anchor,
)


def _folder(runtime: Runtime) -> Path:
    """Where the audit is.

    Raises:
        NotFound: nothing has been written there yet.
    """
    state = runtime.settings.state
    if state is None or not (state / _FOLDER / FILE).exists():
        raise NotFound("There is no audit yet: it begins with the first session that is driven.")
    return state / _FOLDER


def _place(project: Project, folder: Path) -> keeping.Place | None:
    return keeping.place(project.config.audit.anchor, project.folder, folder.parent)


def _print(given: Given, found: Iterable[Read]) -> None:
    if given.as_json:
        for one in found:
            print_document(audit_words.document(one), line=True)
        return
    rows = [audit_words.row(one) for one in found]
    columns = look.columns()
    if not rows:
        look.say("No entry is like that.")
    elif columns is None or columns >= _WIDE:
        look.table(audit_words.HEADINGS, rows)
    else:
        for row in rows:
            _stack(row)


def _stack(row: audit_words.Row) -> None:
    """An entry where a table would cut off what matters: when, which session, who and what; below that, why."""
    when, session, who, what, why = row
    colour = what.colour
    look.say(
        f"{look.paint(when, dim=True)}  {one_line(session)}  {one_line(who)}  "
        + look.paint(one_line(what.text), colour)
    )
    if why:
        look.hang(" " * _UNDER, why)


def _print_report(given: Given, report: Report, place: keeping.Place | None) -> None:
    head = f"{report.entries:,} entries of {report.sessions:,} sessions, head {report.entries}:{report.digest[:16]}"
    look.say(
        f"{look.mark('ok' if report.ok else 'bad')} {look.paint('audit', bold=True)}  {look.paint(head, dim=True)}"
    )
    for problem in report.problems[:_MOST]:
        look.hang(f"    {look.paint(problem.kind, 'red')}: ", problem.message)
    if len(report.problems) > _MOST:
        look.say(f"    and {len(report.problems) - _MOST:,} more; --json lists them all", dim=True)
    for notice in report.notices:
        look.hang(f"  {look.mark('dot')} ", notice)
    look.hang(f"  {look.mark('warn' if report.unanchored else 'ok')} ", _anchored(report, place))
    if not report.ok:
        look.hang(
            "",
            "Keep the folder as it is, and find out who could write to it; `callslip verify` checks the log itself.",
        )
    elif report.unanchored and place is not None:
        look.say(f"  {given.command('audit', 'anchor')}", dim=True)


def _anchored(report: Report, place: keeping.Place | None) -> str:
    """How much of the audit nobody could have rewritten unseen."""
    if not report.unanchored:
        return f"All of it is anchored: {report.anchors} kept heads fit." if report.entries else "There is nothing yet."
    if report.anchored:
        first = report.anchored + 1
        last = f"The last {report.unanchored:,} entries ({first:,} to {report.entries:,}) are not anchored"
        return f"{last}; the {report.anchored:,} before them are, and {report.anchors} kept heads fit."
    where = "no place for its heads is named ([audit] anchor in callslip.toml)"
    if place is not None:
        where = (
            f"no head in {place.name} covers it"
            if isinstance(place, keeping.FilePlace)
            else (f"what {place.name} was given must be compared with --anchors FILE")
        )
    return f"Nothing of it is anchored: {where}. Whoever can write the log and the audit could have rewritten both."
