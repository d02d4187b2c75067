"""One attempt ended without an answer that could be given to the model."""

from __future__ import annotations

import msgspec

from callslip.core.hedging import Hedged
from callslip.core.instead import Instead
from callslip.core.result import Effect, Status


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
    transient: bool | None = None
    """Whether the same attempt may succeed later; ``None``: nobody knows."""
    retry_at: int | None = None
    """Before when it is not tried again, in milliseconds since 1970."""
    last: bool = False
    """It is not tried again: that was done too often or for too long, or it would fail in the same way."""
    layer: str = ""
    """``network`` or ``tool``."""
    status: Status | None = None
    """With ``message``: how the call is answered if it is not tried again."""
    message: str = ""
    duration_ms: int | None = None
    """How long it took to fail, as the process that made it saw it."""
    instead: Instead | None = None
    """The tool is given up, and this one is to answer in its place."""
    hedged: Hedged | None = None
    """It was executed twice at once, and failed both times; how is told of whichever failed first."""
