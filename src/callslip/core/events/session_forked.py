"""The session goes on from a point of another one."""

from __future__ import annotations

import msgspec

from callslip.core.events.model_requested import VisibleTool


class SessionForked(msgspec.Struct, frozen=True, kw_only=True, tag="session_forked", tag_field="type"):
    """Its conversation begins with what the parent's held at that record; calls, waits, approvals and grants stay the
    parent's. At that record no call of the parent was open (STAT-04).
    """

    parent: str
    seq: int
    """Position of the parent's last record that belongs to this session too."""
    digest: str
    """Of that record, hex."""
    activated: tuple[VisibleTool, ...] = ()
    """What searches had made visible there, if the parent's turn was not over: it holds in this session's first one."""
