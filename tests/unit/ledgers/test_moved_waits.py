"""A log that is taken in whole has its waits where they would stand had each record been appended here."""

import pytest

from callslip.core.events.session_started import SessionStarted
from callslip.ledgers.memory import MemoryLedger
from callslip.ledgers.sqlite import SqliteLedger
from callslip.testing.suites.ledger_drafts import owned, polled, run, waiting

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("SPEC-06")]


@pytest.mark.parametrize("kind", ["memory", "file"])
async def test_a_job_that_was_asked_after_elsewhere_is_due_when_it_was_due_there(kind, tmp_path):
    ledger = MemoryLedger() if kind == "memory" else SqliteLedger(tmp_path / "ledger.db")
    log = owned(
        SessionStarted(requester="me"), run(), waiting("w1", wake_at=50), waiting("w2"), polled("w1", wake_at=90)
    )
    await ledger.adopt("s", log)
    assert {row.wait_id: row.wake_at for row in await ledger.waits("s")} == {"w1": 90, "w2": None}
    await ledger.aclose()
