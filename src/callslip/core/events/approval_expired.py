"""Nobody answered in time. Decided by this event, not by a clock."""

from __future__ import annotations

import msgspec


class ApprovalExpired(msgspec.Struct, frozen=True, kw_only=True, tag="approval_expired", tag_field="type"):
    call_id: str
    approval_id: str
