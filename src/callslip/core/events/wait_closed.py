"""A wait was answered, or is no longer needed."""

from __future__ import annotations

import msgspec

from callslip.core.events.session_started import WorkspaceIdentity
from callslip.core.principal import Proof


class WaitClosed(msgspec.Struct, frozen=True, kw_only=True, tag="wait_closed", tag_field="type"):
    wait_id: str
    how: str
    """``approved``, ``denied``, ``edited``, ``expired``, ``withdrawn``, ``submitted``, ``answered``, ``resolved``,
    ``elapsed``, ``accepted``, ``settled``."""
    actor: str
    workspace: WorkspaceIdentity | None = None
    """With ``accepted``: the folder in which the session may go on."""
    proof: Proof | None = None
    """Of an answer that is no event of its own: that it is the actor's."""
