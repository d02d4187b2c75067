"""``callslip show``: what happened in a session, record by record."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import click
import msgspec

from callslip.application import Runtime
from callslip.cli import look, moments
from callslip.cli.app import runtime_for
from callslip.cli.causes import causes
from callslip.cli.command import command
from callslip.cli.document import head_document, print_document, wait_document
from callslip.cli.failure import described, exit_code, report
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.cli.spent import say_spent, spent_document
from callslip.cli.standing import standing
from callslip.cli.timeline import Line, Timeline
from callslip.cli.waiting import print_waits
from callslip.core.budget import Use
from callslip.core.event import Stored
from callslip.core.events.blob_erased import BlobErased
from callslip.core.payload import SEALED, Payload
from callslip.core.shown import visible
from callslip.core.wait import Wait
from callslip.errors import CallslipError, LogBroken, NotFound
from callslip.ports.ledger import Head
from callslip.runtime import payloads as payload_texts

_PAGE = 2000
_NAMED = 5
"""Calls that are named where another was asked for."""
_DEED = 10
_MOST_SUBJECT = 20
_TEXT = 23
"""Where the marks and what is said stand."""
_DETAIL = _TEXT + 2 + _MOST_SUBJECT + 1 + _DEED + 1
_WIDE, _UNDER = 110, 7
"""Columns from which on what is said stands beside the rest; with fewer it stands below, indented by so many."""


@command
@click.argument("session")
@click.option("--payloads", is_flag=True, help="Show arguments and results too.")
@click.option("--payload", "call_id", default="", metavar="CALL", help="Show what this call was given, and gave.")
async def show(given: Given, session: str, *, payloads: bool, call_id: str) -> int:
    """Show SESSION's timeline: each step, each call as it was proposed, dispatched (T1) and settled (T2), attempts,
    waits, verdicts, and where runs began and ended. With --json, the records themselves.

    Of a broken log it shows what comes before the break, and exits with 5. What was erased is shown as erased. Whoever
    looks at payloads stands in the audit.
    """
    async with runtime_for(given, "look") as runtime:
        head = next(iter(await runtime.parts.ledger.heads(session)), None)
        if head is None:
            raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
        if call_id:
            await _known(runtime, session, call_id)
        if given.as_json:
            return await _show_json(runtime, head, given)
        return await _show_lines(runtime, head, given, payloads=payloads or bool(call_id), only=call_id)


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


async def _spent(runtime: Runtime, session: str) -> tuple[Use, ...]:
    """What was used; nothing where the log can't be folded."""
    try:
        return await runtime.spent(session)
    except CallslipError:
        return ()


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
        "spent": spent_document(await _spent(runtime, head.session)),
    }
    if broken is not None:
        document["error"] = {**described(broken), "seq": broken.seq}
    print_document(document)
    return 0 if broken is None else exit_code(broken)


async def _show_lines(runtime: Runtime, head: Head, given: Given, *, payloads: bool, only: str) -> int:
    if payloads:
        await _audited(runtime, head.session, only)
    erased = await _erasures(runtime, head.session) if payloads else {}
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
            if only and getattr(stored.record.event, "call_id", None) != only:
                continue
            _print_line(stored, line)
            if payloads:
                await _print_payloads(runtime, stored, line, erased)
    except LogBroken as error:
        code = report(error, as_json=False, debug=given.debug)
    look.say(
        f"{timeline.calls} call{'s' if timeline.calls != 1 else ''}: {timeline.settled} settled, "
        f"{timeline.refused} refused, {timeline.parked} parked",
        dim=True,
    )
    say_spent(await _spent(runtime, head.session))
    waits = await _waits(runtime, head.session)
    print_waits(given, waits, said=await causes(runtime, waits))
    return code


def _print_line(stored: Stored, line: Line) -> None:
    columns = look.columns()
    if columns is not None and columns < _WIDE:
        _print_narrow(stored, line)
        return
    place = look.paint(f"{stored.seq:>5}  {moments.clock(stored.record.at)}", dim=True)
    subject = look.pad(look.cut(one_line(line.subject), _MOST_SUBJECT), _MOST_SUBJECT)
    left = f"{place}  {look.mark(line.mark)} {look.paint(subject, bold=True)} {look.pad(line.deed, _DEED)} "
    first, *more = look.wrap(one_line(line.detail), _room(columns, _DETAIL))
    look.say((left + look.paint(first, dim=not line.boundary)).rstrip())
    for rest in more:
        look.say(" " * _DETAIL + look.paint(rest, dim=not line.boundary))
    if line.text:
        look.say(" " * _TEXT + look.cut(one_line(line.text), _room(columns, _TEXT)))


def _print_narrow(stored: Stored, line: Line) -> None:
    """The same in two lines or more: what was done, and below it what is said of that."""
    place = look.paint(f"{stored.seq:>5}  {moments.clock(stored.record.at)}", dim=True)
    subject = look.paint(one_line(line.subject), bold=True) + " " if line.subject else ""
    look.say(f"{place}  {look.mark(line.mark)} {subject}{line.deed}")
    if line.detail:
        look.hang(" " * _UNDER, line.detail, dim=not line.boundary)
    if line.text:
        look.say(" " * _UNDER + look.cut(one_line(line.text), _room(look.columns(), _UNDER)))


def _room(columns: int | None, left: int) -> int | None:
    return None if columns is None else max(columns - left, 24)


async def _known(runtime: Runtime, session: str, call_id: str) -> None:
    """Whether there is such a call; of a broken log nobody can say.

    Raises:
        NotFound: there is none.
    """
    calls: dict[str, None] = {}
    with contextlib.suppress(LogBroken):
        async for stored in records(runtime, session):
            named = getattr(stored.record.event, "call_id", None)
            if named == call_id:
                return
            if named:
                calls[named] = None
        more = f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
        there = f"Its calls are {', '.join([*calls][:_NAMED])}{more}." if calls else "It has none at all."
        raise NotFound(f"Session {session!r} has no call {call_id!r}. {there}")


async def _audited(runtime: Runtime, session: str, only: str) -> None:
    """Tell the audit who is about to be shown what; nothing is shown that it can't be told."""
    if runtime.parts.audit is not None:
        await runtime.parts.audit.read_of_payload(runtime.identity().name, session, only or "*")


class _Erased(NamedTuple):
    seq: int
    said: str


async def _erasures(runtime: Runtime, session: str) -> dict[str, _Erased]:
    """Which payloads were erased, by whom and when; under ``sealed:``, all encrypted. As far as the log is whole."""
    found: dict[str, _Erased] = {}
    with contextlib.suppress(LogBroken):
        async for stored in records(runtime, session):
            event = stored.record.event
            if isinstance(event, BlobErased):
                said = f"[erased on {moments.day(stored.record.at)} by {event.actor}: {event.reason}]"
                found |= dict.fromkeys(
                    (*event.addresses, *([SEALED] if event.whole else [])), _Erased(stored.seq, said)
                )
    return found


def _erased(payload: Payload, seq: int, erased: dict[str, _Erased]) -> str:
    """What stands in the place of a payload that is gone."""
    whole = erased.get(SEALED) if payload.blob.startswith(SEALED) else None
    for one in (erased.get(payload.blob), whole):
        if one is not None and seq < one.seq:
            return one.said
    return ""


async def _print_payloads(runtime: Runtime, stored: Stored, line: Line, erased: dict[str, _Erased]) -> None:
    for name, payload in line.payloads:
        try:
            text = _erased(payload, stored.seq, erased)
            if not text:
                text = (await payload_texts.text(runtime.parts.blobs, payload)).decode(errors="replace")
        except CallslipError as error:
            text = f"({error})"
        where = f" {payload.blob}" if payload.blob else ""
        look.say(f"{' ' * _TEXT}{look.paint(name + where, 'cyan')}  {visible(text)}")
    for number, text in enumerate(line.internal.splitlines()):
        look.say(f"{' ' * _TEXT}{look.paint('error' if not number else '     ', 'cyan')}  {visible(text, lines=True)}")
