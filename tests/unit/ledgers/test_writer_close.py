"""A ledger that is closed in the very moment in which a write is about to be committed."""

from __future__ import annotations

import pytest

from callslip.core.event import draft
from callslip.core.events.session_started import SessionStarted
from callslip.ledgers.sqlite import SqliteLedger
from callslip.ports.ledger import Owner

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-02")]


async def test_what_was_taken_for_the_loops_own_commit_is_committed(tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.db")
    writer = ledger._writer
    await ledger.claim("s", Owner(id="o", host="h", boot="b", process=1), expected_epoch=0, at=1)
    take_turn = writer._take_turn

    def closed_meanwhile():
        taken = take_turn()
        if taken:
            writer._closing = True  # as close() does from its own thread, once the turn is taken
        return taken

    writer._take_turn = closed_meanwhile
    event = draft(SessionStarted(requester="x"), at=1, by="o", epoch=1, run="r")
    (stored,) = await ledger.append("s", [event], epoch=1)
    assert not writer._committing.locked()
    assert [one.seq for one in await ledger.read("s")] == [stored.seq]
    ledger.close()
