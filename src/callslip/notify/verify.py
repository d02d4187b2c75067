"""For whoever receives webhooks: is this message from us, unchanged, and of now?

Uses nothing but the standard library below it, and works for any sender that follows Standard Webhooks.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence

from callslip.errors import NotAuthorised
from callslip.notify.signing import key_of, signature

TOLERANCE = 300
"""Seconds by which a message's timestamp may differ from the receiver's clock, either way."""
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_MOST_SIGNATURES = 16


def verify(secret: str | Sequence[str], headers: Mapping[str, str], body: bytes, now: float) -> str:
    """The message's id, if it is genuine. Remember it: a message may be delivered more than once.

    Args:
        secret: ``whsec_…``, or several while one is being replaced.
        headers: of the request, in any case.
        body: the very bytes that came, before any parsing.
        now: seconds since 1970, UTC: ``time.time()``.

    Raises:
        NotAuthorised: a header is missing, the time is off by more than five minutes, or no signature fits.
        ConfigError: the secret is none.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message_id, stamp, signatures = (
        given.get(f"webhook-{name}", "").strip() for name in ("id", "timestamp", "signature")
    )
    if not message_id or not signatures or not _TIMESTAMP.fullmatch(stamp):
        raise _refused("a header webhook-id, webhook-timestamp or webhook-signature is missing or is none")
    timestamp = int(stamp)
    if abs(now - timestamp) > TOLERANCE:
        raise _refused(f"its time is {abs(now - timestamp):.0f} seconds away from now: a replay, or a clock is wrong")
    secrets = [secret] if isinstance(secret, str) else list(secret)
    wanted = [signature(key_of(one), message_id, timestamp, body).encode() for one in secrets]
    offered = [one.encode("utf-8", "surrogatepass") for one in signatures.split(" ")[:_MOST_SIGNATURES]]
    # Every pair is compared to its end, whether or not one has fitted already.
    if not sum([hmac.compare_digest(one, other) for one in offered for other in wanted]):
        raise _refused("no signature in it fits the secret")
    return message_id


def _refused(why: str) -> NotAuthorised:
    return NotAuthorised(f"This webhook is not to be believed: {why}. Nothing was done. Answer 401 and go on.")
