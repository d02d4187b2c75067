"""A reply in Chat Completions form, made neutral: its finish, its calls, its usage.

Shared by the plain and the streamed path, so both follow the same rules. Invariant: proposals come only out of a
reply that is known to be whole; any doubt makes none (WIRE-04, CALL-05).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from callslip.core import canon
from callslip.core.events.model_replied import Usage
from callslip.ports.model import Finish, Reply
from callslip.providers.cost import priced
from callslip.providers.loose import as_count, as_list, as_object, as_text, id_in, join_text
from callslip.providers.offered import Offered
from callslip.providers.options import Price

_WHOLE = frozenset(
    {"stop", "stop_sequence", "eos", "eos_token", "end", "end_turn", "complete", "completed"}
    | {"tool_calls", "tool_call", "tool_use", "function_call"}
)
"""Reasons, in lower case, that say the reply came to its end. A reason that isn't known counts as a cut: it may
well mean one, and to ask again costs less than to act on half a call."""
_PARTIAL: dict[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "content_filter": "filtered",
    "content_filtered": "filtered",
    "safety": "filtered",
}


KEPT_FIELDS = ("reasoning_content", "reasoning_details")


class CallParts:
    """A call while it is put together."""

    __slots__ = ("index", "name", "objects", "pieces", "provider_id")

    def __init__(self, index: int | None = None, provider_id: str = "") -> None:
        self.index = index
        self.provider_id = provider_id
        self.name = ""
        self.pieces: list[str] = []
        self.objects: list[dict[str, Any]] = []

    @property
    def has_arguments(self) -> bool:
        return bool(self.pieces or self.objects)

    def add_arguments(self, value: Any) -> None:
        """A fragment of text, or an object where the server sends the arguments whole."""
        if isinstance(value, dict):
            self.objects.append(value)
        elif isinstance(value, str):
            if value:
                self.pieces.append(value)
        elif value is not None:
            # A list or a number is kept as text, for the argument check to refuse it by name.
            self.pieces.append(json.dumps(value, ensure_ascii=False))

    def arguments(self) -> str | dict[str, Any]:
        if len(self.objects) == 1 and not self.pieces:
            return self.objects[0]
        # More than one value for one call has no single reading: side by side they are refused as concatenated.
        whole = [*self.pieces, *(json.dumps(value, ensure_ascii=False) for value in self.objects)]
        return join_text(whole)


def conclude(
    text: str,
    calls: Sequence[CallParts],
    reason: str | None,
    *,
    offered: Offered,
    usage: Usage,
    model: str,
    kept: tuple[Any, ...] = (),
) -> Reply:
    """The reply. ``reason`` is the provider's finish reason; None means that it never came."""
    finish = finish_of(reason, has_calls=bool(calls), has_text=bool(text.strip()))
    whole = calls if finish == "calls" else ()
    return Reply(
        text=canon.scrub(text),
        proposals=tuple(offered.proposal(call.name, call.arguments(), call.provider_id) for call in whole),
        finish=finish,
        usage=usage,
        model=model,
        kept=kept if finish in {"calls", "stop"} else (),
    )


def finish_of(reason: str | None, *, has_calls: bool, has_text: bool) -> Finish:
    """What the reason means, given what came. "stop" beside calls is a call: several servers say so."""
    reason = (reason or "").lower()
    if reason not in _WHOLE:
        return _PARTIAL.get(reason, "cut")
    if has_calls:
        return "calls"
    return "stop" if has_text else "empty"


def plain_reply(body: dict[str, Any], offered: Offered, price: Price | None = None) -> Reply | None:
    """A whole reply that came in one piece; None when the JSON is no chat completion.

    A missing finish reason counts as "stop" here: the JSON is whole, so nothing was cut on the way.
    """
    choices = body.get("choices")
    if not isinstance(choices, list):
        return None
    choice = as_object(choices[0]) if choices else {}
    message = as_object(choice.get("message"))
    calls = [_whole_call(as_object(item)) for item in as_list(message.get("tool_calls"))]
    reason = choice.get("finish_reason")
    return conclude(
        text_of(message),
        calls,
        reason if isinstance(reason, str) and reason else "stop",
        offered=offered,
        usage=priced(usage_of(body.get("usage")), price),
        model=as_text(body.get("model")),
        kept=kept_of(message),
    )


def _whole_call(item: dict[str, Any]) -> CallParts:
    function = as_object(item.get("function"))
    call = CallParts(provider_id=id_in(item))
    call.name = as_text(function.get("name"))
    call.add_arguments(function.get("arguments"))
    return call


def text_of(message: dict[str, Any]) -> str:
    """The text of a message or delta: its content, as text or text parts, and its refusal."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else [as_object(part).get("text") for part in as_list(content)]
    return "".join(part for part in (*parts, message.get("refusal")) if isinstance(part, str))


def kept_of(message: dict[str, Any]) -> tuple[Any, ...]:
    """What stands beside text and calls and is wanted back by those who sent it: the reasoning of models whose servers
    keep none (DeepSeek API docs, "Thinking mode"; OpenRouter docs, "Reasoning tokens").
    """
    fields = {name: message[name] for name in KEPT_FIELDS if message.get(name)}
    return (fields,) if fields else ()


def usage_of(value: Any) -> Usage:
    """Token counts; what is missing or no count is 0."""
    usage = as_object(value)
    read, made = as_object(usage.get("prompt_tokens_details")), as_object(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=as_count(usage.get("prompt_tokens")),
        output_tokens=as_count(usage.get("completion_tokens")),
        cached_tokens=as_count(read.get("cached_tokens")),
        reasoning_tokens=as_count(made.get("reasoning_tokens")),
        cost_micros=_micros(usage.get("cost")),
    )


def _micros(cost: Any) -> int | None:
    """OpenRouter says what a reply cost, in dollars."""
    number = isinstance(cost, int | float) and not isinstance(cost, bool)
    return round(cost * 1e6) if number and 0 <= cost < 1e6 else None
