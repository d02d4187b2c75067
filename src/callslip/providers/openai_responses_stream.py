"""Put a streamed response together from its events (WIRE-04).

Events say where they belong twice, by ``item_id`` and ``output_index``, and servers that copy the format get either
wrong: ids blank, repeated, or another in every event (github.com/Menci/Floway/pull/119); indices all 0, from 1, or
none. So an event finds its item by both, else by its id, else by its index, else it is the item last begun. What an
item is, its ``output_item.done`` says; the deltas are for eyes, and for servers that leave that out.

A reply is whole only with ``response.completed``. The output that this carries is the truth, where it holds all that
the stream has ended; some servers send it empty (github.com/bytedance/deer-flow/pull/1928), and then it is the
assembled one. Where the two say different calls, there are none. Events: OpenAI API reference, "Streaming events".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from callslip.ports.model import Delta, Reply
from callslip.providers.loose import as_object, as_text, id_in, object_in
from callslip.providers.offered import Offered
from callslip.providers.openai_responses_parts import ItemParts, TextKind
from callslip.providers.openai_responses_reply import (
    COMPLETED,
    arguments_of,
    conclude,
    is_call,
    is_whole,
    items_in,
    message_text,
    raise_if_failed,
    text_of,
)
from callslip.providers.openai_responses_search import is_ours
from callslip.providers.options import Price
from callslip.providers.wire_format import BrokenOff

_TEXTS: dict[str, TextKind] = {"response.output_text": "output_text", "response.refusal": "refusal"}
_ARGUMENTS = "response.function_call_arguments"
_FINAL = {
    "response.completed": COMPLETED,
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}


class ResponsesAssembly:
    """One streamed reply. Add the events in order, then ask for the reply."""

    def __init__(self, offered: Offered, price: Price | None = None) -> None:
        self._offered = offered
        self._price = price
        self._parts: list[ItemParts] = []
        self._places: dict[tuple[Any, ...], list[ItemParts]] = {}
        """The items by all that an event may call them by, last begun last; ended ones are taken off when met."""
        self._endings: set[tuple[int | None, str]] = set()
        self._response: dict[str, Any] = {}
        self._status = ""
        self._spoke: ItemParts | None = None
        self.started = False
        """Whether an event of a response has come at all."""

    def add(self, name: str, data: dict[str, Any], /) -> list[Delta]:
        """Take one event in; what of it a person may be shown already.

        Raises:
            BrokenOff: the response failed.
        """
        kind = as_text(data.get("type")) or name
        if kind == "error":
            raise BrokenOff(data.get("error") or data)
        if not kind.startswith("response."):
            return []
        self.started = True
        if self._status:
            return []  # over; a second end, or anything after it, changes nothing
        if isinstance(data.get("response"), dict):
            self._response = data["response"]
        if kind in _FINAL:
            self._end(_FINAL[kind], as_object(data.get("response")))
            return []
        return self._add_to_item(kind, data)

    def reply(self, *, broken: bool = False) -> Reply:
        """The reply as it stands. ``broken``: the connection failed, so it counts as cut whatever it says."""
        items, agreed = self._items()
        status = self._status if agreed and not broken else ""
        return conclude(items, status, self._response, offered=self._offered, price=self._price)

    def _end(self, said: str, response: dict[str, Any]) -> None:
        status = as_text(response.get("status"))
        raise_if_failed(response, "failed" if said == "failed" else status)
        # Of "completed" in the event's name and another status inside, the worse one counts.
        self._status = status if said == COMPLETED and status else said

    def _add_to_item(self, kind: str, data: dict[str, Any]) -> list[Delta]:
        item = data.get("item")
        if kind == "response.output_item.added" and isinstance(item, dict):
            return self._begin(item, data)
        if kind == "response.output_item.done" and isinstance(item, dict):
            return self._finish(item, data)
        what, _, stage = kind.rpartition(".")
        if what in _TEXTS:
            return self._add_text(_TEXTS[what], stage, data)
        if what == _ARGUMENTS:
            self._add_arguments(stage, data)
        return []

    def _begin(self, item: dict[str, Any], data: dict[str, Any]) -> list[Delta]:
        if not as_text(item.get("type")):
            return []
        index, item_id = _index(data), id_in(item)
        if item_id and self._open((item["type"], item_id, index)) is not None:
            return []  # sent twice
        self._new(item["type"], index, item_id).item = item
        return self._named(item) if is_call(item) else []

    def _finish(self, item: dict[str, Any], data: dict[str, Any]) -> list[Delta]:
        kind, index, item_id = as_text(item.get("type")), _index(data), id_in(item)
        if not kind:
            return []
        ending = (index, _spelt(item))
        if ending in self._endings:
            return []  # sent twice
        self._endings.add(ending)
        parts = self._find(kind, index, item_id)
        shown: list[Delta] = []
        if parts is None:
            parts = self._new(kind, index, item_id)
            shown = self._named(item) if is_call(item) else []
        parts.item, parts.is_done = item, True
        text = message_text(item) if kind == "message" and not parts.shown else ""
        return [*shown, *self._shown(parts, text)]

    def _add_text(self, kind: TextKind, stage: str, data: dict[str, Any]) -> list[Delta]:
        text = as_text(data.get("delta" if stage == "delta" else "refusal" if kind == "refusal" else "text"))
        parts = self._spoken_of("message", data) if text else None
        if parts is None:
            return []
        place = data.get("content_index")
        place = place if isinstance(place, int) else 0
        if stage == "delta":
            parts.add_text(place, kind, text)
            return self._shown(parts, text)
        if stage == "done":
            parts.end_text(place, kind, text)
        return []

    def _add_arguments(self, stage: str, data: dict[str, Any]) -> None:
        parts = self._spoken_of("function_call", data)
        if parts is None:
            return
        if stage == "delta":
            parts.add_arguments(as_text(data.get("delta")))
        elif stage == "done" and isinstance(data.get("arguments"), str):
            parts.arguments = data["arguments"]
            if as_text(data.get("name")) and not parts.item.get("name"):
                parts.item = {**parts.item, "name": data["name"]}

    def _named(self, item: dict[str, Any]) -> list[Delta]:
        if is_ours(item):
            return [] if self._offered.loading is None else [Delta(tool=self._offered.loading.search)]
        name = as_text(item.get("name"))
        return [Delta(tool=self._offered.tool(name))] if name else []

    def _shown(self, parts: ItemParts, text: str) -> list[Delta]:
        if not text:
            return []
        apart = [] if self._spoke in (None, parts) else [Delta(text="\n\n")]
        self._spoke, parts.shown = parts, True
        return [*apart, Delta(text=text)]

    def _new(self, kind: str, index: int | None, item_id: str) -> ItemParts:
        parts = ItemParts(kind, index, item_id)
        self._parts.append(parts)
        for place in ((kind, item_id, index), (kind, item_id), (kind, "", index), (kind,)):
            self._places.setdefault(place, []).append(parts)
        return parts

    def _spoken_of(self, kind: str, data: dict[str, Any]) -> ItemParts | None:
        """The item that a delta belongs to, begun by it if need be; None for one that comes after its item's end."""
        index, item_id = _index(data), id_in(data, "item_id")
        parts = self._find(kind, index, item_id)
        if parts is not None:
            return parts
        late = (item_id and (kind, item_id) in self._places) or (kind, "", index) in self._places
        return None if late else self._new(kind, index, item_id)

    def _find(self, kind: str, index: int | None, item_id: str) -> ItemParts | None:
        """The open item of a kind that an event belongs to."""
        named = ((kind, item_id, index), (kind, item_id)) if item_id else ()
        elsewhere = (kind,) if index is None else (kind, "", index)
        for place in (*named, elsewhere):
            parts = self._open(place)
            if parts is not None:
                return parts
        return None

    def _open(self, place: tuple[Any, ...]) -> ItemParts | None:
        """The item last begun there that has not ended."""
        begun = self._places.get(place, [])
        while begun and begun[-1].is_done:
            begun.pop()
        return begun[-1] if begun else None

    def _items(self) -> tuple[list[dict[str, Any]], bool]:
        """The output, and whether the stream and its last word agree on it."""
        parts = self._parts
        if all(one.index is not None for one in parts):
            # The index is the model's order. Without one for each, only the order of arrival is left.
            parts = sorted(parts, key=lambda one: one.index or 0)
        assembled = [item for item in (one.settled() for one in parts) if item is not None]
        said = items_in(self._response.get("output")) if self._status else []
        if not said or not assembled:
            return said or assembled, True
        before, after = _calls(assembled), _calls(said)
        ended = Counter(_meaning(call) for call in before if is_whole(call))
        last = Counter(_meaning(call) for call in after)
        loses_text = bool(text_of(assembled).strip()) and not text_of(said).strip()
        if ended <= last and len(after) >= len(before) and not loses_text:
            return _with_ended(said, assembled), True
        return assembled, last <= ended


def _with_ended(said: Sequence[dict[str, Any]], assembled: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was said last, each item as its own end said it: id and encrypted content belong together, and some servers
    make both anew for every event.
    """
    if [item["type"] for item in said] != [item["type"] for item in assembled]:
        return list(said)
    pairs = list(zip(said, assembled, strict=True))
    return [ended if is_whole(ended) and _same(ended, last) else last for last, ended in pairs]


def _same(ended: dict[str, Any], last: dict[str, Any]) -> bool:
    if is_call(last):
        return _meaning(ended) == _meaning(last)
    if last["type"] == "message":
        return message_text(ended) == message_text(last)
    return last["type"] != "reasoning" or bool(ended.get("encrypted_content")) or not last.get("encrypted_content")


def _calls(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in items if is_call(item)]


def _meaning(call: dict[str, Any]) -> tuple[str, str]:
    """Name and arguments, however they are spelt."""
    arguments = arguments_of(call)
    read = arguments if isinstance(arguments, dict) else object_in(arguments)
    return as_text(call.get("name")) or call["type"], str(arguments).strip() if read is None else _spelt(read)


def _spelt(value: dict[str, Any]) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except RecursionError:
        # Nested so deep that it was barely read; nothing that means the same is looked for.
        return str(id(value))


def _index(data: dict[str, Any]) -> int | None:
    index = data.get("output_index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None
