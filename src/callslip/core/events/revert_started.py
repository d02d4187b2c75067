"""Somebody has a turn undone."""

from __future__ import annotations

import msgspec

from callslip.core.principal import Proof


class RevertStarted(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="revert_started", tag_field="type"
):
    """The calls that undo it follow, each in a step of its own."""

    turn: int
    actor: str
    prefix_seq: int
    """High-water mark of the log as it was: what is signed fits no other place."""
    reason: str = ""
    proof: Proof | None = None
    """That it is the actor's. Signed over the session's id."""
