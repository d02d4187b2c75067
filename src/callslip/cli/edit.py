"""``callslip edit``: a person's yes to a call with other arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from callslip.answering.decision import check_arguments
from callslip.answering.question import Question
from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.consent import Reading, consented, on_terminal
from callslip.cli.deciding import find_question, tell_decision
from callslip.cli.editing import editable, edited, given_arguments, read_object
from callslip.cli.failure import DONE, ERROR, report
from callslip.cli.options import Given
from callslip.cli.prompt import STAYS_OPEN, confirm
from callslip.cli.question import change_lines, question_document, show_question
from callslip.core import canon
from callslip.core.difference import differences
from callslip.core.principal import Role
from callslip.errors import UsageError


@command
@click.argument("wait")
@click.option("--set", "single", multiple=True, metavar="NAME=JSON", help="One argument; the others stay.")
@click.option("--arguments", "whole", metavar="JSON|@FILE", help="All of them; @- is standard input.")
@click.option("--note", default="", metavar="TEXT", help="Why; it stays in the log.")
@click.option("--for", "behalf", default="", metavar="PRINCIPAL", help="Who has handed the deciding on to you.")
@click.option("--yes", is_flag=True, help="Don't ask on the terminal.")
@click.option("--digest", metavar="HEX", help="You have read elsewhere what can't be shown here.")
async def edit(
    given: Given,
    wait: str,
    single: Sequence[str],
    whole: str | None,
    note: str,
    behalf: str,
    yes: bool,
    digest: str | None,
) -> int:
    """Let the call that WAIT is about be made with other arguments; without an option, in your editor.

    They are held against the tool's schema now, and judged again before they are used. The model is told what was
    changed. The tool can't be changed.
    """
    async with runtime_for(given, "say") as runtime:
        asked = await find_question(given, runtime, wait)
        check_hand(runtime, Role.APPROVER, on_behalf_of=behalf)
        if asked.approvers > 1:
            raise UsageError(
                "What several people must approve can't be edited: each must see the same. Nothing was written. Deny "
                "it, and say in --reason what you would approve."
            )
        arguments = given_arguments(asked, whole=whole, single=single)
        if arguments is None:
            arguments = in_editor(given, asked)
        arguments, changes = changed(asked, arguments)
        shown = show_question(msgspec.structs.replace(asked, arguments=arguments))
        if not given.as_json:
            for line in (*shown.lines, *change_lines(changes)):
                look.say(line)
        reading = Reading(shown.whole, canon.digest(canon.canonical(arguments)), "it is what you gave")
        if not consented(given, "Approve it with these arguments?", reading, yes=yes, digest=digest):
            return ERROR
        by = acting(runtime, quiet=given.as_json)
        enough = await runtime.approvals.approve(
            wait, by=by, note=note, arguments=arguments, on_behalf_of=behalf, via="cli", shown=asked.binding
        )
    more: dict[str, Any] = {"by": by.name, "advisory": asked.advisory, "changes": changes}
    more |= {"arguments": arguments, "question": question_document(given, asked)}
    tell_decision(given, asked, "edited", enough=enough, **more)
    return DONE


def changed(asked: Question, arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments as they will be kept, so that the change is told truly; and how they differ.

    Raises:
        UsageError: they break the schema, or are the same.
    """
    check_arguments(asked, arguments)
    kept = canon.parse(canon.canonical(arguments))
    changes = differences(asked.arguments, kept)
    if not changes:
        raise UsageError("Nothing is changed. Nothing was written. Approve it as it is: callslip approve.")
    return kept, changes


def in_editor(given: Given, asked: Question) -> dict[str, Any]:
    """What they write, once it fits the schema; they may mend what does not.

    Raises:
        UsageError: there is no terminal, or they gave up.
    """
    if given.as_json or not on_terminal():
        raise UsageError(
            "There is no terminal to edit on. Nothing was written. Say what to change with --set NAME=JSON or "
            "--arguments JSON."
        )
    text = editable(asked.arguments)
    while True:
        text = edited(text)
        try:
            arguments = read_object(text, "What you wrote")
            check_arguments(asked, arguments)
        except UsageError as error:
            report(error, as_json=False, debug=given.debug)
            if not confirm("Edit it again?", kept=STAYS_OPEN, default=True):
                raise UsageError("Nothing was edited. Nothing was written; the question stays open.") from error
        else:
            return arguments
