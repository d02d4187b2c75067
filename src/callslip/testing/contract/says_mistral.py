"""What a model says, as Mistral sends it: like Chat Completions, with each call whole and ids of nine characters.

Mistral docs, "API > Chat completion"; that calls come as one chunk: github.com/dust-tt/dust/pull/4226. What a reasoning
model thinks is a chunk of the content, readable and not demanded back.
"""

from __future__ import annotations

from typing import Any

from callslip.testing.contract.argument_text import argument_text
from callslip.testing.contract.made_ids import made_id
from callslip.testing.contract.pieces import pieces
from callslip.testing.contract.says import Says

_CREATED = 1_790_000_000
_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def plain(said: Says, body: dict[str, Any]) -> dict[str, Any]:
    text = said.text + said.refusal
    content: Any = text
    if said.thinking:
        content = [_thinking(said.thinking), {"type": "text", "text": text}]
    message = {"role": "assistant", "content": content, "tool_calls": _calls(said) or None, "prefix": False}
    choice = {"index": 0, "message": message, "finish_reason": _finish(said)}
    return {**_head("chat.completion", body), "choices": [choice], "usage": _USAGE}


def events(said: Says, body: dict[str, Any]) -> list[tuple[str, dict[str, Any] | str]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": [_thinking(piece)]} for piece in pieces(said.thinking)]
    deltas += [{"content": piece} for piece in pieces(said.text + said.refusal)]
    last: dict[str, Any] = {"content": ""}
    if said.calls:
        last["tool_calls"] = _calls(said)
    head = _head("chat.completion.chunk", body)
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": last, "finish_reason": _finish(said)}], "usage": _USAGE})
    return [*(("", chunk) for chunk in chunks), ("", "[DONE]")]


def _head(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": made_id("", 32, "0123456789abcdef"),
        "object": kind,
        "created": _CREATED,
        "model": body.get("model", ""),
    }


def _thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _calls(said: Says) -> list[dict[str, Any]]:
    return [
        {
            "id": made_id("", 9) if call.id is None else call.id,
            "function": {"name": call.name, "arguments": argument_text(call.arguments)},
            "index": index,
        }
        for index, call in enumerate(said.calls)
    ]


def _finish(said: Says) -> str:
    return said.finish or ("tool_calls" if said.calls else "stop")
