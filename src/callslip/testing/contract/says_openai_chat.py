"""What a model says, as Chat Completions sends it: one ``chat.completion``, or its chunks and ``[DONE]``.

The shapes are those of OpenAI's API reference, "The chat completion object" and "The chat completion chunk object". The
ids of calls are made up where the script gives none.
"""

from __future__ import annotations

from typing import Any

from callslip.testing.contract.argument_text import argument_text
from callslip.testing.contract.made_ids import made_id
from callslip.testing.contract.pieces import pieces
from callslip.testing.contract.says import Call, Says

CREATED = 1_790_000_000
_USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 2, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
}


def plain(said: Says, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": said.text or None,
        "refusal": said.refusal or None,
        "annotations": [],
    }
    if said.calls:
        message["tool_calls"] = [_call(call) for call in said.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(said)}
    return {**_head("chat.completion", body), "choices": [choice], "usage": _USAGE}


def events(said: Says, body: dict[str, Any]) -> list[tuple[str, dict[str, Any] | str]]:
    """Text in small pieces, then each call: its id and name first, its arguments in small pieces."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if said.calls else "", "refusal": None}]
    deltas += [{"content": piece} for piece in pieces(said.text)]
    deltas += [{"refusal": piece} for piece in pieces(said.refusal)]
    for index, call in enumerate(said.calls):
        whole = _call(call)
        arguments = whole["function"].pop("arguments")
        deltas.append({"tool_calls": [{"index": index, **whole, "function": {**whole["function"], "arguments": ""}}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces(arguments)]
    head = _head("chat.completion.chunk", body)
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None} for delta in deltas
    ]
    choices.append({"index": 0, "delta": {}, "logprobs": None, "finish_reason": _finish(said)})
    chunks: list[dict[str, Any]] = [{**head, "choices": [choice]} for choice in choices]
    if (body.get("stream_options") or {}).get("include_usage"):
        chunks = [{**chunk, "usage": None} for chunk in chunks]
        chunks.append({**head, "choices": [], "usage": _USAGE})
    return [*(("", chunk) for chunk in chunks), ("", "[DONE]")]


def _head(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": made_id("chatcmpl-", 29),
        "object": kind,
        "created": CREATED,
        "model": body.get("model", ""),
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
    }


def _call(call: Call) -> dict[str, Any]:
    call_id = made_id("call_", 24) if call.id is None else call.id
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": argument_text(call.arguments)},
    }


def _finish(said: Says) -> str:
    return said.finish or ("tool_calls" if said.calls else "stop")
