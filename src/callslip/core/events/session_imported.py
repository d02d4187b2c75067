"""The log was taken in from elsewhere, or put back from a backup."""

from __future__ import annotations

from typing import Literal

import msgspec

from callslip.core.principal import Proof


class SessionImported(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session_imported", tag_field="type"
):
    """With ``proven`` the log is whole: its seal came with it, and the session begins again in the trust of its runs'
    markers. Without, what happened after the last record is unknown, and what is not in the log proves nothing.
    """

    actor: str
    reason: str
    how: Literal["imported", "restored", "behind"]
    """``behind``: the log was found shorter than a high-water mark kept elsewhere."""
    proven: bool = False
    host: str = ""
    """Where its last run was, as the log says."""
    prefix_seq: int = 0
    """High-water mark of what was taken in."""
    prefix_digest: str = ""
    trust_seq: int = 0
    trust_digest: str = ""
    """Where the trust file of this installation stood: with ``imported``, what the session rests on from now on."""
    proof: Proof | None = None
    """That it is the actor's. Signed over the session's id."""
