"""``callslip routing``: how well the model's tools are found, and what that teaches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

import click
import msgspec

from callslip.application import Runtime
from callslip.cli import fresh_file, look, moments, routing_page
from callslip.cli.app import runtime_for
from callslip.cli.command import command, group
from callslip.cli.document import print_document
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.cli.since import moment
from callslip.core.payload import Payload
from callslip.errors import UsageError
from callslip.runtime import payloads
from callslip.stats.routing.cases import Case, Kind, cases
from callslip.stats.routing.reading import Reading
from callslip.stats.routing.tally import Tally

_SESSIONS = click.option(
    "--session", "sessions", multiple=True, metavar="ID", help="Only this session. May be repeated."
)
_SINCE = click.option(
    "--since", metavar="TIME", help="Only turns that began since: a date, or how long ago, such as 7d."
)


@command
@_SESSIONS
@_SINCE
@click.option("--uses", is_flag=True, help="List each use too, with the words that offered the tool.")
async def report(given: Given, sessions: tuple[str, ...], since: str | None, uses: bool) -> int:
    """Say how well tools are found.

    Of each tool that was used and had to be found: how it was offered (by preselection, by the first search, later, or
    not at all), and at which rank. What was offered in vain, how often was searched, what came after "nothing fits".

    Read off the log, so it is what happened. With --uses it shows what was said, and whoever looks stands in the audit.
    """
    moment_since = _moment(since)
    async with runtime_for(given, "look") as runtime:
        reading, tally = _reading(runtime, sessions, moment_since), Tally(uses=uses)
        async for turn in reading.turns():
            tally.add(turn)
        found = tally.stats(
            since=moment_since, sessions=reading.sessions, records=reading.records, unread=tuple(reading.unread)
        )
        await _audited(runtime, (use.session for use in found.uses))
    if given.as_json:
        print_document(json.loads(msgspec.json.encode(found)))
    else:
        routing_page.show(given, found, uses=uses)
    return 0


@command
@_SESSIONS
@_SINCE
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="The file to write; without it, standard output."
)
@click.option("--all", "everything", is_flag=True, help="Write what was found at once, too.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
async def missed(
    given: Given, sessions: tuple[str, ...], since: str | None, out: Path | None, everything: bool, force: bool
) -> int:
    """Write what was missed, as labelled data.

    Of each tool that was used without having been offered at once: the words, what was offered for them, and which
    tools were right, as their use shows. Each line is a JSON object. It holds what users and models said: guard it like
    the state folder. Whoever has it written stands in the audit.
    """
    moment_since = _moment(since)
    if out is not None:
        fresh_file.check(out, force=force)
    elif force:
        raise UsageError("--force goes with --out. Nothing was written.")
    kept: list[Case] = []
    gone = 0
    async with runtime_for(given, "look") as runtime:
        reading = _reading(runtime, sessions, moment_since)
        async for turn in reading.turns():
            taught = cases(turn)
            kept += [case for case in taught.cases if everything or case.kind != "found"]
            gone += sum(everything or kind != "found" for kind in taught.gone)
        await _audited(runtime, (case.session for case in kept))
    if out is None:
        _print(given, kept, gone, reading.unread)
        return 0
    fresh_file.write(out, (msgspec.json.encode(case).decode() for case in kept), force=force)
    if given.as_json:
        kinds = _kinds(kept)
        print_document({"file": str(out), "cases": len(kept), **kinds, "gone": gone, "unread": reading.unread})
        return 0
    routing_page.say_unread(reading.unread)
    look.say(f"{look.mark('ok')} {_counted(kept)}, in {one_line(out)}")
    for words in _lacking(gone):
        look.say(f"  {words}", dim=True)
    if kept:
        look.say("  The file holds what users and models said. Guard it like the state folder.", dim=True)
    elif not everything:
        look.say("  Nothing that was used with success was missed. --all writes what was found, too.", dim=True)
    return 0


def _print(given: Given, kept: Sequence[Case], gone: int, unread: Sequence[str]) -> None:
    """The cases on standard output, and what is to be said of them beside it."""
    for case in kept:
        print_document(case, line=True)
    routing_page.say_unread(unread)
    if given.as_json:
        return
    look.aside(_counted(kept) + ("" if kept else ": nothing to write"))
    for words in _lacking(gone):
        look.aside(words)


def _counted(kept: Sequence[Case]) -> str:
    which = ", ".join(f"{kind} {of:,}" for kind, of in _kinds(kept).items() if of)
    many = f"{len(kept):,} case{'' if len(kept) == 1 else 's'}"
    return look.paint(many, bold=True) + (f" ({which})" if which else "")


def _lacking(gone: int) -> list[str]:
    """What the cases lack."""
    if not gone:
        return []
    words = "of one more the words are" if gone == 1 else f"of {gone:,} more the words are"
    return [f"It lacks some: {words} erased, or can't be read."]


def _kinds(kept: Iterable[Case]) -> dict[str, int]:
    kinds = Counter(case.kind for case in kept)
    return {kind: kinds[kind] for kind in get_args(Kind)}


def _moment(since: str | None) -> int | None:
    return None if since is None else moment("--since", since, now=moments.now())


def _reading(runtime: Runtime, sessions: tuple[str, ...], since: int | None) -> Reading:
    async def text(payload: Payload) -> bytes:
        return await payloads.text(runtime.parts.blobs, payload)

    return Reading(runtime.parts.ledger, text, sessions or None, since)


async def _audited(runtime: Runtime, sessions: Iterable[str]) -> None:
    """Tell the audit whose words are about to be shown; nothing is shown that it can't be told."""
    audit = runtime.parts.audit
    if audit is not None:
        for session in dict.fromkeys(sessions):
            await audit.read_of_payload(runtime.identity().name, session, "*")


routing = group(
    "routing",
    "Say how well the model's tools are found, and write what that teaches as labelled data.",
    report,
    missed,
)
