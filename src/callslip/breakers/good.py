"""Successes of this process that nobody was told of yet: one addition each, until somebody has to know."""

from __future__ import annotations

from callslip.core.breaker import Bucket, part


class Good:
    """By key, and by the part of the window they fell into."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[int, int]] = {}
        self.since: float | None = None
        """When the earliest of them was counted; ``None``: there are none."""

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, key: str, now: float) -> None:
        if self.since is None:
            self.since = now
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = {}
        at = part(now)
        counts[at] = counts.get(at, 0) + 1

    def of(self, key: str) -> list[Bucket]:
        """What was counted for the key, and still is."""
        return [Bucket(at, good) for at, good in self._counts.get(key, {}).items()]

    def take(self, key: str) -> list[Bucket]:
        """The same, and it is forgotten here."""
        taken = self.of(key)
        self._counts.pop(key, None)
        if not self._counts:
            self.since = None
        return taken

    def keys(self) -> list[str]:
        return list(self._counts)
