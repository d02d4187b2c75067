"""How a session stands, in one word: what its head says, and whether whoever drives it is alive."""

from __future__ import annotations

from callslip.ports.ledger import Head
from callslip.ports.owners import Liveness, Owners

_WORDS = {
    Liveness.ALIVE: "running",
    Liveness.ELSEWHERE: "running elsewhere",
    Liveness.LOCK_FREE: "interrupted",
    Liveness.REBOOTED: "interrupted",
    Liveness.STILL_RUNNING: "interrupted",
}


def standing(head: Head, owners: Owners) -> str:
    """``running``, ``interrupted`` (its process has ended without ending the run), or how the last run ended."""
    if head.owner is None:
        return head.status
    return _WORDS[owners.liveness(head.owner)]
