"""Somebody asked the session to stop."""

from __future__ import annotations

import msgspec


class StopRequested(msgspec.Struct, frozen=True, kw_only=True, tag="stop_requested", tag_field="type"):
    """Undispatched calls are closed, dispatched ones awaited; the run then ends as ``stopped``.

    Where nothing is open but messages that no request has read, these are what it takes back: then ``unread``.
    """

    actor: str
    reason: str = ""
    unread: bool = False
