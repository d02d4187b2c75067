"""One provider's wire, seen from the server: what it accepts, what it answers, how it refuses.

A format is made anew for each server, as it remembers what it has issued: the ids of calls, and the opaque items that
must come back unchanged. The rules themselves are functions of the body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from callslip.testing.contract.says import Says
from callslip.testing.contract.violation import Violation


class Format(Protocol):
    @property
    def name(self) -> str:
        """``openai_chat``, ``openai_responses``, ``anthropic``, ``gemini``, ``mistral`` or ``compatible``."""
        ...

    def asks(self, method: str, path: str) -> bool:
        """Whether the request goes to this provider's endpoint."""
        ...

    def check(self, body: dict[str, Any], headers: Mapping[str, str], path: str) -> list[Violation]:
        """The rules that the request breaks; none when it is legal. Header names are in lower case."""
        ...

    def refusal(self, violations: Sequence[Violation]) -> tuple[int, dict[str, Any]]:
        """The status and the vendor's error body for an illegal request."""
        ...

    def error(self, status: int, message: str, *, kind: str = "") -> dict[str, Any]:
        """The vendor's error body for any other status."""
        ...

    def streams(self, body: dict[str, Any], path: str) -> bool:
        """Whether the request asks for a stream."""
        ...

    def plain(self, said: Says, body: dict[str, Any]) -> dict[str, Any]:
        """A reply in one piece."""
        ...

    def events(self, said: Says, body: dict[str, Any]) -> list[tuple[str, dict[str, Any] | str]]:
        """The reply as a stream: the name of each event, or "", and its data."""
        ...
