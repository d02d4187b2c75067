"""A moment as people give it: a date, a date and time, or how long ago."""

from __future__ import annotations

import datetime
import re

from callslip.errors import UsageError

_UNITS = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def moment(option: str, text: str, *, now: int) -> int:
    """In milliseconds since 1970, UTC. A time without an offset is the time here.

    Raises:
        UsageError: it is none.
    """
    ago = re.fullmatch(r"(\d{1,9})\s*(s|min|m|h|d|w)", text.strip())
    if ago is not None:
        return now - int(ago[1]) * _UNITS[ago[2]] * 1000
    try:
        at = datetime.datetime.fromisoformat(text.strip())
        return round(at.astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{option} {text[:40]!r} is no time. Say 2026-01-31, 2026-01-31T08:00, or how long ago: 90min, 2h, 3d."
        ) from None
