"""A person's verdict on a parked call."""

from __future__ import annotations

from typing import Literal

import msgspec

from callslip.core.payload import Payload

Verdict = Literal["happened", "did_not_happen", "give_up"]


class CallResolved(msgspec.Struct, frozen=True, kw_only=True, tag="call_resolved", tag_field="type"):
    call_id: str
    verdict: Verdict
    reason: str
    actor: str
    result: Payload | None = None
    """With ``happened``: what the call returned, as far as the operator knows."""
