"""What a Responses server has given out: so that it can be asked for again, and found altered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec


class IssuedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that the model made here."""

    model: str
    item: str
    """The id of its item."""
    reasoning: str
    """The id of the reasoning item that came before it, or ""."""


class Issued:
    """The memory of one server. ``items`` and ``responses`` hold only what the request let it store."""

    def __init__(self) -> None:
        self.calls: dict[str, IssuedCall] = {}
        """By ``call_id``."""
        self.owners: dict[str, str] = {}
        """The response that each item id was given out with."""
        self.items: dict[str, dict[str, Any]] = {}
        self.responses: dict[str, Sequence[dict[str, Any]]] = {}
        """The items that each stored response ends with, those of its input included."""

    def note(
        self,
        response: str,
        output: Sequence[dict[str, Any]],
        *,
        model: str,
        before: Sequence[dict[str, Any]],
        store: bool,
    ) -> None:
        """Remember a reply. ``before``: the items it answered."""
        reasoning = ""
        for item in output:
            self.owners[item["id"]] = response
            if item["type"] == "reasoning":
                reasoning = item["id"]
            elif item["type"] in ("function_call", "tool_search_call") and item["call_id"]:
                self.calls[item["call_id"]] = IssuedCall(model=model, item=item["id"], reasoning=reasoning)
        if store:
            self.items.update({item["id"]: item for item in output})
            self.responses[response] = (*before, *output)
