"""A person's verdict on a parked call."""

from __future__ import annotations

from typing import Literal

import msgspec

from callslip.core.payload import Payload
from callslip.core.principal import Proof

Verdict = Literal["happened", "did_not_happen", "give_up"]


class CallResolved(msgspec.Struct, frozen=True, kw_only=True, tag="call_resolved", tag_field="type"):
    call_id: str
    verdict: Verdict
    reason: str
    actor: str
    wait_id: str = ""
    """Which wait it answers: a verdict can't be used again for a later one."""
    result: Payload | None = None
    """With ``happened``: what the call returned, as far as the operator knows."""
    proof: Proof | None = None
    """That the verdict is the actor's."""
