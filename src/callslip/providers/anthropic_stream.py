"""Put a streamed Messages reply together from its events (WIRE-04).

The vendor opens, fills and closes each block under its index (Anthropic docs, "Streaming Messages"); servers that
copied the API send indices merged or not at all. So an event finds its block by its index, or is of the only one that
is open. What fits nowhere, a block that was not closed, and a stream without ``message_stop`` leave a doubt, and a
reply in doubt is a cut one.
"""

from __future__ import annotations

import json
from typing import Any

from callslip.ports.model import Delta, Reply
from callslip.providers.anthropic_reply import CALL, conclude, explanation_in, is_partial, usage_of, written
from callslip.providers.cost import priced
from callslip.providers.loose import as_count, as_object, as_text, join_text
from callslip.providers.offered import Offered
from callslip.providers.options import Price
from callslip.providers.wire_format import BrokenOff

_FILLS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": (CALL, "partial_json"),
}
"""By the delta: the kind of block it belongs to, and its field."""


class OpenBlock:
    """A block while it is put together."""

    __slots__ = ("given", "index", "is_open", "pieces", "seals")

    def __init__(self, index: int | None, given: dict[str, Any]) -> None:
        self.index = index
        self.given = given
        self.is_open = True
        self.pieces: list[str] = []
        self.seals: list[str] = []

    @property
    def kind(self) -> str:
        return as_text(self.given.get("type"))

    def add(self, delta: dict[str, Any]) -> bool:
        """Take a delta in. False: it belongs to another kind of block, or is no text, so that a part is missing."""
        known = _FILLS.get(as_text(delta.get("type")))
        if known is None:
            return True  # new kinds of delta may come at any time, and are not needed to understand the rest
        kind, field = known
        piece = delta.get(field)
        (self.seals if field == "signature" else self.pieces).append(as_text(piece))
        return self.kind == kind and (piece is None or isinstance(piece, str))

    def block(self) -> dict[str, Any]:
        """As it would have come in a plain reply."""
        if self.kind in {"text", "thinking"}:
            whole = {self.kind: join_text([as_text(self.given.get(self.kind)), *self.pieces])}
            if self.seals:
                whole["signature"] = as_text(self.given.get("signature")) + "".join(self.seals)
            return {**self.given, **whole}
        if self.kind == CALL:
            return {**self.given, "input": self._input()}
        return self.given

    def _input(self) -> Any:
        text, begun = join_text(self.pieces), self.given.get("input")
        if not text:
            return begun
        if not begun:
            return text
        # The vendor begins with {}. Arguments that came whole and then once more are one value if they are the same;
        # else they have no single reading, and side by side they are refused as concatenated.
        return begun if _same(text, begun) else written(begun) + text


def _same(text: str, value: Any) -> bool:
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


class MessagesAssembly:
    """One streamed reply. Add the events in order, then ask for the reply."""

    def __init__(self, offered: Offered, price: Price | None = None) -> None:
        self._offered = offered
        self._price = price
        self._blocks: list[OpenBlock] = []
        self._on_index: dict[int | None, OpenBlock] = {}
        self._reasons: set[str] = set()
        self._explanation = ""
        self._counts: dict[str, Any] = {}
        self._model = ""
        self._ended = False
        self._doubt = False
        """Whether something came that belongs to no block, so that a part must be missing."""
        self.started = False
        """Whether anything of a message has come; a ping is nothing."""

    def add(self, name: str, data: dict[str, Any], /) -> list[Delta]:
        """Take one event in; what of it a person may be shown already.

        Raises:
            BrokenOff: the event is an error.
        """
        kind = as_text(data.get("type")) or name
        if kind == "error":
            raise BrokenOff(data.get("error") or data)
        if self._ended:
            return []
        if kind == "message_start":
            self._begin(as_object(data.get("message")))
        elif kind == "content_block_start":
            return self._open(_index(data), as_object(data.get("content_block")))
        elif kind == "content_block_delta":
            return self._fill(_index(data), as_object(data.get("delta")))
        elif kind == "content_block_stop":
            self._close(_index(data))
        elif kind == "message_delta":
            self._finish(data)
        elif kind == "message_stop":
            self._ended = True
        return []

    def _begin(self, message: dict[str, Any]) -> None:
        self._doubt = self._doubt or bool(self._blocks)
        self.started = True
        self._model = as_text(message.get("model"))
        self._count(message.get("usage"))

    def _open(self, index: int | None, given: dict[str, Any]) -> list[Delta]:
        self.started = True
        block = OpenBlock(index, given)
        self._blocks.append(block)
        self._on_index[index] = block
        if block.kind == CALL:
            return [Delta(tool=self._offered.tool(as_text(given.get("name"))))]
        text = as_text(given.get("text")) if block.kind == "text" else ""
        return [Delta(text=text)] if text else []

    def _fill(self, index: int | None, delta: dict[str, Any]) -> list[Delta]:
        self.started = True
        block = self._find(index)
        if block is None or not block.is_open or not block.add(delta):
            self._doubt = True
            return []
        text = as_text(delta.get("text")) if delta.get("type") == "text_delta" else ""
        return [Delta(text=text)] if text else []

    def _close(self, index: int | None) -> None:
        self.started = True
        block = self._find(index)
        if block is None:
            self._doubt = True
        else:
            block.is_open = False

    def _find(self, index: int | None) -> OpenBlock | None:
        found = self._on_index.get(index)
        if found is None and index is None:
            still = [block for block in self._blocks if block.is_open]
            return still[0] if len(still) == 1 else None
        return found

    def _finish(self, data: dict[str, Any]) -> None:
        self.started = True
        delta = as_object(data.get("delta"))
        reason = as_text(delta.get("stop_reason"))
        if reason:
            self._reasons.add(reason)
        self._explanation = explanation_in(delta) or self._explanation
        self._count(data.get("usage"))

    def _count(self, usage: Any) -> None:
        # Counts are cumulative, and an event may leave out those that an earlier one had.
        for name, value in as_object(usage).items():
            self._counts[name] = (
                value if isinstance(value, dict) else max(as_count(value), as_count(self._counts.get(name)))
            )

    def reply(self, *, broken: bool) -> Reply:
        """The reply as it stands. ``broken``: the connection failed, so it counts as cut whatever it says."""
        reason = next(iter(self._reasons)) if len(self._reasons) == 1 else ""
        doubt = self._doubt or any(block.is_open for block in self._blocks)
        if broken or not self._ended or (doubt and not is_partial(reason)):
            reason = ""
        return conclude(
            [block.block() for block in self._in_order()],
            reason,
            offered=self._offered,
            usage=priced(usage_of(self._counts), self._price),
            model=self._model,
            explanation=self._explanation,
        )

    def _in_order(self) -> list[OpenBlock]:
        """By their indices where these tell, else as they came."""
        places = [block.index for block in self._blocks]
        if None in places or len(set(places)) < len(places):
            return self._blocks
        return sorted(self._blocks, key=lambda block: block.index or 0)


def _index(data: dict[str, Any]) -> int | None:
    index = data.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None
