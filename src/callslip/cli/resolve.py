"""``callslip resolve``: a person's verdict where nothing else can tell."""

from __future__ import annotations

import click

from callslip.application import Runtime
from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.json_value import read_value
from callslip.cli.options import Given
from callslip.cli.waiting import answer
from callslip.core.events.call_resolved import Verdict
from callslip.core.principal import Role
from callslip.core.shown import visible
from callslip.core.wait import WaitKind
from callslip.errors import UsageError, WaitConflict

VERDICTS: dict[str, Verdict | None] = {
    "happened": "happened",
    "did-not-happen": "did_not_happen",
    "give-up": "give_up",
    "accept": None,
}


@command
@click.argument("wait")
@click.argument("verdict", type=click.Choice(list(VERDICTS)))
@click.option("--reason", default="", metavar="TEXT", help="How you know; it stays in the log.")
@click.option("--result", metavar="JSON", help="With happened: what the call returned.")
async def resolve(given: Given, wait: str, verdict: str, reason: str, result: str | None) -> None:
    """Say what became of the call that WAIT is about.

    happened: it took effect, and the model is told so. did-not-happen: it is judged anew, and may be made again.
    give-up: nobody will know, and the model is told that. accept: the session may go on in today's workspace,
    or, of a log that was copied, nothing happened since that you have not seen to.
    """
    chosen = VERDICTS[verdict]
    if chosen is not None and not reason.strip():
        raise UsageError("A verdict needs --reason: how do you know? It stays in the log. Nothing was written.")
    if chosen is None and reason:
        raise UsageError("accept keeps no --reason in this version. Nothing was written. Leave it out.")
    if result is not None and verdict != "happened":
        raise UsageError(f"--result goes with happened, not with {verdict}. Nothing was written.")
    value = read_value("--result", result) if result is not None else None
    async with runtime_for(given, "answer") as runtime:
        kinds = (WaitKind.WORKSPACE, WaitKind.COPY) if chosen is None else (WaitKind.PARKED,)
        session = await session_of(given, runtime, wait, *kinds)
        check_hand(runtime, Role.OPERATOR)
        by = acting(runtime, quiet=True)
        if chosen is None and await _is_copy(runtime, wait):
            await runtime.accept_copy(wait, by=by)
        elif chosen is None:
            await runtime.accept_workspace(wait, by=by)
        else:
            await runtime.resolve(wait, chosen, reason=reason, result=value, by=by)
    tell(given, wait, session, verdict)


async def _is_copy(runtime: Runtime, wait: str) -> bool:
    return any(row.kind == WaitKind.COPY for row in await runtime.parts.ledger.waits(wait_id=wait))


async def session_of(given: Given, runtime: Runtime, wait: str, *kinds: WaitKind) -> str:
    """The session an open wait belongs to; empty when there is no such wait, which the answer itself will say.

    Raises:
        WaitConflict: it is of another kind, and this is how that is answered.
    """
    row = next(iter(await runtime.parts.ledger.waits(wait_id=wait)), None)
    if row is None:
        return ""
    if row.kind not in kinds:
        how = answer(given, WaitKind(row.kind), wait, row.session)
        raise WaitConflict(
            f"Wait {wait} is of kind {row.kind}, which can't be answered this way. Nothing was written. Instead: {how}"
        )
    return row.session


def tell(given: Given, wait: str, session: str, said: str) -> None:
    """Confirm an answer, and say how the session goes on."""
    if given.as_json:
        print_document({"wait": wait, "session": session, "answer": said})
        return
    look.say(f"{look.mark('ok')} {visible(wait)}: {said}. It stands in the log.")
    look.say(f"  then: {given.command('resume', session)} (or a worker goes on by itself)")
