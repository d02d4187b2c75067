"""An event that can't be true, where it stands."""

from __future__ import annotations

from callslip.errors import LogBroken


def broken(seq: int, why: str) -> LogBroken:
    """The error that closes the session, naming the event."""
    return LogBroken(f"Event {seq} can't be true: {why}. Nothing was executed.", seq=seq)
