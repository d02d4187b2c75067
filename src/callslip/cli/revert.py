"""``callslip revert``: have a turn undone, after being shown what that takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from callslip.agent.revert import Reverted
from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.causes import causes
from callslip.cli.command import command
from callslip.cli.consent import on_terminal
from callslip.cli.document import print_document, wait_document
from callslip.cli.failure import DONE, ERROR, WAITING
from callslip.cli.options import Given
from callslip.cli.prompt import confirm
from callslip.cli.safe_text import exact, one_line
from callslip.cli.values import compact
from callslip.cli.waiting import print_waits
from callslip.core.principal import Role
from callslip.errors import UsageError
from callslip.runtime.compensate import Undo

_CODES = {"reverted": DONE, "waiting": WAITING, "failed": ERROR}
_MARKS = {"to_do": "dot", "undone": "ok", "waits": "wait", "failed": "bad", "unknown": "warn", "kept": "warn"}
_WORDS = {
    "to_do": "to be undone",
    "undone": "undone",
    "waits": "its undoing waits",
    "failed": "not undone",
    "unknown": "perhaps undone",
    "kept": "stays",
}


@command
@click.argument("session")
@click.option("--turn", type=int, metavar="N", help="Which turn; the last one unless told otherwise.")
@click.option("--reason", default="", metavar="TEXT", help="Why; it stays in the log.")
@click.option("--plan", is_flag=True, help="Show what it takes, and do nothing.")
@click.option("--yes", is_flag=True, help="Don't ask on the terminal.")
async def revert(given: Given, session: str, turn: int | None, reason: str, plan: bool, yes: bool) -> int:
    """Undo what a turn of SESSION did: for each of its calls the call that undoes it, the last one first.

    It shows them first, and asks. They pass the same gates and approvals as any call, so one may wait; what cannot be
    undone is named. Said again, it goes on where it ended, and undoes nothing twice.
    """
    async with runtime_for(given, "tools") as runtime:
        planned = await runtime.revert_plan(session, turn=turn)
        if plan or not any(one.status in {"to_do", "waits"} for one in planned):
            return _print_plan(given, session, planned)
        check_hand(runtime, Role.OPERATOR)
        if not given.as_json:
            _print_calls(planned)
        if not _meant(given, yes=yes):
            look.say("Nothing was undone.")
            return ERROR
        by = acting(runtime, quiet=True)
        done = await runtime.revert(session, turn=turn, reason=reason, by=by)
        said = await causes(runtime, done.waits)
    if given.as_json:
        document = {**_fields(done), "calls": [_fields(one) for one in done.calls]}
        print_document({**document, "waits": [wait_document(wait, said) for wait in done.waits]})
    else:
        _tell(given, done)
        print_waits(given, done.waits, said=said)
        if done.status == "waiting":
            look.say(f"  then: {given.command('revert', session, '--turn', str(done.turn))}")
    return _CODES[done.status]


def _meant(given: Given, *, yes: bool) -> bool:
    if yes:
        return True
    if given.as_json or not on_terminal():
        raise UsageError("There is no terminal to ask on. Nothing was undone. Say --yes if that is meant.")
    return confirm("Undo these?", kept="Nothing was undone.")


def _print_plan(given: Given, session: str, planned: Sequence[Undo]) -> int:
    if given.as_json:
        print_document({"session": session, "calls": [_fields(one) for one in planned]})
    elif planned:
        _print_calls(planned)
    else:
        look.say("Nothing of that turn took effect, so there is nothing to undo.")
    return DONE


def _print_calls(calls: Sequence[Undo]) -> None:
    """Each call, and what undoes it: all of it, since it is what they decide on."""
    for one in calls:
        look.say(
            f"{look.mark(_MARKS[one.status])} {look.paint(exact(one.tool), bold=True)} {compact(one.arguments)}: "
            f"{_WORDS[one.status]}{f' ({one_line(one.reason)})' if one.reason else ''}"
        )
        if one.given is not None:
            look.say(f"    by {exact(one.by)} {compact(one.given)}")


def _tell(given: Given, done: Reverted) -> None:
    look.say()
    _print_calls(done.calls)
    mark = {"reverted": "ok", "waiting": "wait", "failed": "bad"}[done.status]
    look.say(f"{look.mark(mark)} {one_line(done.reason)}")


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}
