"""``callslip erase``: what was said is gone; that it happened stays."""

from __future__ import annotations

import click
import msgspec

from callslip.application import Runtime
from callslip.cli import look
from callslip.cli.acting import acting, check_hand
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.failure import DONE, ERROR
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.core.principal import Role
from callslip.errors import UsageError
from callslip.sessions.erase import Result, erase_payloads, erase_session, finish
from callslip.sessions.lifetime import collect


@command
@click.argument("session", required=False)
@click.option("--reason", default="", metavar="TEXT", help="Why; it stays in the log. Needed with a SESSION.")
@click.option("--call", "call_id", default="", metavar="ID", help="Only what this call was given, and gave.")
@click.option("--blob", "address", default="", metavar="ADDRESS", help="Only this payload.")
@click.option("--unfinished", is_flag=True, help="Finish erasures that were broken off.")
@click.option("--unreferenced", is_flag=True, help="Remove payloads that no session names, older than an hour.")
async def erase(
    given: Given, session: str | None, *, reason: str, call_id: str, address: str, unfinished: bool, unreferenced: bool
) -> int:
    """Erase what users, models and tools said in SESSION; its log goes on telling what happened, and still verifies.

    Of a session that is protected ([data] encrypt) everything goes: its keys are destroyed. Of another one, only
    payloads of more than 4 KB lie outside the log and can be erased. It can't be undone, and does not reach backups,
    exports, or what was told to others. Exit code 1 if nothing could be erased of what is there.
    """
    _check(session, reason, call_id, address, unfinished=unfinished, unreferenced=unreferenced)
    async with runtime_for(given, "say") as runtime:
        check_hand(runtime, Role.OPERATOR)
        if session is None:
            await _house(given, runtime, unreferenced=unreferenced)
            return DONE
        by = acting(runtime, quiet=True)
        if call_id or address:
            done = await erase_payloads(runtime.parts, session, reason=reason, by=by, call_id=call_id, address=address)
        else:
            done = await erase_session(runtime.parts, session, reason=reason, by=by)
    _tell(given, done, one=bool(call_id or address))
    return ERROR if not done.anything and (done.in_clear or done.shared) else DONE


def _check(
    session: str | None, reason: str, call_id: str, address: str, *, unfinished: bool, unreferenced: bool
) -> None:
    house = unfinished or unreferenced
    if (session is None) != house or (session is None and (call_id or address or reason)) or (call_id and address):
        raise UsageError(
            "Say which SESSION, and at most one of --call and --blob; or, without a session, --unfinished or "
            "--unreferenced. Nothing was erased."
        )
    if session is not None and not reason.strip():
        raise UsageError("An erasure needs --reason: it stays in the log. Nothing was erased.")


async def _house(given: Given, runtime: Runtime, *, unreferenced: bool) -> None:
    finished = await finish(runtime.parts)
    removed = await collect(runtime.parts) if unreferenced else 0
    if given.as_json:
        print_document({"finished": list(finished), "removed": removed})
        return
    for session in finished:
        look.say(f"{look.mark('ok')} {one_line(session)}: its erasure is done.")
    if unreferenced:
        look.say(f"{look.mark('ok')} {removed} payload{'s' if removed != 1 else ''} that no session names removed.")
    elif not finished:
        look.say(f"{look.mark('dot')} No erasure is unfinished.")


def _tell(given: Given, done: Result, *, one: bool) -> None:
    if given.as_json:
        print_document(msgspec.structs.asdict(done))
        return
    name = look.paint(one_line(done.session), bold=True)
    if done.anything:
        keys = f", {done.keys} key{'s' if done.keys != 1 else ''} destroyed" if done.keys else ""
        look.say(f"{look.mark('ok')} {name}  {done.payloads} payload{'s' if done.payloads != 1 else ''} erased{keys}")
    elif done.in_clear or done.shared:
        look.say(f"{look.mark('warn')} {name}: nothing could be erased.")
    else:
        look.say(f"{look.mark('dot')} {name}  nothing is left of it that could be erased")
    for address, other in done.shared.items():
        look.say(f"{look.mark('warn')} {address} stays: session {one_line(other)} names it too")
    if done.in_clear:
        beside = "" if one else " Sessions that begin with `encrypt = true` in [data] keep none there."
        look.say(f"{look.mark('warn')} {_clear(done.in_clear)}{beside}")


def _clear(count: int) -> str:
    if count == 1:
        return "1 text or small payload stands in the log itself, in clear text; nothing can take it out."
    return f"{count:,} texts and small payloads stand in the log itself, in clear text; nothing can take them out."
