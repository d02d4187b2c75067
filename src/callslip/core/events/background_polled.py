"""A job was asked after, and had not ended."""

from __future__ import annotations

import msgspec


class BackgroundPolled(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="background_polled", tag_field="type"
):
    """Moves the wait's ``wake_at`` in the same commit: one record for each time a session is woken for the job."""

    call_id: str
    attempt: int
    nonce: str
    wait_id: str
    poll_at: int
    """When it is asked after next. Milliseconds since 1970, UTC."""
    wake_at: int
    """When the session is woken: then, or when the job has taken too long."""
    note: str = ""
    """How far it is, in its tool's words; or why its tool could not tell."""
    asked_to_end: bool = False
    """Somebody stopped the session, and the job was told so."""
