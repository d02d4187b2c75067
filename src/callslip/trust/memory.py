"""What is trusted, kept in memory only: for tests, and for runtimes that keep nothing on disk."""

from __future__ import annotations

from callslip.core.standing import Body, Standing, Statement
from callslip.ports.clock import Clock
from callslip.ports.trust import Identity
from callslip.trust import chain


class MemoryTrust:
    """Implements ``Trust``. Its rules are those of the file; what differs is that nobody else can reach it."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._standing = Standing()
        self.lines: list[bytes] = []
        """What a file would hold."""

    def standing(self) -> Standing:
        return self._standing

    def verified(self, key: str, message: bytes, signature: str) -> bool:
        return chain.verified(key, message, signature)

    def state(self, body: Body, by: Identity) -> Statement:
        made = chain.compose(self._standing, body, by, at=self._clock.now())
        self._standing = made.after
        self.lines.append(made.line)
        return made.statement
