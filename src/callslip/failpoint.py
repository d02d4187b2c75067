"""Named instants at which ``callslip.testing.crash`` may kill the process. In production nobody listens.

The names are listed in :data:`NAMES`, in the order in which one call meets them.
"""

from __future__ import annotations

from collections.abc import Callable

NAMES = (
    "claim.before",
    "reply.before",
    "ask.before",
    "ask.after",
    "decide.before",
    "decide.after",
    "dispatch.before",
    "blob.written",
    "blob.renamed",
    "commit.before",
    "commit.after",
    "dispatch.after",
    "effect.before",
    "effect.after",
    "settle.before",
    "settle.after",
    "poll.before",
    "poll.after",
    "recover.before",
    "resolve.before",
    "submit.before",
    "run.ending",
)

AUDIT = ("audit.writing", "audit.written", "audit.noted")
"""Instants at which the audit is written, which is no part of any call."""

ERASURE = ("erase.begun", "erase.recorded", "erase.keys", "erase.removed")
"""Instants of an erasure: written down, in the log, keys destroyed, payloads removed."""
IMPORT = ("import.before",)
"""Everything beside the log is there; the session is not."""

_listener: Callable[[str], None] | None = None


def hit(name: str) -> None:
    """This instant has come."""
    if _listener is not None:
        _listener(name)


def listen(listener: Callable[[str], None] | None) -> None:
    """Install the one listener (tests only), or take it away."""
    global _listener  # noqa: PLW0603 - one listener a process, by design
    _listener = listener
