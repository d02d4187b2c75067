"""Times as people read them: clock times, ages, durations. All are given in milliseconds since 1970, UTC."""

from __future__ import annotations

import datetime
import math
import time

_AGES = ((86_400 * 14, 86_400, "d"), (86_400, 86_400, "d"), (3600, 3600, "h"), (60, 60, "min"), (1, 1, "s"))


def now() -> int:
    """This moment, for ages on the screen only."""
    return time.time_ns() // 1_000_000


def clock(at: int) -> str:
    """The time of day here, to the millisecond."""
    return _local(at).strftime("%H:%M:%S.") + f"{at % 1000:03d}"


def day(at: int) -> str:
    """Date and time here, to the second, with the offset from UTC."""
    return _local(at).strftime("%Y-%m-%d %H:%M:%S %z")


def age(at: int) -> str:
    """How long ago, roughly; or in how long."""
    seconds = (now() - at) / 1000
    if abs(seconds) < 1:
        return "just now"
    return f"{span(round(seconds * 1000))} ago" if seconds > 0 else f"in {span(round(-seconds * 1000))}"


def due(at: int) -> str:
    """In how long something is due."""
    left = at - now()
    if left <= 0:
        return "due now"
    return f"in {math.ceil(left / 1000)} s" if left <= 59_000 else f"in {span(left)}"


def span(milliseconds: int) -> str:
    """A duration in the unit that suits it: ``12 ms``, ``3.4 s``, ``5 min``, ``2 h``, ``9 d``."""
    seconds = max(milliseconds, 0) / 1000
    if seconds < 1:
        return f"{max(milliseconds, 0)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    for least, unit, name in _AGES:
        if seconds >= least:
            return f"{int(seconds // unit)} {name}"
    return f"{seconds:.0f} s"


def _local(at: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(at // 1000, tz=datetime.UTC).astimezone()
