"""The user said something."""

from __future__ import annotations

import msgspec


class UserMessage(msgspec.Struct, frozen=True, kw_only=True, tag="user_message", tag_field="type"):
    """Queued until the turn is over; with ``steer`` it is read at the next step and closes undispatched calls."""

    text: str
    steer: bool = False
    author: str = ""
