"""What the demo claims. A claim is printed only together with what was seen, and the exit code is their sum."""

from __future__ import annotations

from typing import Any

from demo.screen import Screen


class Claims:
    """Checks claims, and keeps the count."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.held = 0
        self.failed: list[str] = []

    def check(self, text: str, seen: Any, expected: Any = True) -> None:
        """Compare what was seen with what the claim needs, and say so."""
        holds = bool(seen == expected)
        if holds:
            self.held += 1
            self._screen.claim(holds=True, text=text)
        else:
            self.failed.append(text)
            self._screen.claim(holds=False, text=f"{text} (NOT SO: saw {seen!r}, expected {expected!r})")

    @property
    def good(self) -> bool:
        """Whether all held, and there were any."""
        return self.held > 0 and not self.failed
