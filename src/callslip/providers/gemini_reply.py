"""A reply of ``generateContent``, made neutral: its finish, its calls, its usage, and what has to go back.

Shared by the plain and the streamed path: a stream's chunks hold the parts of one reply, in order. Invariant: proposals
come only out of a reply that is known to be whole; any doubt makes none (WIRE-04, CALL-05).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import msgspec

from callslip.core import canon
from callslip.core.events.model_replied import Usage
from callslip.ports.model import Finish, Proposal, Reply
from callslip.providers.cost import priced
from callslip.providers.gemini_parts import CALL, SIGNED, digest_of
from callslip.providers.loose import as_count, as_list, as_object, as_text, id_in, join_text
from callslip.providers.offered import Offered
from callslip.providers.options import Price

_FILTERED = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"}
    | {"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}
)
"""Gemini API reference, "FinishReason"; what is neither here nor STOP nor MAX_TOKENS says that the reply is unusable
(MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL, TOO_MANY_TOOL_CALLS, MISSING_THOUGHT_SIGNATURE, OTHER) or is not known,
and counts as a cut."""
_CALL = frozenset({"functionCall", CALL})
_DATA = _CALL | {"text", SIGNED}
_TYPES: dict[str, type] = {"text": str, "thought": bool, "thoughtSignature": str}


class Arrived(msgspec.Struct, kw_only=True):
    """A reply as far as it has come."""

    parts: list[dict[str, Any]] = msgspec.field(default_factory=list)
    reason: str = ""
    """Why it ended; empty: "the model has not stopped generating" (Gemini API reference, "Candidate")."""
    blocked: bool = False
    """The prompt was refused, so there is no reply at all."""
    usage: dict[str, Any] = msgspec.field(default_factory=dict)
    model: str = ""

    def take(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """Note what stands beside the candidates; the first of them, where one is there."""
        self.model = self.model or as_text(body.get("modelVersion"))
        # Each chunk counts anew what it counts; what it leaves out stays.
        self.usage |= as_object(body.get("usageMetadata"))
        reason = as_text(as_object(body.get("promptFeedback")).get("blockReason"))
        self.blocked = self.blocked or reason not in {"", "BLOCK_REASON_UNSPECIFIED"}
        candidates = map(as_object, as_list(body.get("candidates")))
        return next((one for one in candidates if one.get("index") in (0, None)), None)

    def add(self, candidate: dict[str, Any]) -> list[dict[str, Any]]:
        """The parts that came with it."""
        came = [part for part in as_list(as_object(candidate.get("content")).get("parts")) if isinstance(part, dict)]
        self.parts += came
        self.reason = as_text(candidate.get("finishReason")) or self.reason
        return came


def plain_reply(body: dict[str, Any], offered: Offered, price: Price | None = None) -> Reply | None:
    """A whole reply that came in one piece; None when the JSON is no such reply."""
    if not any(name in body for name in ("candidates", "promptFeedback", "usageMetadata")):
        return None
    arrived = Arrived()
    candidate = arrived.take(body)
    if candidate is not None:
        arrived.add(candidate)
    return conclude(arrived, offered, price)


def conclude(arrived: Arrived, offered: Offered, price: Price | None, *, broken: bool = False) -> Reply:
    """The reply as it stands."""
    text = join_text(text_of(part) for part in arrived.parts)
    calls = [part["functionCall"] for part in arrived.parts if is_call(part)]
    finish = _finish(arrived, calls, has_text=bool(text.strip()), broken=broken)
    return Reply(
        text=canon.scrub(text),
        proposals=tuple(_proposal(call, offered) for call in calls) if finish == "calls" else (),
        finish=finish,
        usage=priced(usage_of(arrived.usage), price),
        model=arrived.model,
        kept=kept_of(arrived.parts) if finish in {"calls", "stop"} else (),
    )


def _finish(arrived: Arrived, calls: Sequence[dict[str, Any]], *, has_text: bool, broken: bool) -> Finish:
    if broken or any(_is_no_call(part.get("functionCall")) for part in arrived.parts):
        return "cut"
    if arrived.reason == "MAX_TOKENS":
        return "length"
    if arrived.reason in _FILTERED or arrived.blocked:
        return "filtered"
    if arrived.reason != "STOP":
        return "cut"
    if calls:
        return "calls"
    return "stop" if has_text else "empty"


def _is_no_call(call: Any) -> bool:
    """Whether a call is none, or in pieces. Only who asks for pieces gets them (Vertex AI docs,
    "streamFunctionCallArguments"), and nobody here does.
    """
    if not isinstance(call, dict):
        return call is not None
    return bool(call.get("willContinue") or call.get("partialArgs"))


def _proposal(call: dict[str, Any], offered: Offered) -> Proposal:
    args = call.get("args")
    if args is None:
        args = {}  # left out where a tool takes none
    elif not isinstance(args, dict | str):
        # A list or a number is kept as text, for the argument check to refuse it by name.
        args = json.dumps(args, ensure_ascii=False)
    return offered.proposal(as_text(call.get("name")), args, id_in(call))


def is_call(part: dict[str, Any]) -> bool:
    return isinstance(part.get("functionCall"), dict)


def text_of(part: dict[str, Any]) -> str:
    """The text of a part that is for the reader; a thought's is not."""
    return "" if part.get("thought") else as_text(part.get("text"))


def kept_of(parts: Sequence[dict[str, Any]]) -> tuple[Any, ...]:
    """The parts as they have to go back, calls replaced by their position; nothing where text and calls say it all.

    Signed parts are never joined with others, and go back even where their text is empty (Gemini API docs, "Thought
    signatures"). Pieces of unsigned text are one text.
    """
    kept: list[dict[str, Any]] = []
    calls, ids = 0, False
    for kind, run in itertools.groupby(parts, key=_kind):
        if kind in {"text", "thought"}:
            text = join_text(part["text"] for part in run)
            if text:
                kept.append({"text": text} if kind == "text" else {"text": text, "thought": True})
            continue
        for part in run:
            if kind == "call":
                kept.append({CALL: calls, **_signed(_sound(part, without=_DATA), part["functionCall"])})
                calls += 1
                ids = ids or bool(id_in(part["functionCall"]))
            elif any((rest := _sound(part, without=_CALL)).values()):
                kept.append(_whole(rest))
    plain = [{"text": part["text"]} for part in kept[:1] if part.keys() == {"text"}]
    plain += [{CALL: place} for place in range(calls)]
    return () if not _is_json(kept) or (kept == plain and not ids) else tuple(kept)


def _kind(part: dict[str, Any]) -> str:
    if is_call(part):
        return "call"
    if not part.keys() <= {"text", "thought"} or not isinstance(part.get("text"), str):
        return "other"
    return "thought" if part.get("thought") else "text"


def _sound(part: dict[str, Any], *, without: frozenset[str]) -> dict[str, Any]:
    """A part without what its own server would not take back."""
    return {
        name: value
        for name, value in part.items()
        if name not in without and isinstance(value, _TYPES.get(name, object))
    }


def _signed(rest: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    """What stands beside a call, and what the signature in it vouches for."""
    if not rest.get("thoughtSignature"):
        return {name: value for name, value in rest.items() if name != "thoughtSignature"}
    args = call.get("args")
    return {**rest, SIGNED: digest_of(as_text(call.get("name")), {} if args is None else args)}


def _whole(part: dict[str, Any]) -> dict[str, Any]:
    """A part of nothing but a signature is refused ("required oneof field 'data' must have one initialized field")."""
    return {"text": "", **part} if part.keys() <= {"thought", "thoughtSignature"} else part


def _is_json(kept: Sequence[dict[str, Any]]) -> bool:
    """Whether it could be sent back: Python reads a NaN out of a reply, and no server takes one."""
    try:
        json.dumps(kept, allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True


def usage_of(usage: dict[str, Any]) -> Usage:
    """Token counts; what is missing or no count is 0. Gemini counts thoughts beside the answer, and what its own tools
    read beside the prompt (Gemini API reference, "UsageMetadata").
    """
    thoughts = as_count(usage.get("thoughtsTokenCount"))
    return Usage(
        input_tokens=as_count(usage.get("promptTokenCount")) + as_count(usage.get("toolUsePromptTokenCount")),
        output_tokens=as_count(usage.get("candidatesTokenCount")) + thoughts,
        cached_tokens=as_count(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )
