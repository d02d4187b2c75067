"""The session can't go on before something outside answers."""

from __future__ import annotations

import msgspec

from callslip.core.events.session_started import WorkspaceIdentity
from callslip.core.wait import WaitKind


class WaitOpened(msgspec.Struct, frozen=True, kw_only=True, tag="wait_opened", tag_field="type"):
    """Also a row beside the log, written in the same commit."""

    wait_id: str
    kind: WaitKind
    reason: str
    call_id: str | None = None
    wake_at: int | None = None
    workspace: WorkspaceIdentity | None = None
    """Of a wait for a workspace: the folder that is there instead of the session's own."""
