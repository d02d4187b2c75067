"""Retry-After: how long a server asks to be left alone (RFC 9110, 10.2.3). Pure."""

from __future__ import annotations

import datetime
import math
import re

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?")


def seconds(given: str, date: str = "", now: int | None = None) -> float | None:
    """Seconds from now; ``None`` where nothing of it can be read.

    A date is held against the answer's own ``Date``, so that neither clock has to be right; where the answer has none,
    against our clock.

    Args:
        given: the header: seconds, or a date. Whole ones, by the letter; what some servers send all the same, a
            fraction, is rounded up.
        date: the answer's ``Date``.
        now: milliseconds since 1970 by our own clock.
    """
    given = given.strip()
    if _NUMBER.fullmatch(given):
        number = float(given)
        return number if math.isinf(number) else float(math.ceil(number))
    until = _moment(given)
    if until is None:
        return None
    since = _moment(date)
    if since is None and now is not None:
        since = datetime.datetime.fromtimestamp(now / 1000, datetime.UTC)
    return None if since is None else max(0.0, (until - since).total_seconds())


def _moment(text: str) -> datetime.datetime | None:
    if not text:
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - 5 ms, and only a date needs it

    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
