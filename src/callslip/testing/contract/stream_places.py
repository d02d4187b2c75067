"""Where each format keeps what a fault changes: ids and indices of calls, usage, and how a reply says that it ended.

A place is an object of the event and the key in it, so that a fault can blank, move or drop it without knowing formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Place = tuple[dict[str, Any], str]


class Places:
    """Those of Chat Completions, which Mistral and compatible servers share."""

    late_ids = True
    """Whether a call's id can stand in another event than its first."""
    indexed = True

    def ids(self, data: dict[str, Any]) -> Iterator[Place]:
        for call in self._calls(data):
            if "id" in call:
                yield call, "id"

    def call_key(self, holder: dict[str, Any], data: dict[str, Any]) -> Any:
        """What tells the call of a place from others."""
        return holder.get("index")

    def later(self, data: dict[str, Any], key: Any) -> Place | None:
        """Where the id of call ``key`` could stand in a later event."""
        for call in self._calls(data):
            if call.get("index") == key and "id" not in call:
                return call, "id"
        return None

    def indices(self, data: dict[str, Any]) -> Iterator[Place]:
        for call in self._calls(data):
            if "index" in call:
                yield call, "index"

    def usages(self, data: dict[str, Any]) -> Iterator[Place]:
        if data.get("usage") is not None:
            yield data, "usage"

    def unfinish(self, data: dict[str, Any]) -> bool:
        """Take out how the reply ended. False: the event is to be left out as a whole."""
        for choice in data.get("choices") or []:
            if choice.get("finish_reason"):
                choice["finish_reason"] = None
        return True

    def is_final(self, data: dict[str, Any]) -> bool:
        return any(choice.get("finish_reason") for choice in data.get("choices") or [])

    def unknown(self) -> tuple[str, dict[str, Any]]:
        return "", {"object": "chat.completion.unheard_of"}

    def error(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "", body

    def _calls(self, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for choice in data.get("choices") or []:
            said = choice.get("delta") or choice.get("message") or {}
            yield from said.get("tool_calls") or []


class MistralPlaces(Places):
    """Each call comes whole, in one chunk."""

    late_ids = False

    def error(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "error", body


class ResponsesPlaces(Places):
    def ids(self, data: dict[str, Any]) -> Iterator[Place]:
        for item in self._items(data):
            if item.get("type") in ("function_call", "tool_search_call"):
                yield item, "call_id"

    def call_key(self, holder: dict[str, Any], data: dict[str, Any]) -> Any:
        return holder.get("id")

    def later(self, data: dict[str, Any], key: Any) -> Place | None:
        """``output_item.done`` and the whole response have the id again."""
        return None

    def indices(self, data: dict[str, Any]) -> Iterator[Place]:
        if "output_index" in data:
            yield data, "output_index"

    def usages(self, data: dict[str, Any]) -> Iterator[Place]:
        for holder in (data, data.get("response") or {}):
            if holder.get("usage") is not None:
                yield holder, "usage"

    def unfinish(self, data: dict[str, Any]) -> bool:
        if data.get("object") == "response":
            data["status"] = None
        return not self.is_final(data)

    def is_final(self, data: dict[str, Any]) -> bool:
        return data.get("type") in ("response.completed", "response.incomplete", "response.failed")

    def unknown(self) -> tuple[str, dict[str, Any]]:
        return "response.unheard_of", {"type": "response.unheard_of", "sequence_number": 0}

    def error(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        inner = body["error"]
        return "error", {
            "type": "error",
            "code": inner.get("code") or "server_error",
            "message": inner["message"],
            "param": None,
            "sequence_number": 0,
        }

    def _items(self, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if isinstance(data.get("item"), dict):
            yield data["item"]
        for holder in (data, data.get("response") or {}):
            yield from holder.get("output") or []


class AnthropicPlaces(Places):
    late_ids = False

    def ids(self, data: dict[str, Any]) -> Iterator[Place]:
        content = data.get("content")
        for block in [data.get("content_block"), *(content if isinstance(content, list) else [])]:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                yield block, "id"

    def indices(self, data: dict[str, Any]) -> Iterator[Place]:
        if "index" in data:
            yield data, "index"

    def usages(self, data: dict[str, Any]) -> Iterator[Place]:
        for holder in (data, data.get("message") or {}):
            if holder.get("usage") is not None:
                yield holder, "usage"

    def unfinish(self, data: dict[str, Any]) -> bool:
        for holder in (data, data.get("delta") or {}):
            if holder.get("stop_reason"):
                holder["stop_reason"] = None
        return True

    def is_final(self, data: dict[str, Any]) -> bool:
        return data.get("type") == "message_stop"

    def unknown(self) -> tuple[str, dict[str, Any]]:
        return "unheard_of", {"type": "unheard_of"}

    def error(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "error", body


class GeminiPlaces(Places):
    """Each call comes whole, in one part, and has no index."""

    late_ids = False
    indexed = False

    def ids(self, data: dict[str, Any]) -> Iterator[Place]:
        for candidate in data.get("candidates") or []:
            for part in (candidate.get("content") or {}).get("parts") or []:
                if isinstance(part.get("functionCall"), dict):
                    yield part["functionCall"], "id"

    def usages(self, data: dict[str, Any]) -> Iterator[Place]:
        if data.get("usageMetadata") is not None:
            yield data, "usageMetadata"

    def unfinish(self, data: dict[str, Any]) -> bool:
        for candidate in data.get("candidates") or []:
            candidate.pop("finishReason", None)
        return True

    def is_final(self, data: dict[str, Any]) -> bool:
        return any(candidate.get("finishReason") for candidate in data.get("candidates") or [])

    def unknown(self) -> tuple[str, dict[str, Any]]:
        return "", {"unheardOf": {}}


PLACES: dict[str, Places] = {
    "openai_chat": Places(),
    "compatible": Places(),
    "mistral": MistralPlaces(),
    "openai_responses": ResponsesPlaces(),
    "anthropic": AnthropicPlaces(),
    "gemini": GeminiPlaces(),
}
