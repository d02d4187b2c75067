"""Put a streamed Chat Completions reply together from its chunks (WIRE-04).

Servers disagree on everything but the shape of a delta: calls all on index 0, indices from 1 or none, ids late,
blank, repeated or shared, names after arguments. So a delta finds its call by what it has: its id on its index,
else the call last seen on that index, or at all. Where two readings are left, the one is taken that joins: joined
arguments are refused as invalid, while a wrong split could make a call nobody proposed. How the deltas are packed
into chunks means nothing.
"""

from __future__ import annotations

from typing import Any

from callslip.core.events.model_replied import Usage
from callslip.ports.model import Delta, Reply
from callslip.providers.cost import priced
from callslip.providers.loose import as_list, as_object, as_text, id_in, join_text
from callslip.providers.offered import Offered
from callslip.providers.openai_chat_reply import CallParts, conclude, kept_of, text_of, usage_of
from callslip.providers.options import Price


class ChatAssembly:
    """One streamed reply. Add the chunks in order, then ask for the reply."""

    def __init__(self, offered: Offered, price: Price | None = None) -> None:
        self._offered = offered
        self._price = price
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._details: list[Any] = []
        self._calls: list[CallParts] = []
        self._on_index: dict[int, CallParts] = {}
        self._last: CallParts | None = None
        self._reason: str | None = None
        self._usage = Usage()
        self._model = ""
        self.started = False
        """Whether a chunk has come at all."""

    def add(self, _name: str, data: dict[str, Any], /) -> list[Delta]:
        """Take one chunk in; what of it a person may be shown already."""
        self.started = True
        self._model = self._model or as_text(data.get("model"))
        if isinstance(data.get("usage"), dict):
            self._usage = usage_of(data["usage"])
        shown: list[Delta] = []
        for choice in map(as_object, as_list(data.get("choices"))):
            if choice.get("index") not in (0, None):
                continue
            delta = as_object(choice.get("delta"))
            text = text_of(delta)
            if text:
                self._text.append(text)
                shown.append(Delta(text=text))
            self._reasoning.append(as_text(delta.get("reasoning_content")))
            self._details += as_list(delta.get("reasoning_details"))
            shown += [Delta(tool=name) for name in map(self._add_call, as_list(delta.get("tool_calls"))) if name]
            self._reason = as_text(choice.get("finish_reason")) or self._reason
        return shown

    def reply(self, *, broken: bool = False) -> Reply:
        """The reply as it stands. ``broken``: the connection failed, so it counts as cut whatever it says."""
        return conclude(
            join_text(self._text),
            self._in_order(),
            None if broken else self._reason,
            offered=self._offered,
            usage=priced(self._usage, self._price),
            model=self._model,
            kept=kept_of({"reasoning_content": "".join(self._reasoning), "reasoning_details": self._details}),
        )

    def _in_order(self) -> list[CallParts]:
        # The index is the model's order. Without one for each call, only the order of arrival is left.
        if any(call.index is None for call in self._calls):
            return self._calls
        return sorted(self._calls, key=lambda call: call.index or 0)

    def _add_call(self, item: Any) -> str:
        """Add a call's delta; the call's name when it becomes known by it."""
        item = as_object(item)
        function = as_object(item.get("function"))
        index = item.get("index")
        index = index if isinstance(index, int) and not isinstance(index, bool) else None
        provider_id, name = id_in(item), as_text(function.get("name"))
        arguments = function.get("arguments")
        if not (provider_id or name or arguments):
            return ""
        call = self._find(index, provider_id, name, whole=isinstance(arguments, dict))
        if call is None:
            call = CallParts(index=index)
            self._calls.append(call)
        self._last = call
        if index is not None:
            self._on_index[index] = call
        call.provider_id = call.provider_id or provider_id
        fresh = not call.name and bool(name)
        if name != call.name:
            call.name += name
        call.add_arguments(arguments)
        return self._offered.tool(name) if fresh else ""

    def _find(self, index: int | None, provider_id: str, name: str, *, whole: bool) -> CallParts | None:
        """The call a delta belongs to; None when it begins a new one."""
        if provider_id:
            same = [call for call in self._calls if call.provider_id == provider_id]
            here = [call for call in same if call.index == index]
            if here:
                return here[-1]
            # Known by its id though the index is another, or missing: a continuation, unless it brings a name and
            # an index of its own; then it is a second call under a repeated id.
            if same and (not name or index is None):
                return same[-1]
        last = self._last if index is None else self._on_index.get(index)
        if last is None or (provider_id and last.provider_id):
            return None
        return None if _begins_another(last, name, whole=whole) else last


def _begins_another(call: CallParts, name: str, *, whole: bool) -> bool:
    """Whether a delta without an id of its own must be a new call although one stands on its index.

    Another name after arguments is one (before any, it is the rest of a name sent in pieces), and so is a whole
    object after arguments, since an object is never a fragment.
    """
    return call.has_arguments and (whole or bool(call.name and name and name != call.name))
