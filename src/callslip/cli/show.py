"""``callslip show``: what happened in a session, record by record."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import click
import msgspec

from callslip.application import Runtime
from callslip.cli import look, moments
from callslip.cli.app import runtime_for
from callslip.cli.causes import causes
from callslip.cli.command import command
from callslip.cli.document import head_document, print_document, wait_document
from callslip.cli.failure import exit_code, report
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line, visible
from callslip.cli.standing import standing
from callslip.cli.timeline import Line, Timeline
from callslip.cli.waiting import print_waits
from callslip.core.event import Stored
from callslip.core.wait import Wait
from callslip.errors import CallslipError, LogBroken, NotFound
from callslip.ports.ledger import Head
from callslip.runtime import payloads as payload_texts

_PAGE = 2000
_DEED = 10
_MOST_SUBJECT = 20
_TEXT = 23
"""Where the marks and what is said stand."""
_DETAIL = _TEXT + 2 + _MOST_SUBJECT + 1 + _DEED + 1


@command
@click.argument("session")
@click.option("--payloads", is_flag=True, help="Show arguments and results too.")
async def show(given: Given, session: str, payloads: bool) -> int:
    """Show SESSION's timeline: each step, each call as it was proposed, dispatched (T1) and settled (T2), attempts,
    waits, verdicts, and where runs began and ended. With --json, the records themselves.

    Of a broken log it shows what comes before the break, and exits with 5.
    """
    async with runtime_for(given, "look") as runtime:
        head = next(iter(await runtime.parts.ledger.heads(session)), None)
        if head is None:
            raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
        if given.as_json:
            return await _show_json(runtime, head, given)
        return await _show_lines(runtime, head, given, payloads=payloads)


async def records(runtime: Runtime, session: str) -> AsyncIterator[Stored]:
    """The records in order; at a break, those before it and then :class:`LogBroken`."""
    ledger, after = runtime.parts.ledger, 0
    while True:
        try:
            page = await ledger.read(session, after=after, limit=_PAGE)
        except LogBroken as error:
            good = (error.seq or 1) - 1 - after
            for stored in await ledger.read(session, after=after, limit=good) if good > 0 else ():
                yield stored
            raise
        for stored in page:
            yield stored
        if len(page) < _PAGE:
            return
        after = page[-1].seq


async def _waits(runtime: Runtime, session: str) -> list[Wait]:
    """Open waits; none where the log can't be folded."""
    try:
        return await runtime.waits(session)
    except CallslipError:
        return []


async def _show_json(runtime: Runtime, head: Head, given: Given) -> int:
    listed: list[dict[str, Any]] = []
    broken: LogBroken | None = None
    try:
        async for stored in records(runtime, head.session):
            record = json.loads(msgspec.json.encode(stored.record))
            listed.append({"seq": stored.seq, "digest": stored.digest.hex(), "record": record})
    except LogBroken as error:
        broken = error
    waits = await _waits(runtime, head.session)
    said = await causes(runtime, waits)
    document = {
        **head_document(head, standing(head, runtime.parts.owners)),
        "records": listed,
        "waits": [wait_document(wait, said) for wait in waits],
    }
    if broken is not None:
        document["error"] = {"code": broken.code, "message": str(broken), "seq": broken.seq}
    print_document(document)
    return 0 if broken is None else exit_code(broken)


async def _show_lines(runtime: Runtime, head: Head, given: Given, *, payloads: bool) -> int:
    word = look.status(standing(head, runtime.parts.owners))
    look.say(
        f"{look.paint(one_line(head.session), bold=True)}  {look.paint(word.text, word.colour)}  "
        + look.paint(f"{head.seq:,} records, last change {moments.age(head.updated_at)}", dim=True)
    )
    timeline = Timeline()
    code = 0
    try:
        async for stored in records(runtime, head.session):
            line = timeline.tell(stored)
            _print_line(stored, line)
            if payloads:
                await _print_payloads(runtime, line)
    except LogBroken as error:
        code = report(error, as_json=False, debug=given.debug)
    look.say(
        f"{timeline.calls} call{'s' if timeline.calls != 1 else ''}: {timeline.settled} settled, "
        f"{timeline.refused} refused, {timeline.parked} parked",
        dim=True,
    )
    waits = await _waits(runtime, head.session)
    print_waits(given, waits, said=await causes(runtime, waits))
    return code


def _print_line(stored: Stored, line: Line) -> None:
    place = look.paint(f"{stored.seq:>5}  {moments.clock(stored.record.at)}", dim=True)
    subject = look.pad(look.cut(one_line(line.subject), _MOST_SUBJECT), _MOST_SUBJECT)
    left = f"{place}  {look.mark(line.mark)} {look.paint(subject, bold=True)} {look.pad(line.deed, _DEED)} "
    columns = look.columns()
    first, *more = look.wrap(one_line(line.detail), _room(columns, _DETAIL))
    look.say((left + look.paint(first, dim=not line.boundary)).rstrip())
    for rest in more:
        look.say(" " * _DETAIL + look.paint(rest, dim=not line.boundary))
    if line.text:
        look.say(" " * _TEXT + look.cut(one_line(line.text), _room(columns, _TEXT)))


def _room(columns: int | None, left: int) -> int | None:
    return None if columns is None else max(columns - left, 24)


async def _print_payloads(runtime: Runtime, line: Line) -> None:
    for name, payload in line.payloads:
        try:
            text = (await payload_texts.text(runtime.parts.blobs, payload)).decode(errors="replace")
        except CallslipError as error:
            text = f"({error})"
        where = f" {payload.blob}" if payload.blob else ""
        look.say(f"{' ' * _TEXT}{look.paint(name + where, 'cyan')}  {visible(text)}")
    for number, text in enumerate(line.internal.splitlines()):
        look.say(f"{' ' * _TEXT}{look.paint('error' if not number else '     ', 'cyan')}  {visible(text, lines=True)}")
