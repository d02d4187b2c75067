"""The Responses API's tool search, run by us: the tool, the model's call of it, and the output that loads the found.

OpenAI docs, "Tool search" > "Client-executed tool search", as of 2026: the search is a tool without a name; the model's
call is an item of its own, with its arguments as an object; the output holds the definitions of the tools that can be
called from then on, and no text. What is not found yet is not sent at all. Definitions are put at the end of the
context, so what was cached holds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from callslip.core.message import AssistantReply
from callslip.providers.history import Answered
from callslip.providers.loose import as_object
from callslip.providers.offered import Offered, OfferedTool

SEARCH_CALL = "tool_search_call"
_VERSION = re.compile(r"(?:.*/)?(?:ft:)?gpt-(\d+)(?:\.(\d+))?(?!\d)")
_FIRST = (5, 4)
"""OpenAI docs, "Tool search": "Only gpt-5.4 and later models support tool_search"."""


def knows_search(model: str) -> bool:
    """Whether the model is known to search. ``gpt-5.4-nano`` is new enough and refuses: "Tool 'tool_search' is not
    supported with gpt-5.4-nano" (github.com/openclaw/openclaw/pull/85819).
    """
    said = _VERSION.match(model)
    return said is not None and (int(said[1]), int(said[2] or 0)) >= _FIRST and "-nano" not in model


def is_ours(item: dict[str, Any]) -> bool:
    """Whether an item is a search that waits for us, and not one that OpenAI ran itself."""
    return item.get("type") == SEARCH_CALL and item.get("execution") != "server"


def is_mark(one: Any) -> bool:
    """Whether a kept item stands for a call: it says which, and what else the call's item had."""
    return isinstance(one, dict) and "type" not in one and isinstance(one.get("call"), int)


def marks_all(kept: Sequence[Any], calls: int) -> bool:
    """Whether kept items and calls belong together: each call has its mark, in order."""
    return bool(kept) and [one["call"] for one in kept if is_mark(one)] == list(range(calls))


def searches_of(reply: AssistantReply, sender: str) -> list[str]:
    """The calls of a reply, by ``call_id``, that go back as searches: those that this very model made so."""
    kept = reply.kept.items if reply.kept is not None and reply.kept.model == sender else ()
    if not marks_all(kept, len(reply.calls)):
        return []
    return [reply.calls[one["call"]].call_id for one in kept if is_mark(one) and is_ours(as_object(one.get("item")))]


def function_of(tool: OfferedTool) -> dict[str, Any]:
    """The definition of a tool."""
    made: dict[str, Any] = {"type": "function", "name": tool.wire}
    if tool.description:
        made["description"] = tool.description
    made["parameters"] = tool.shaped.schema
    # Always said: where it is left out, this API takes it to be on.
    made["strict"] = tool.shaped.strict
    return made


def search_of(tool: OfferedTool) -> dict[str, Any]:
    """The definition of the tool that searches."""
    made: dict[str, Any] = {"type": "tool_search", "execution": "client"}
    if tool.description:
        made["description"] = tool.description
    return made | {"parameters": tool.shaped.schema}


def call_of(item: dict[str, Any], one: Answered, offered: Offered) -> dict[str, Any]:
    """A search as the model made it. ``item``: what else its item had."""
    rest = {name: value for name, value in item.items() if value is not None}
    return rest | {
        "type": SEARCH_CALL,
        "execution": "client",
        "call_id": one.id,
        "arguments": offered.argument_object(one.call),
    }


def output_of(one: Answered, offered: Offered) -> dict[str, Any]:
    """What a search found, which may be nothing."""
    tools = [function_of(offered.named[name]) | {"defer_loading": True} for name in offered.loads(one.call.call_id)]
    return {
        "type": "tool_search_output",
        "execution": "client",
        "call_id": one.id,
        "status": "completed",
        "tools": tools,
    }
