"""``callslip sessions``: all sessions at a glance."""

from __future__ import annotations

from collections import Counter

from callslip.cli import look, moments
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import head_document, print_document
from callslip.cli.options import Given
from callslip.cli.standing import standing


@command
async def sessions(given: Given) -> None:
    """List the sessions, the latest change first."""
    async with runtime_for(given, "look") as runtime:
        heads = await runtime.sessions()
        words = {head.session: standing(head, runtime.parts.owners) for head in heads}
        waits = Counter(row.session for row in await runtime.parts.ledger.waits())
    if given.as_json:
        listed = [{**head_document(head, words[head.session]), "waits": waits[head.session]} for head in heads]
        print_document({"sessions": listed})
        return
    if not heads:
        look.say("No sessions yet. `callslip run TEXT` begins one.")
        return
    rows = [
        (
            head.session,
            look.status(words[head.session]),
            f"{head.seq:,}",
            str(waits[head.session] or ""),
            moments.age(head.updated_at) + (", has news" if head.woken and head.owner is None else ""),
        )
        for head in heads
    ]
    look.table(("session", "status", "records", "waits", "last change"), rows)
