"""A reply of the Messages API, made neutral: its finish, its calls, its usage, and what has to go back as it came.

Shared by the plain and the streamed path, so both follow the same rules. Invariant: proposals come only out of a
reply that is known to be whole; any doubt makes none (WIRE-04, CALL-05).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from callslip.core import canon
from callslip.core.events.model_replied import Usage
from callslip.ports.model import Finish, Reply
from callslip.providers.cost import priced
from callslip.providers.loose import as_count, as_object, as_text, id_in, join_text
from callslip.providers.offered import Offered
from callslip.providers.options import Price
from callslip.providers.wire_format import BrokenOff

CALL = "tool_use"
_WHOLE = frozenset({"end_turn", "tool_use", "stop_sequence"})
"""Reasons that say the reply came to its end. ``pause_turn`` is none: it means that the rest is still to come, and only
comes of tools that the vendor runs, which are never offered here. One that isn't known counts as a cut."""
_PARTIAL: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}


def conclude(
    content: Sequence[dict[str, Any]],
    reason: str,
    *,
    offered: Offered,
    usage: Usage,
    model: str,
    explanation: str = "",
) -> Reply:
    """The reply. ``content``: its blocks, where a call's ``input`` may still be text. ``reason``: the vendor's stop
    reason; empty means that it never came, or that something is missing. ``explanation``: why it refused.
    """
    calls = [block for block in content if block.get("type") == CALL]
    text = canon.scrub(text_of(content))
    finish = finish_of(reason, has_calls=bool(calls), has_text=bool(text.strip()))
    if finish == "filtered" and not text.strip():
        text = canon.scrub(explanation)
    whole = calls if finish == "calls" else ()
    return Reply(
        text=text,
        proposals=tuple(
            offered.proposal(as_text(call.get("name")), arguments_of(call.get("input")), id_in(call)) for call in whole
        ),
        finish=finish,
        usage=usage,
        model=model,
        kept=kept_of(content) if finish in {"calls", "stop"} else (),
    )


def finish_of(reason: str, *, has_calls: bool, has_text: bool) -> Finish:
    """What the reason means, given what came. "end_turn" beside calls is a call: servers that copied the API say so."""
    if reason not in _WHOLE:
        return _PARTIAL.get(reason, "cut")
    if has_calls:
        return "calls"
    return "stop" if has_text else "empty"


def is_partial(reason: str) -> bool:
    """Whether the reason itself says that there is less than there should be."""
    return reason in _PARTIAL


def arguments_of(given: Any) -> str | dict[str, Any]:
    """A call's arguments. What is neither object nor text is kept as text, for the argument check to refuse it."""
    if isinstance(given, dict | str):
        return given
    return "" if given is None else written(given)


def written(value: Any) -> str:
    """A value as text; one that is nested deeper than can be written becomes text that no reading takes for JSON."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be written down)"


def text_of(content: Iterable[dict[str, Any]]) -> str:
    """All that was said, thinking apart."""
    return join_text(as_text(block.get("text")) for block in content if block.get("type") == "text")


def kept_of(content: Sequence[dict[str, Any]]) -> tuple[Any, ...]:
    """The blocks in their order, thinking to the letter; nothing, where text before calls says the same.

    Calls are only marked, since their ids and arguments are the history's. What would be refused is left out.
    """
    kept: list[Any] = []
    number = 0
    for block in content:
        kind = block.get("type")
        if kind == CALL:
            kept.append({"type": CALL, "call": number})
            number += 1
        elif kind == "text":
            kept.append({"type": "text", "text": as_text(block.get("text"))})
        elif _goes_back(block):
            kept.append(block)
    kinds = [block.get("type") for block in kept if not is_blank(block)]
    return () if kinds in ([CALL] * number, ["text", *[CALL] * number]) else tuple(kept)


def _goes_back(block: dict[str, Any]) -> bool:
    """Whether a block of another kind would be taken back: one without its seal is not. Servers that copied the API
    send thinking that never had a signature.
    """
    kind = block.get("type")
    if kind == "thinking":
        return isinstance(block.get("thinking"), str) and as_text(block.get("signature", "none")) != ""
    if kind == "redacted_thinking":
        return as_text(block.get("data")) != ""
    return as_text(kind) != ""


def is_blank(block: dict[str, Any]) -> bool:
    """Whether a block is text that says nothing. The vendor sends such and refuses them in a request, where they stand
    for themselves (github.com/LibreChat-AI/agents/pull/124).
    """
    return block.get("type") == "text" and not as_text(block.get("text")).strip()


def plain_reply(body: dict[str, Any], offered: Offered, price: Price | None = None) -> Reply | None:
    """A whole reply that came in one piece; None when the JSON is no message.

    A missing stop reason counts as the end here: the JSON is whole, so nothing was cut on the way.

    Raises:
        BrokenOff: it is an error.
    """
    if body.get("type") == "error":
        raise BrokenOff(body.get("error") or body)
    content = body.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return None
    reason = body.get("stop_reason")
    return conclude(
        [block for block in content if isinstance(block, dict)],
        as_text(reason) or ("" if reason else "end_turn"),
        offered=offered,
        usage=priced(usage_of(as_object(body.get("usage"))), price),
        model=as_text(body.get("model")),
        explanation=explanation_in(body),
    )


def explanation_in(holder: dict[str, Any]) -> str:
    """Why a reply was refused, where the vendor says so."""
    return as_text(as_object(holder.get("stop_details")).get("explanation"))


def usage_of(usage: dict[str, Any]) -> Usage:
    """Token counts; what is missing or no count is 0. Anthropic's ``input_tokens`` leave out what the cache had part in
    (Anthropic docs, "Prompt caching > Tracking cache performance").
    """
    cached, written = as_count(usage.get("cache_read_input_tokens")), as_count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")) + cached + written,
        output_tokens=as_count(usage.get("output_tokens")),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=as_count(as_object(usage.get("output_tokens_details")).get("thinking_tokens")),
    )
