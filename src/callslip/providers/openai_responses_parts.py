"""One output item of a streamed response while its pieces come."""

from __future__ import annotations

from typing import Any, Literal

from callslip.providers.loose import as_text, join_text
from callslip.providers.openai_responses_reply import COMPLETED, message_text
from callslip.providers.openai_responses_search import is_ours

TextKind = Literal["output_text", "refusal"]
_FIELD = {"output_text": "text", "refusal": "refusal"}


class ItemParts:
    """An item as far as it is known. ``output_item.done`` says it whole, and then nothing that came before counts."""

    __slots__ = ("_arguments", "_texts", "arguments", "index", "is_done", "item", "item_id", "shown")

    def __init__(self, kind: str, index: int | None, item_id: str) -> None:
        self.item: dict[str, Any] = {"type": kind}
        self.index = index
        self.item_id = item_id
        self.is_done = False
        self.shown = False
        """Whether any of its text has been shown."""
        self.arguments: str | None = None
        """A call's arguments, where the server has said that they are whole."""
        self._arguments: list[str] = []
        self._texts: dict[tuple[int, TextKind], list[str]] = {}

    @property
    def kind(self) -> str:
        return str(self.item["type"])

    def add_text(self, place: int, kind: TextKind, text: str) -> None:
        self._texts.setdefault((place, kind), []).append(text)

    def end_text(self, place: int, kind: TextKind, text: str) -> None:
        self._texts[place, kind] = [text]

    def add_arguments(self, piece: str) -> None:
        self._arguments.append(piece)

    def settled(self) -> dict[str, Any] | None:
        """The item as it stands. A call without an end of its own is in progress; opaque items without one are
        worth nothing, since what they began with differs from what they end with (encrypted content does).
        """
        if self.kind == "message":
            return self._message()
        if self.kind == "function_call":
            return self._call()
        if self.is_done:
            return self.item
        if is_ours(self.item):
            return {**self.item, "status": "in_progress"}  # without an end of its own it makes no call
        if self.kind == "reasoning":
            # Still to be missed by what followed it.
            return {key: value for key, value in self.item.items() if key not in {"encrypted_content", "content"}}
        return None

    def _message(self) -> dict[str, Any]:
        if self.is_done and (message_text(self.item) or not self._texts):
            return self.item
        parts = [{"type": kind, _FIELD[kind]: join_text(pieces)} for (_, kind), pieces in sorted(self._texts.items())]
        return {"role": "assistant", **self.item, "content": parts}

    def _call(self) -> dict[str, Any]:
        said = self.item.get("arguments")
        whole = self.arguments if self.arguments is not None else join_text(self._arguments)
        if self.is_done:
            return self.item if said or not whole else {**self.item, "arguments": whole}
        ended = self.arguments is not None and bool(as_text(self.item.get("name")))
        return {**self.item, "arguments": whole or said, "status": COMPLETED if ended else "in_progress"}
