"""What a model says, as the Responses API sends it: a ``response`` object, or the events that build it.

Shapes and order of events: OpenAI API reference, "The response object" and "Streaming events". A reply with
``Says.thinking`` begins with a reasoning item; its ``encrypted_content`` is there only if the request includes it.
"""

from __future__ import annotations

from typing import Any

from callslip.testing.contract.argument_text import argument_text
from callslip.testing.contract.loose import list_at, text_at
from callslip.testing.contract.made_ids import made_id
from callslip.testing.contract.opaque import Sealed, seal
from callslip.testing.contract.pieces import pieces
from callslip.testing.contract.says import Call, Says

SEARCH = "tool_search"
"""A call of this name is one of the API's own search, where the request offers that."""
_CREATED = 1_790_000_000
_HEX = "0123456789abcdef"
_USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 2},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 15,
}
_CUT = frozenset({"max_output_tokens", "content_filter"})


def response(said: Says, body: dict[str, Any]) -> dict[str, Any]:
    """The whole reply. It completes, unless ``finish`` is ``max_output_tokens``, ``content_filter`` or ``failed``."""
    status = "failed" if said.finish == "failed" else "incomplete" if said.finish in _CUT else "completed"
    return {
        "id": made_id("resp_", 48, _HEX),
        "object": "response",
        "created_at": _CREATED,
        "status": status,
        "error": {"code": "server_error", "message": "The model failed."} if status == "failed" else None,
        "incomplete_details": {"reason": said.finish} if status == "incomplete" else None,
        "instructions": body.get("instructions"),
        "model": body.get("model", ""),
        "output": _output(said, body),
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "usage": _USAGE,
        "metadata": {},
    }


def _output(said: Says, body: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.thinking:
        items.append(_reasoning(said.thinking, body))
    parts: list[dict[str, Any]] = []
    if said.text:
        parts.append({"type": "output_text", "text": said.text, "annotations": [], "logprobs": []})
    if said.refusal:
        parts.append({"type": "refusal", "refusal": said.refusal})
    if parts:
        items.append(
            {
                "id": made_id("msg_", 48, _HEX),
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": parts,
            }
        )
    searches = any(text_at(tool, "type") == "tool_search" for tool in list_at(body, "tools"))
    return items + [_search(call) if searches and call.name == SEARCH else _call(call) for call in said.calls]


def _call(call: Call) -> dict[str, Any]:
    return {
        "id": made_id("fc_", 48, _HEX),
        "type": "function_call",
        "status": "completed",
        "call_id": made_id("call_", 24) if call.id is None else call.id,
        "name": call.name,
        "arguments": argument_text(call.arguments),
    }


def _search(call: Call) -> dict[str, Any]:
    """Its arguments are an object (OpenAI docs, "Tool search" > "Client-executed tool search")."""
    return {
        "id": made_id("tsc_", 48, _HEX),
        "type": "tool_search_call",
        "status": "completed",
        "execution": "client",
        "call_id": made_id("call_", 24) if call.id is None else call.id,
        "arguments": call.arguments,
    }


def _reasoning(thinking: str, body: dict[str, Any]) -> dict[str, Any]:
    item: dict[str, Any] = {"id": made_id("rs_", 48, _HEX), "type": "reasoning", "summary": []}
    if (body.get("reasoning") or {}).get("summary"):
        item["summary"] = [{"type": "summary_text", "text": thinking}]
    if "reasoning.encrypted_content" in (body.get("include") or []):
        item["encrypted_content"] = seal(Sealed(item=item["id"], model=body.get("model", ""), text=thinking))
    return item


def events(whole: dict[str, Any]) -> list[tuple[str, dict[str, Any] | str]]:
    """The events that build ``whole``, numbered."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "error": None, "incomplete_details": None}
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(whole["output"]):
        told += _item_events(item, index)
    told.append({"type": f"response.{whole['status']}", "response": whole})
    return [(event["type"], {**event, "sequence_number": number}) for number, event in enumerate(told)]


def _item_events(item: dict[str, Any], index: int) -> list[dict[str, Any]]:
    place = {"item_id": item["id"], "output_index": index}
    inner: list[dict[str, Any]]
    if item["type"] == "reasoning":
        added = {**item, "summary": []}
        added.pop("encrypted_content", None)
        inner = [event for part in enumerate(item["summary"]) for event in _summary_events(part, place)]
    elif item["type"] == "message":
        added = {**item, "status": "in_progress", "content": []}
        inner = [event for part in enumerate(item["content"]) for event in _part_events(part, place)]
    elif item["type"] == "tool_search_call":  # which has no events of its own
        added, inner = {**item, "status": "in_progress", "arguments": {}}, []
    else:
        added = {**item, "status": "in_progress", "arguments": ""}
        kind = "response.function_call_arguments"
        inner = [{"type": f"{kind}.delta", **place, "delta": piece} for piece in pieces(item["arguments"])]
        inner.append({"type": f"{kind}.done", **place, "name": item["name"], "arguments": item["arguments"]})
    return [
        {"type": "response.output_item.added", "output_index": index, "item": added},
        *inner,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _summary_events(numbered: tuple[int, dict[str, Any]], place: dict[str, Any]) -> list[dict[str, Any]]:
    number, part = numbered
    here = {**place, "summary_index": number}
    kind = "response.reasoning_summary"
    return [
        {"type": f"{kind}_part.added", **here, "part": {**part, "text": ""}},
        *({"type": f"{kind}_text.delta", **here, "delta": piece} for piece in pieces(part["text"])),
        {"type": f"{kind}_text.done", **here, "text": part["text"]},
        {"type": f"{kind}_part.done", **here, "part": part},
    ]


def _part_events(numbered: tuple[int, dict[str, Any]], place: dict[str, Any]) -> list[dict[str, Any]]:
    number, part = numbered
    here = {**place, "content_index": number}
    field = "text" if part["type"] == "output_text" else "refusal"
    kind = "response.output_text" if field == "text" else "response.refusal"
    return [
        {"type": "response.content_part.added", **here, "part": {**part, field: ""}},
        *({"type": f"{kind}.delta", **here, "delta": piece} for piece in pieces(part[field])),
        {"type": f"{kind}.done", **here, field: part[field]},
        {"type": "response.content_part.done", **here, "part": part},
    ]
