"""An attempt came to an end after its call had been answered or given up."""

from __future__ import annotations

import msgspec

from callslip.core.payload import Payload


class LateOutcome(msgspec.Struct, frozen=True, kw_only=True, tag="late_outcome", tag_field="type"):
    """Recorded as a fact; the response stays what it was."""

    call_id: str
    attempt: int
    nonce: str
    ok: bool
    result: Payload | None = None
    internal: str = ""
    beaten: bool = False
    """The attempt was executed twice, and the other execution had answered before."""
