"""``callslip approve``: a person's yes to a call, after they have been shown all of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import click

from callslip.answering.question import Question
from callslip.application import Runtime
from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.consent import Reading, consented
from callslip.cli.deciding import find_question, tell_decision
from callslip.cli.drive import drive as drive_session
from callslip.cli.failure import DONE, ERROR, WAITING
from callslip.cli.json_value import read_value
from callslip.cli.options import Given
from callslip.cli.question import grant_lines, question_document, show_question, where
from callslip.core.grant import Grant, in_words
from callslip.core.principal import Role
from callslip.errors import UsageError
from callslip.trust.on_hand import PASSPHRASE_FILE


class _Rule(NamedTuple):
    """What was said about calls like this one; none of it when it is about this one alone."""

    scope: Literal["session", "always"]
    free: tuple[str, ...]
    at_most: dict[str, float]


class _Decided(NamedTuple):
    asked: Question
    enough: bool


@command
@click.argument("wait")
@click.option("--note", default="", metavar="TEXT", help="Why; it stays in the log.")
@click.option("--drive", is_flag=True, help="Go on with the session here, at once.")
@click.option("--model", metavar="NAME", help="With --drive, instead of the project's.")
@click.option("--once", is_flag=True, help="This call alone; the default.")
@click.option("--session", is_flag=True, help="Calls equal to this one too, in its session.")
@click.option("--always", is_flag=True, help="Calls equal to this one too, in all of its requester's sessions.")
@click.option("--free", multiple=True, metavar="ARGUMENT", help="With --session or --always: it may be anything.")
@click.option("--at-most", multiple=True, metavar="ARGUMENT=NUMBER", help="The same: it may be from 0 to that.")
@click.option("--for", "behalf", default="", metavar="PRINCIPAL", help="Who has handed the deciding on to you.")
@click.option("--yes", is_flag=True, help="Don't ask on the terminal.")
@click.option("--digest", metavar="HEX", help="You have read elsewhere what can't be shown here.")
async def approve(given: Given, wait: str, **said: Any) -> int:
    """Let the call that WAIT is about be made, exactly as it is shown.

    It shows everything first, and with --session or --always the rule in words, and asks. Whose word it is, the key on
    hand says. It needs neither the session's process nor the tool's code, unless it is to --drive.
    """
    rule = _rule(said)
    if said["model"] is not None and not said["drive"]:
        raise UsageError("--model goes with --drive. Nothing was written.")
    if said["drive"] and os.environ.get(PASSPHRASE_FILE):
        raise UsageError(
            f"--drive runs tools, and they would find {PASSPHRASE_FILE} in their environment and could sign with your "
            "key. Nothing was written. Leave out --drive, and let a worker or `callslip resume` go on."
        )
    driver = runtime_for(given, "drive", model=said["model"]) if said["drive"] else None
    async with _for_saying(given, driver) as runtime:
        decided = await _decide(given, runtime, wait, rule, said)
    if decided is None:
        return ERROR
    if driver is None:
        return DONE
    if not decided.enough:
        return WAITING
    session = decided.asked.session
    return await drive_session(given, driver, session, lambda: driver.resume(session), model=said["model"])


async def _decide(
    given: Given, runtime: Runtime, wait: str, rule: _Rule | None, said: dict[str, Any]
) -> _Decided | None:
    """Show it, ask, and record the answer; ``None``: they said no."""
    asked = await find_question(given, runtime, wait)
    check_hand(runtime, Role.APPROVER, on_behalf_of=said["behalf"])
    grant = await _grant(runtime, asked, rule, said["note"])
    shown = show_question(asked)
    if not given.as_json:
        for line in (*shown.lines, *(grant_lines(given, grant) if grant is not None else ())):
            look.say(line)
    ask = "Approve it?" if grant is None else "Approve it, and the rule?"
    reading = Reading(shown.whole, asked.binding, where(given, asked))
    if not consented(given, ask, reading, yes=said["yes"], digest=said["digest"]):
        return None
    by = acting(runtime, quiet=given.as_json)
    enough = await runtime.approvals.approve(
        wait, by=by, note=said["note"], grant=grant, on_behalf_of=said["behalf"], via="cli", shown=asked.binding
    )
    told = None if grant is None else {"id": grant.id, "words": in_words(grant)}
    tell_decision(
        given, asked, "approved", enough=enough, line=said["drive"], by=by.name, advisory=asked.advisory, grant=told,
        question=question_document(given, asked),
    )  # fmt: skip
    return _Decided(asked, enough)


def _for_saying(given: Given, driver: Runtime | None) -> Runtime:
    """What answers: a runtime of the same state as the one that will drive, whose application is loaded once."""
    if driver is None:
        return runtime_for(given, "say")
    runtime = Runtime()
    own = driver.settings
    runtime.configure(state=own.state, workspace=own.workspace, clock=own.clock)
    return runtime


async def _grant(runtime: Runtime, asked: Question, rule: _Rule | None, note: str) -> Grant | None:
    if rule is None:
        return None
    if asked.approvers > 1:
        raise UsageError("What several people must approve can't be granted by one. Nothing was written. Use --once.")
    return await runtime.rule(asked.id, scope=rule.scope, free=rule.free, at_most=rule.at_most, reason=note)


def _rule(said: dict[str, Any]) -> _Rule | None:
    scopes = [name for name in ("once", "session", "always") if said[name]]
    if len(scopes) > 1:
        raise UsageError(f"--{' and --'.join(scopes)} exclude each other. Nothing was written. Give one.")
    scope = scopes[0] if scopes else "once"
    if scope == "once":
        if said["free"] or said["at_most"]:
            raise UsageError("--free and --at-most go with --session or --always. Nothing was written.")
        return None
    return _Rule("session" if scope == "session" else "always", said["free"], _bounds(said["at_most"]))


def _bounds(said: Sequence[str]) -> dict[str, float]:
    bounds: dict[str, float] = {}
    for one in said:
        name, equals, text = one.rpartition("=")
        if not (equals and name):
            raise UsageError(f"--at-most {one} names no bound. Nothing was written. Say ARGUMENT=NUMBER.")
        value = _number(text)
        if value is None:
            raise UsageError(f"--at-most {name} needs a number. Nothing was written. Say {name}=NUMBER.")
        if name in bounds:
            raise UsageError(f"--at-most names {name} twice. Nothing was written.")
        bounds[name] = value
    return bounds


def _number(text: str) -> float | None:
    try:
        value = read_value("--at-most", text)
    except UsageError:
        return None
    return None if isinstance(value, bool) or not isinstance(value, int | float) else value
