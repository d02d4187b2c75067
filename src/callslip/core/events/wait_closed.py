"""A wait was answered, or is no longer needed."""

from __future__ import annotations

import msgspec


class WaitClosed(msgspec.Struct, frozen=True, kw_only=True, tag="wait_closed", tag_field="type"):
    wait_id: str
    how: str
    """``submitted``, ``resolved``, ``elapsed``, ``accepted``, ``settled``."""
    actor: str
