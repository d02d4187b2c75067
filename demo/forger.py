"""A process of the same account that has no key: it writes a yes in an approver's name into the log, as well as it can.

It has the library, the right file, the right place in the chain and the approver's public key. What it can't have is
their signature, so it makes one up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
from pathlib import Path

from callslip.clocks.system import SystemClock
from callslip.core.event import draft
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.principal import Proof
from callslip.ledgers.sqlite import SqliteLedger
from callslip.trust.file import FileTrust

_KEY, _SIGNATURE = 32, 64
"""Bytes of an Ed25519 public key, and of a signature."""


async def forge(state: Path, session: str, name: str) -> list[int]:
    """Answer the session's last question with yes, in that name. Where the records stand."""
    enrolled = FileTrust(state, clock=SystemClock()).standing().principals
    key = enrolled[name].key if name in enrolled else secrets.token_hex(_KEY)
    ledger = SqliteLedger(state / "ledger.db")
    try:
        log = await ledger.read(session)
        events = [stored.record.event for stored in log]
        asked = next(event for event in reversed(events) if isinstance(event, ApprovalRequested))
        now = SystemClock().now()
        proof = Proof(principal=name, uid=os.getuid(), key=key, signature=secrets.token_hex(_SIGNATURE), at=now)
        decided = ApprovalDecided(
            call_id=asked.call_id, approval_id=asked.approval_id, binding=asked.binding, decision="approved",
            proof=proof, reason="all in order", via="cli",
        )  # fmt: skip
        closed = WaitClosed(wait_id=asked.approval_id, how="approved", actor=name)
        drafts = [draft(event, at=now, by=name, epoch=0, run="") for event in (decided, closed)]
        return [stored.seq for stored in await ledger.decide(session, drafts, expected=log[-1].seq)]
    finally:
        await ledger.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description="The demo's forger.")
    parser.add_argument("state", type=Path)
    parser.add_argument("session")
    parser.add_argument("name")
    options = parser.parse_args()
    written = asyncio.run(forge(options.state, options.session, options.name))
    print(json.dumps({"kind": "forged", "records": written}), flush=True)


if __name__ == "__main__":
    main()
