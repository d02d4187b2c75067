"""A wait: what a person, client, clock or operator must answer before a session goes on."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class WaitKind(StrEnum):
    CLIENT = "client"
    """A client-owned tool's result; answered by ``submit``."""
    PARKED = "parked"
    """A call's outcome is unknown and nothing can tell; answered by ``resolve``."""
    TIME = "time"
    """Nothing to answer: the session goes on by itself at ``wake_at``."""
    WORKSPACE = "workspace"
    """The workspace is not the one the session began in; answered by ``accept_workspace``."""


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """An open wait, as ``rt.waits()`` and ``out.waits`` give it. Times are milliseconds since 1970, UTC."""

    id: str
    session: str
    kind: WaitKind
    reason: str
    opened_at: int
    call_id: str | None = None
    tool: str | None = None
    arguments: Any = None
    wake_at: int | None = None
