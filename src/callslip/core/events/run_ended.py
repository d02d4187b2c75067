"""An owner stopped driving the session."""

from __future__ import annotations

from typing import Literal

import msgspec

RunStatus = Literal["finished", "waiting", "stopped", "failed", "idle", "left"]


class RunEnded(msgspec.Struct, frozen=True, kw_only=True, tag="run_ended", tag_field="type"):
    """Releases the session. ``idle`` ends a run of a dispatcher, which knows no turns; ``left``
    one of a worker that was told to end, for the next worker to go on with.
    """

    status: RunStatus
    reason: str = ""
    code: str = ""
    """With ``failed``: the code of the error, which says where it comes from (docs/reference/errors.md)."""
    limit: str = ""
    """What was used up, if that ended it: ``turn.tokens``, ``session.money`` and so on; ``turn.steps``,
    ``turn.seconds``; or ``loop``. With ``turn.…`` and ``loop``, the next run is given as much again."""
