"""One attempt ended without an answer that could be given to the model."""

from __future__ import annotations

import msgspec

from callslip.core.result import Effect


class AttemptFailed(msgspec.Struct, frozen=True, kw_only=True, tag="attempt_failed", tag_field="type"):
    """``effect`` none makes the call safe to dispatch again; unknown leaves it to the crash table."""

    call_id: str
    attempt: int
    nonce: str
    effect: Effect
    code: str
    ended: bool = False
    """Whether it was seen, by the process that made it, that nothing of the attempt goes on."""
    internal: str = ""
    """The full error, for the log only."""
