"""What a model said and what its calls came to, as parts of the history that Gemini takes back.

A reply of the very model that is asked goes back as it came: each part with its signature and in its place, only names,
ids and arguments of calls from the history (WIRE-05). Any other is rendered plainly, and the first of its calls bears
the vendor's stand-in for a signature; so does a call whose name or arguments are no longer those that were signed.

Ids: a call bears one only if this model gave it one, and then its response bears the same. Gemini demands its own ids
back since version 3 (Gemini API docs, "Function calling", of Gemini 3's function ids; "missing functionResponse.id",
github.com/router-for-me/CLIProxyAPI/issues/5602), and other servers of the same API know no such field ("Unknown name
"id" at … function_call", github.com/MoonshotAI/kimi-cli/pull/1582). Without ids, calls and responses pair by order.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from callslip.core.message import Attachment
from callslip.providers.attached import base64_of
from callslip.providers.call_ids import IdRule
from callslip.providers.history import Answered, ModelTurn
from callslip.providers.offered import Offered
from callslip.providers.sent_arguments import exact

IDS = IdRule(pattern=r"[!-~]{1,256}")
CALL = "call"
"""In a kept part: the position of the proposal that stands there."""
SIGNED = "signed"
"""Beside it, where the call is signed: a digest of the name and arguments that it came with."""
UNSIGNED = "skip_thought_signature_validator"
"""Stands for the signature of a call that another model made (Gemini API docs, "Thought signatures" > "FAQs")."""
SEEN = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf"})
"""Media types that are taken, in a function response too (Gemini API docs, "Function calling" > "Multimodal function
responses"). GIF is none of them.
"""


def model_parts(turn: ModelTurn, offered: Offered, sender: str, *, signed: bool) -> list[dict[str, Any]]:
    """The parts of a reply; never none. ``signed``: the model refuses a first call without a signature."""
    kept = kept_parts(turn, sender)
    if kept is None:
        parts: list[dict[str, Any]] = [{"text": turn.text}] if turn.text.strip() else []
        parts += [{"functionCall": _call(one, offered, with_id=False)} for one in turn.calls]
    else:
        parts = [_filled(part, turn, offered) for part in kept]
    first = next((part for part in parts if "functionCall" in part), None)
    if signed and first is not None and not first.get("thoughtSignature"):
        # Of parallel calls only the first one bears a signature.
        first["thoughtSignature"] = UNSIGNED
    return parts


def kept_parts(turn: ModelTurn, sender: str) -> list[dict[str, Any]] | None:
    """What the asked model itself said, if it was that one and the calls are still those."""
    if turn.kept is None or turn.kept.model != sender:
        return None
    parts = [part for part in turn.kept.items if isinstance(part, dict)]
    places = [part[CALL] for part in parts if CALL in part]
    if not parts or places != list(range(len(turn.calls))):
        return None
    return parts


def response_part(one: Answered, turn: ModelTurn, offered: Offered, sender: str, *, images: bool) -> dict[str, Any]:
    """A call's result. Its text is one string, so no number in it is read as a double and rounded."""
    response: dict[str, Any] = {}
    if kept_parts(turn, sender) is not None and one.call.provider_id:
        response["id"] = one.id
    response["name"] = offered.wire(one.call.tool)
    response["response"] = {"error" if one.result.is_error else "result": one.content}
    # No displayName and no {"$ref"}: github.com/googleapis/python-genai/issues/2792.
    parts = [inline(attachment) for attachment in one.result.attachments if images and attachment.media_type in SEEN]
    if parts:
        response["parts"] = parts
    return {"functionResponse": response}


def inline(attachment: Attachment) -> dict[str, Any]:
    """An image or a document as a part."""
    return {"inlineData": {"mimeType": attachment.media_type, "data": base64_of(attachment)}}


def _filled(part: dict[str, Any], turn: ModelTurn, offered: Offered) -> dict[str, Any]:
    if CALL not in part:
        return dict(part)
    rest = {name: value for name, value in part.items() if name not in {CALL, SIGNED}}
    filled = {"functionCall": _call(turn.calls[part[CALL]], offered, with_id=True), **rest}
    if part.get(SIGNED):
        arguments = offered.argument_object(turn.calls[part[CALL]].call)
        if digest_of(filled["functionCall"]["name"], arguments) == part[SIGNED]:
            # Its own numbers, which were doubles when they came.
            filled["functionCall"]["args"] = arguments
        else:
            filled.pop("thoughtSignature", None)
    return filled


def _call(one: Answered, offered: Offered, *, with_id: bool) -> dict[str, Any]:
    call: dict[str, Any] = {"id": one.id} if with_id and one.call.provider_id else {}
    # Numbers of args are doubles on the way (google.protobuf.Struct).
    return {**call, "name": offered.wire(one.call.tool), "args": exact(offered.argument_object(one.call))}


def digest_of(name: str, arguments: Any) -> str:
    """The same for equal arguments, in whatever order, and whether five is 5 or 5.0; "" for what is no JSON."""
    try:
        text = json.dumps([name, _numbers(arguments)], sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
