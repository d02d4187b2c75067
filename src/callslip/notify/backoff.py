"""How long to leave an endpoint or a notice alone after it failed. Pure, given its source of chance.

Source: "full jitter" as in AWS Architecture Blog, "Exponential Backoff And Jitter"; ``Retry-After`` as in RFC 9110,
section 10.2.3.
"""

from __future__ import annotations

import math
import random

from callslip.core.retry_after import seconds

SHORTEST = 1_000
LONGEST = 3_600_000
GIVE_UP = 24 * 3_600_000
"""Milliseconds after which a notice that nobody took is given up, and the longest pause an endpoint can ask for."""
_DOUBLINGS = 12
"""2^12 seconds are more than an hour."""


def pause(failures: int, chance: random.Random) -> int:
    """Milliseconds to wait after so many failures in a row: anything from a second to a ceiling that doubles."""
    ceiling = min(LONGEST, SHORTEST * 2 ** min(failures, _DOUBLINGS))
    return max(SHORTEST, int(chance.uniform(0, ceiling)))


def asked_pause(retry_after: str, *, now: int) -> int:
    """Milliseconds that a ``Retry-After`` header asks for, at most a day; 0 when it says nothing that can be read."""
    asked = seconds(retry_after, now=now)
    return 0 if asked is None or math.isinf(asked) else int(min(asked * 1000, GIVE_UP))
