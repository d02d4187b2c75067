"""``callslip inbox``: what waits for a person, with all they need to decide on it."""

from __future__ import annotations

from typing import Any

import click

from callslip.answering.question import Question, question
from callslip.application import Runtime
from callslip.cli import look
from callslip.cli.app import runtime_for
from callslip.cli.causes import Said, causes
from callslip.cli.command import command
from callslip.cli.document import print_document, wait_document
from callslip.cli.failure import DONE, described, exit_code, report
from callslip.cli.options import Given
from callslip.cli.question import MOST_LINES, answers, question_document, show_question
from callslip.cli.waiting import print_waits
from callslip.core.wait import Wait, WaitKind
from callslip.errors import CallslipError, NotFound

_OTHERS = frozenset({WaitKind.CLIENT, WaitKind.BACKGROUND, WaitKind.TIME})
"""Answered by a program, or by nobody."""
_MOST = 40
"""Lines of arguments of each, where several are shown."""


@command
@click.argument("wait", required=False)
async def inbox(given: Given, wait: str | None) -> int:
    """List what waits for a person's decision: approvals first, then whatever else a person must answer; the oldest of
    each first, with everything that they would decide on. With WAIT, that one, whole.

    Letters that pass for others, spaces and marks that don't show, and text that would steer a terminal are marked.
    """
    async with runtime_for(given, "look") as runtime:
        waits, broken = await _waits(runtime, wait)
        asked: dict[str, Question] = {}
        for one in waits:
            if one.kind is WaitKind.APPROVAL:
                try:
                    asked[one.id] = await question(runtime, one.id)
                except CallslipError as error:
                    broken.append(error)
        said = await causes(runtime, waits)
    shown = [one for one in waits if one.kind is not WaitKind.APPROVAL or one.id in asked]
    if given.as_json:
        _print_json(given, shown, asked, said, broken, single=wait is not None)
    else:
        for one in shown:
            if one.id in asked:
                _print(given, asked[one.id], most=MOST_LINES if wait is not None else _MOST)
            else:
                print_waits(given, [one], said=said)
        if not shown and not broken:
            look.say("Nothing waits for a decision.")
        for lost in broken:
            report(lost, as_json=False, debug=given.debug)
    return max((exit_code(one) for one in broken), default=DONE)


async def _waits(runtime: Runtime, wait: str | None) -> tuple[list[Wait], list[CallslipError]]:
    """What a person must answer, in the order in which it is shown; and what could not be looked at."""
    rows = await runtime.parts.ledger.waits(wait_id=wait)
    if wait is not None and not rows:
        await question(runtime, wait)  # says what became of it
        raise NotFound(f"No wait {wait!r} is open. `callslip inbox` lists those there are.")
    found: list[Wait] = []
    broken: list[CallslipError] = []
    for session in dict.fromkeys(row.session for row in rows):
        try:
            found += await runtime.waits(session)
        except CallslipError as error:  # one broken session must not hide the others
            broken.append(error)
    if wait is not None:
        found = [one for one in found if one.id == wait]
    else:
        found = [one for one in found if one.kind not in _OTHERS]
    found.sort(key=lambda one: (one.kind is not WaitKind.APPROVAL, one.opened_at))
    return found, broken


def _print(given: Given, asked: Question, *, most: int) -> None:
    shown = show_question(asked, most=most)
    for line in shown.lines:
        look.say(line)
    cut = not shown.whole and most < MOST_LINES and show_question(asked).whole
    if cut:
        look.say(f"  all of it: {given.command('inbox', asked.id)}", dim=True)
    for line in answers(given, asked, whole=shown.whole or cut):
        look.say(f"  {line}")


def _print_json(
    given: Given,
    shown: list[Wait],
    asked: dict[str, Question],
    said: dict[str, Said],
    broken: list[CallslipError],
    *,
    single: bool,
) -> None:
    documents: list[dict[str, Any]] = [
        question_document(given, asked[one.id]) if one.id in asked else wait_document(one, said) for one in shown
    ]
    errors = [described(one) for one in broken]
    print_document(documents[0] if single and documents else {"waits": documents, "errors": errors})
