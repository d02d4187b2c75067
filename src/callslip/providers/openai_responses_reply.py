"""A reply in Responses form, made neutral: its finish, its calls, its usage, and what has to go back to the letter.

Shared by the plain and the streamed path, so both follow the same rules. Invariant: proposals come only out of a
reply that is known to be whole; any doubt makes none (WIRE-04, CALL-05). Shapes: OpenAI API reference, "The response
object".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from callslip.core import canon
from callslip.core.events.model_replied import Usage
from callslip.ports.model import Finish, Proposal, Reply
from callslip.providers.cost import priced
from callslip.providers.loose import as_count, as_list, as_object, as_text, id_in, join_text
from callslip.providers.offered import Offered
from callslip.providers.openai_responses_search import is_ours
from callslip.providers.options import Price
from callslip.providers.wire_format import BrokenOff

COMPLETED = "completed"
_PARTIAL: dict[str, Finish] = {"max_output_tokens": "length", "max_tokens": "length", "content_filter": "filtered"}
_ASKS_US = frozenset(
    {"apply_patch_call", "computer_call", "custom_tool_call", "local_shell_call", "mcp_approval_request", "shell_call"}
)
"""Items that want an answer from us, which nobody here can give, as we offer functions alone. Sent back without one
they would fail every later request, so they are not kept.
"""
_ORDINARY = {
    "message": frozenset({"id", "type", "role", "status", "content"}),
    "function_call": frozenset({"id", "type", "status", "call_id", "name", "arguments"}),
}


def plain_reply(body: dict[str, Any], offered: Offered, price: Price | None = None) -> Reply | None:
    """A whole reply that came in one piece; None when the JSON is no response.

    A missing status counts as completed here: the JSON is whole, so nothing was cut on the way.

    Raises:
        BrokenOff: the response failed.
    """
    status = as_text(body.get("status"))
    raise_if_failed(body, status)
    output = body.get("output")
    if not isinstance(output, list):
        return None
    return conclude(items_in(output), status or COMPLETED, body, offered=offered, price=price)


def raise_if_failed(response: dict[str, Any], status: str) -> None:
    """Raise what a failed response says of itself."""
    if status == "failed":
        raise BrokenOff(response.get("error") or "the response failed")


def conclude(
    items: Sequence[dict[str, Any]],
    status: str,
    response: dict[str, Any],
    *,
    offered: Offered,
    price: Price | None,
) -> Reply:
    """The reply. ``status`` is the response's; "" means that it never came. Usage and model are in ``response``."""
    # A search that was not offered is nobody's to answer, like the others that ask.
    calls = [item for item in items if is_call(item) and not (is_ours(item) and offered.loading is None)]
    text = text_of(items)
    finish = _finish(status, response, calls, has_text=bool(text.strip()))
    proposed = calls if finish == "calls" else ()
    return Reply(
        text=canon.scrub(text),
        proposals=tuple(_proposal(call, offered) for call in proposed),
        finish=finish,
        usage=priced(usage_of(response.get("usage")), price),
        model=as_text(response.get("model")),
        kept=kept_of(items, searches=offered.loading is not None) if finish in {"calls", "stop"} else (),
    )


def _proposal(call: dict[str, Any], offered: Offered) -> Proposal:
    call_id = id_in(call, "call_id")
    if is_ours(call):
        return offered.searched(arguments_of(call), call_id)
    return offered.proposal(as_text(call.get("name")), arguments_of(call), call_id)


def is_call(item: dict[str, Any]) -> bool:
    """Whether an item wants a result from us that we can give."""
    return item["type"] == "function_call" or is_ours(item)


def _finish(status: str, response: dict[str, Any], calls: Sequence[dict[str, Any]], *, has_text: bool) -> Finish:
    # Some servers say "completed" and, beside it, why it is not.
    reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
    if status == "incomplete" or (status == COMPLETED and reason):
        return _PARTIAL.get(reason, "cut")
    if status != COMPLETED or not all(is_whole(call) for call in calls):
        return "cut"
    if calls:
        return "calls"
    return "stop" if has_text else "empty"


def is_whole(item: dict[str, Any]) -> bool:
    """Whether an item came to its end; one that says nothing of it did."""
    return item.get("status") in (None, "", COMPLETED)


def items_in(output: Any) -> list[dict[str, Any]]:
    """The items of an output: what is an object with a type."""
    return [item for item in as_list(output) if isinstance(item, dict) and as_text(item.get("type"))]


def arguments_of(call: dict[str, Any]) -> str | dict[str, Any]:
    """As the model wrote them. An object is taken where a server sends one; anything else is refused later, as text."""
    arguments = call.get("arguments")
    if isinstance(arguments, dict):
        return arguments
    if isinstance(arguments, str):
        return join_text([arguments])
    try:
        return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be read)"


def text_of(items: Iterable[dict[str, Any]]) -> str:
    """All that was said to the user: several messages stand apart as paragraphs."""
    said = [message_text(item) for item in items if item["type"] == "message"]
    return "\n\n".join(text for text in said if text.strip())


def message_text(item: dict[str, Any]) -> str:
    """The text and refusals of one message."""
    content = item.get("content")
    if isinstance(content, str):
        return join_text([content])
    parts = map(as_object, as_list(content))
    return join_text(as_text(part.get("text")) + as_text(part.get("refusal")) for part in parts)


def kept_of(items: Sequence[dict[str, Any]], *, searches: bool = False) -> tuple[Any, ...]:
    """The items as they came, each call as its number and what else it has; nothing where text and calls say it all.

    Of a call, only what the history doesn't hold: its ids and arguments may have been redone there. ``searches``:
    whether the API's own search was offered, so that a call of it is one.
    """
    if _says_it_all(items):
        return ()
    kept: list[Any] = []
    calls = 0
    for item in items:
        if item["type"] == "function_call" or (searches and is_ours(item)):
            rest = {key: value for key, value in item.items() if key not in {"call_id", "name", "arguments"}}
            kept.append({"call": calls, "item": rest})
            calls += 1
        elif item["type"] not in _ASKS_US and not is_ours(item):
            kept.append(item)
    return tuple(kept)


def _says_it_all(items: Sequence[dict[str, Any]]) -> bool:
    """Whether one message and calls after it, with nothing more about them, is all there is."""
    kinds = [item["type"] for item in items]
    calls = kinds[1:] if kinds[:1] == ["message"] else kinds
    return all(kind == "function_call" for kind in calls) and all(_is_ordinary(item) for item in items)


def _is_ordinary(item: dict[str, Any]) -> bool:
    said = {key for key, value in item.items() if value not in (None, "", [])}
    parts = as_list(item.get("content"))
    return said <= _ORDINARY[item["type"]] and not any(as_object(part).get("refusal") for part in parts)


def usage_of(value: Any) -> Usage:
    """Token counts; what is missing or no count is 0."""
    usage = as_object(value)
    read, made = as_object(usage.get("input_tokens_details")), as_object(usage.get("output_tokens_details"))
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")),
        output_tokens=as_count(usage.get("output_tokens")),
        cached_tokens=as_count(read.get("cached_tokens")),
        cache_write_tokens=as_count(read.get("cache_write_tokens")),
        reasoning_tokens=as_count(made.get("reasoning_tokens")),
    )
