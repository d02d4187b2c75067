"""What a model says, as Anthropic sends it: blocks, and a stream that opens, fills and closes each of them in turn.

Anthropic docs, "Streaming Messages" and "Handling stop reasons"; the order of the first events and ``caller`` are as
probed on 2026-09-29 (github.com/aakshintala/fiber/issues/132).
"""

from __future__ import annotations

import json
from typing import Any

from callslip.testing.contract.argument_text import argument_text
from callslip.testing.contract.loose import object_at
from callslip.testing.contract.made_ids import made_id
from callslip.testing.contract.pieces import pieces
from callslip.testing.contract.prefix_anthropic import before_reply
from callslip.testing.contract.rules_anthropic_thinking import content_digest
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.signatures import Signed, sign

REDACTED = (
    "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_46C9A13E193C177646C7398A98432ECCCE4C1253D5E2D82641AC0E52CC2876CB"
)
"""Thinking that holds this comes as a ``redacted_thinking`` block: the vendor's own word for trying it out."""
_INPUT = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2}


def message(said: Says, body: dict[str, Any]) -> dict[str, Any]:
    """The reply in one piece."""
    return {
        **_head(body),
        "content": blocks(said, body),
        "stop_reason": _reason(said),
        "stop_sequence": _sequence(said, body),
        "stop_details": _details(said),
        "usage": {**_INPUT, "output_tokens": 5, "service_tier": "standard"},
    }


def blocks(said: Says, body: dict[str, Any]) -> list[dict[str, Any]]:
    """What was thought, then the text, then the calls."""
    made: list[dict[str, Any]] = []
    if said.thinking:
        made.append(_thought(said.thinking, body))
    if said.text:
        made.append({"type": "text", "text": said.text})
    return [*made, *(_call(call) for call in said.calls)]


def events(made: dict[str, Any], said: Says) -> list[tuple[str, dict[str, Any]]]:
    """The same reply as a stream. ``made``: the message, so that both forms have the same ids and signatures."""
    opening = {
        **made,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": {**made["usage"], "output_tokens": 1},
    }
    sent: list[dict[str, Any]] = [{"type": "message_start", "message": opening}]
    calls = iter(said.calls)
    for index, block in enumerate(made["content"]):
        sent.append({"type": "content_block_start", "index": index, "content_block": _hollow(block)})
        if index == 0:
            sent.append({"type": "ping"})
        deltas = _deltas(block, next(calls) if block["type"] == "tool_use" else None)
        sent += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        sent.append({"type": "content_block_stop", "index": index})
    if not made["content"]:
        sent.append({"type": "ping"})
    ending = {name: made[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    sent.append({"type": "message_delta", "delta": ending, "usage": {**_INPUT, "output_tokens": 5}})
    sent.append({"type": "message_stop"})
    return [(event["type"], event) for event in sent]


def _head(body: dict[str, Any]) -> dict[str, Any]:
    model = body.get("model")
    return {"id": made_id("msg_01", 22), "type": "message", "role": "assistant", "model": model or "claude"}


def _thought(text: str, body: dict[str, Any]) -> dict[str, Any]:
    shown = "" if object_at(body, "thinking").get("display") == "omitted" else text
    block: dict[str, Any] = {"type": "thinking", "thinking": shown}
    if REDACTED in text:
        block = {"type": "redacted_thinking"}
    before = before_reply(body)
    seal = sign(
        Signed(
            model=str(body.get("model")),
            content=content_digest(block),
            prefix=before.prefix,
            previous=before.previous,
        )
    )
    return {**block, ("data" if block["type"] == "redacted_thinking" else "signature"): seal}


def _call(call: Call) -> dict[str, Any]:
    identity = made_id("toolu_01", 22) if call.id is None else call.id
    return {
        "type": "tool_use",
        "id": identity,
        "name": call.name,
        "input": _input(call),
        "caller": {"type": "direct"},
    }


def _input(call: Call) -> dict[str, Any]:
    """An object, which the vendor always sends; what is no object, as after a cut, is an empty one."""
    if not isinstance(call.arguments, str):
        return call.arguments
    try:
        given = json.loads(call.arguments)
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _hollow(block: dict[str, Any]) -> dict[str, Any]:
    """A block as it stands before its deltas."""
    empty: dict[str, dict[str, Any]] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    return {**block, **empty.get(block["type"], {})}


def _deltas(block: dict[str, Any], call: Call | None) -> list[dict[str, Any]]:
    if block["type"] == "text":
        return [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    if block["type"] == "thinking":
        thought = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
        return [*thought, {"type": "signature_delta", "signature": block["signature"]}]
    if call is None:  # redacted thinking comes whole
        return []
    # The first delta is empty, as the vendor sends it; a call without arguments has no other.
    given = "" if call.arguments in ({}, "") else argument_text(call.arguments)
    return [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(given))]


def _reason(said: Says) -> str:
    if said.finish:
        return said.finish
    if said.refusal:
        return "refusal"
    return "tool_use" if said.calls else "end_turn"


def _sequence(said: Says, body: dict[str, Any]) -> str | None:
    stops = body.get("stop_sequences")
    return stops[0] if said.finish == "stop_sequence" and isinstance(stops, list) and stops else None


def _details(said: Says) -> dict[str, Any] | None:
    if not said.refusal:
        return None
    return {"type": "refusal", "category": None, "explanation": said.refusal}
