"""A call's end has shown that its tool fails too often: nobody calls it for a while (RESI-04)."""

from __future__ import annotations

import msgspec


class BreakerOpened(msgspec.Struct, frozen=True, kw_only=True, tag="breaker_opened", tag_field="type"):
    """Committed together with the end of that call. How the breaker stands later is no fact of one session:
    ``callslip breakers`` shows it.
    """

    call_id: str
    tool: str
    target: str = ""
    """What the tool reaches, where it says so: a host, an account."""
    reason: str
    """Half a sentence."""
    until: int
    """When one call may try it, in milliseconds since 1970."""
