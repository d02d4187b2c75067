"""Put a streamed Gemini reply together from its chunks (WIRE-04).

Each chunk of ``streamGenerateContent?alt=sse`` has the shape of a whole reply: pieces of text, and calls entire, each
in one part, without an index. So parts are taken in the order of arrival. Only the finish reason says that all have
come.
"""

from __future__ import annotations

from typing import Any

from callslip.ports.model import Delta, Reply
from callslip.providers.gemini_reply import Arrived, conclude, is_call, text_of
from callslip.providers.loose import as_text
from callslip.providers.offered import Offered
from callslip.providers.options import Price


class GeminiAssembly:
    """Implements ``Assembly``."""

    def __init__(self, offered: Offered, price: Price | None = None) -> None:
        self._offered = offered
        self._price = price
        self._arrived = Arrived()
        self._last: dict[str, Any] | None = None
        """The candidate that brought the finish reason."""
        self.started = False

    def add(self, _name: str, data: dict[str, Any], /) -> list[Delta]:
        """Take one chunk in; what of it a person may be shown already."""
        self.started = True
        candidate = self._arrived.take(data)
        if candidate is None or self._ended_with(candidate):
            # The last chunk once more, as a proxy may send it: its calls are the same calls, not new ones.
            return []
        came = self._arrived.add(candidate)
        if candidate.get("finishReason"):
            self._last = candidate
        return [delta for part in came if (delta := self._shown(part)) is not None]

    def reply(self, *, broken: bool = False) -> Reply:
        """The reply as it stands. ``broken``: the connection failed, so it counts as cut whatever it says."""
        return conclude(self._arrived, self._offered, self._price, broken=broken)

    def _ended_with(self, candidate: dict[str, Any]) -> bool:
        try:
            return candidate == self._last
        except RecursionError:  # nested as deep as JSON can be read at all
            return False

    def _shown(self, part: dict[str, Any]) -> Delta | None:
        if is_call(part):
            name = as_text(part["functionCall"].get("name"))
            return Delta(tool=self._offered.tool(name)) if name else None
        text = text_of(part)
        return Delta(text=text) if text else None
