"""A job was started: it goes on outside, and its handle says which it is."""

from __future__ import annotations

import msgspec

from callslip.core.payload import Payload


class BackgroundStarted(msgspec.Struct, frozen=True, kw_only=True, tag="background_started", tag_field="type"):
    """From here on the job is known: it is asked after, and never started again. Committed with the wait for it."""

    call_id: str
    attempt: int
    nonce: str
    handle: Payload
    """What the tool gave: whatever it needs to find the job again, in any process."""
    wait_id: str
    poll_at: int
    """When it is first asked after. Milliseconds since 1970, UTC."""
    until: int | None = None
    """When it has taken too long."""
