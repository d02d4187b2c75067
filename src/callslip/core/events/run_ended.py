"""An owner stopped driving the session."""

from __future__ import annotations

from typing import Literal

import msgspec

RunStatus = Literal["finished", "waiting", "stopped", "failed", "idle"]


class RunEnded(msgspec.Struct, frozen=True, kw_only=True, tag="run_ended", tag_field="type"):
    """Releases the session. ``idle`` ends a run of a dispatcher, which knows no turns."""

    status: RunStatus
    reason: str = ""
