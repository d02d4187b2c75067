"""The audit: a log of its own, derived from the log by position, for whoever must explain afterwards what was done."""

from __future__ import annotations

from typing import Protocol


class Audit(Protocol):
    async def catch_up(self) -> None:
        """Take in whatever the log has that the audit does not. Never raises: a failure is kept, for the two below."""
        ...

    def failing_since(self) -> int | None:
        """Since when something has been left out because it can't be written, in milliseconds since 1970, UTC, by
        today's clock: the difference to now is time that has really passed. ``None``: nothing is left out. 0: it can't
        be told, as before the first :meth:`catch_up`.
        """
        ...

    def failure(self) -> str:
        """Why, as a sentence; empty when nothing is left out."""
        ...

    def close(self) -> None:
        """Close its files. What it has not taken in yet, the next one does."""
        ...

    async def read_of_payload(self, actor: str, session: str, address: str) -> None:
        """Somebody is about to be shown a payload. Durable when it returns.

        Raises:
            LedgerUnavailable, LogBroken: it could not be written, so the payload must not be shown.
        """
        ...
