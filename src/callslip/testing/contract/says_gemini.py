"""What a model says, as Gemini sends it: candidates of parts, each call whole in one part, numbers as doubles.

ai.google.dev/api/generate-content and …/gemini-api/docs/thought-signatures. Gemini 3 signs the first call of every
reply, or the last part of a reply without calls, whether or not its thoughts are shown; earlier models sign where
``Says.thinking`` is given.
"""

from __future__ import annotations

import json
from typing import Any

from callslip.testing.contract.gemini_models import demands_signatures
from callslip.testing.contract.loose import object_at
from callslip.testing.contract.made_ids import made_id
from callslip.testing.contract.pieces import pieces
from callslip.testing.contract.rules_gemini_turns import part_digest
from callslip.testing.contract.says import Call, Says
from callslip.testing.contract.signatures import Signed, sign

_PROMPT, _SAID = 10, 5
_BLOCKS = ("SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY")


def plain(said: Says, body: dict[str, Any], model: str) -> dict[str, Any]:
    """The reply in one piece."""
    if _blocked(said):
        return _block(said, model, made_id("", 22))
    thoughts = [{"text": said.thinking, "thought": True}] if _shows_thoughts(said, body) else []
    spoken = [{"text": said.text}] if said.text else []
    parts = [*thoughts, *_signed([*spoken, *_calls(said, model)], said, model)]
    return {**_chunk(parts, said, model, made_id("", 22), last=True), "usageMetadata": _usage(said, done=True)}


def events(said: Says, body: dict[str, Any], model: str) -> list[dict[str, Any]]:
    """The reply as the chunks of a stream."""
    response = made_id("", 22)
    if _blocked(said):
        return [_block(said, model, response)]
    batches: list[list[dict[str, Any]]] = []
    if _shows_thoughts(said, body):
        batches += [[{"text": piece, "thought": True}] for piece in pieces(said.thinking)]
    batches += [[{"text": piece}] for piece in pieces(said.text)]
    calls = _signed(_calls(said, model), said, model) if said.calls else []
    # The signature of a reply without calls comes last, with an empty text.
    batches += [[part] for part in calls or _signed([{"text": ""}], said, model)]
    batches = batches or [[]]
    chunks = []
    for place, parts in enumerate(batches):
        last = place == len(batches) - 1
        chunk = _chunk(parts, said, model, response, last=last)
        chunks.append({**chunk, "usageMetadata": _usage(said, done=last)})
    return chunks


def _chunk(parts: list[dict[str, Any]], said: Says, model: str, response: str, *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {
        "index": 0,
        "content": {"parts": parts, "role": "model"} if parts else {"role": "model"},
    }
    if last:
        candidate["finishReason"] = _finish(said)
        if said.refusal:
            candidate["finishMessage"] = said.refusal
    return {"candidates": [candidate], "modelVersion": model, "responseId": response}


def _block(said: Says, model: str, response: str) -> dict[str, Any]:
    """The prompt itself was refused: there is no candidate."""
    reason = said.finish if said.finish in _BLOCKS else "PROHIBITED_CONTENT"
    return {
        "promptFeedback": {"blockReason": reason},
        "usageMetadata": {"promptTokenCount": _PROMPT, "totalTokenCount": _PROMPT},
        "modelVersion": model,
        "responseId": response,
    }


def _blocked(said: Says) -> bool:
    return bool(said.refusal) and not said.text and not said.calls


def _shows_thoughts(said: Says, body: dict[str, Any]) -> bool:
    config = object_at(object_at(body, "generationConfig"), "thinkingConfig")
    return bool(said.thinking) and config.get("includeThoughts") is True


def _calls(said: Says, model: str) -> list[dict[str, Any]]:
    read = [(call, _arguments(call)) for call in said.calls]
    return [_call(call, arguments, model) for call, arguments in read if arguments is not None]


def _call(call: Call, arguments: dict[str, Any], model: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": call.name, "args": arguments}
    identity = made_id("", 8) if call.id is None and demands_signatures(model) else call.id
    return {"functionCall": made if identity is None else {"id": identity, **made}}


def _arguments(call: Call) -> dict[str, Any] | None:
    """As doubles. A text that is no object can't be sent: the vendor ends with MALFORMED_FUNCTION_CALL."""
    given: Any = call.arguments
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return None
    return {name: _double(value) for name, value in given.items()} if isinstance(given, dict) else None


def _double(value: Any) -> Any:
    """A number after it was a double and was written again: 2^53 + 1 has become 2^53."""
    if isinstance(value, dict):
        return {name: _double(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_double(inner) for inner in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        as_double = float(value)
        return int(as_double) if as_double.is_integer() and abs(as_double) < 1e17 else as_double
    return value


def _signed(parts: list[dict[str, Any]], said: Says, model: str) -> list[dict[str, Any]]:
    """With a signature on the first call, or else on the last part."""
    if not parts or not (said.thinking or (demands_signatures(model) and said.calls)):
        return [part for part in parts if part != {"text": ""}]
    place = next((number for number, part in enumerate(parts) if "functionCall" in part), len(parts) - 1)
    signature = sign(Signed(model=model, content=part_digest(parts[place])))
    return [{**part, "thoughtSignature": signature} if number == place else part for number, part in enumerate(parts)]


def _finish(said: Says) -> str:
    if said.finish:
        return said.finish
    if any(_arguments(call) is None for call in said.calls):
        return "MALFORMED_FUNCTION_CALL"
    return "SAFETY" if said.refusal else "STOP"


def _usage(said: Says, *, done: bool) -> dict[str, Any]:
    spent = _SAID if done else 1
    thought = 3 if said.thinking else 0
    usage: dict[str, Any] = {
        "promptTokenCount": _PROMPT,
        "candidatesTokenCount": spent,
        "totalTokenCount": _PROMPT + spent + thought,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": _PROMPT}],
    }
    return {**usage, "thoughtsTokenCount": thought} if thought else usage
