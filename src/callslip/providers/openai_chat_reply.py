"""A reply in Chat Completions form, made neutral: its finish, its calls, its usage.

Shared by the plain and the streamed path, so both follow the same rules. Invariant: proposals come only out of a
reply that is known to be whole; any doubt makes none (WIRE-04, CALL-05).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from callslip.core import canon
from callslip.core.events.model_replied import Usage
from callslip.ports.model import Finish, Proposal, Reply
from callslip.providers.aliases import Aliases

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
    aliases: Aliases,
    usage: Usage,
    model: str,
) -> Reply:
    """The reply. ``reason`` is the provider's finish reason; None means that it never came."""
    finish = finish_of(reason, has_calls=bool(calls), has_text=bool(text.strip()))
    kept = calls if finish == "calls" else ()
    return Reply(
        text=canon.scrub(text),
        proposals=tuple(_proposal(call, aliases) for call in kept),
        finish=finish,
        usage=usage,
        model=model,
    )


def finish_of(reason: str | None, *, has_calls: bool, has_text: bool) -> Finish:
    """What the reason means, given what came. "stop" beside calls is a call: several servers say so."""
    reason = (reason or "").lower()
    if reason not in _WHOLE:
        return _PARTIAL.get(reason, "cut")
    if has_calls:
        return "calls"
    return "stop" if has_text else "empty"


def _proposal(call: CallParts, aliases: Aliases) -> Proposal:
    tool = aliases.tool(call.name)
    return Proposal(tool=call.name if tool is None else tool, arguments=call.arguments(), provider_id=call.provider_id)


def plain_reply(body: dict[str, Any], aliases: Aliases) -> Reply | None:
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
        aliases=aliases,
        usage=usage_of(body.get("usage")),
        model=as_text(body.get("model")),
    )


def _whole_call(item: dict[str, Any]) -> CallParts:
    function = as_object(item.get("function"))
    call = CallParts(provider_id=id_of(item))
    call.name = as_text(function.get("name"))
    call.add_arguments(function.get("arguments"))
    return call


def id_of(item: dict[str, Any]) -> str:
    """The provider's id of a call, exactly; "" where it is missing, blank or no text."""
    provider_id = as_text(item.get("id"))
    return provider_id if provider_id.strip() else ""


def text_of(message: dict[str, Any]) -> str:
    """The text of a message or delta: its content, as text or text parts, and its refusal."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else [as_object(part).get("text") for part in as_list(content)]
    return "".join(part for part in (*parts, message.get("refusal")) if isinstance(part, str))


def usage_of(value: Any) -> Usage:
    """Token counts; what is missing or no count is 0."""
    usage = as_object(value)
    details = as_object(usage.get("prompt_tokens_details"))
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")),
    )


def join_text(pieces: Iterable[str]) -> str:
    """The pieces as one text. Halves of a surrogate pair that came in two pieces become the one character."""
    text = "".join(pieces)
    if not canon.has_surrogate(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
