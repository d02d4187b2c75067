"""A call's outcome is unknown and nothing can tell; a person must."""

from __future__ import annotations

import msgspec


class CallParked(msgspec.Struct, frozen=True, kw_only=True, tag="call_parked", tag_field="type"):
    call_id: str
    reason: str
    code: str
    """``unknown_outcome``, ``no_marker``, ``probe_failed``, ``evidence_differs``, ``attempts_exhausted``,
    ``tool_gone``, ``job_overdue``, ``still_running``, ``verdict_refused``,
    ``approval_void``."""
    attempt: int | None = None
