"""A neutral request as the JSON body of ``POST /chat/completions``.

The format is OpenAI's Chat Completions reference, narrowed to what the many servers that copy it agree on.
Invariants: each call in the history is followed at once by exactly one tool message, under one id that no other
call has (CALL-03, CALL-05, CALL-06); the same history always gives the same bytes, so prompt caches hold and a
replay sends what the first run sent.
"""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.ports.model import Request
from callslip.providers.aliases import CHAT
from callslip.providers.attached import data_url, introduced
from callslip.providers.call_ids import IdRule
from callslip.providers.history import ModelTurn, UserTurn, turns
from callslip.providers.offered import Offered, OfferedTool
from callslip.providers.options import Options
from callslip.schema.shape.dialect import COMPATIBLE, Dialect

IDS = IdRule(pattern=r"[!-~]{1,40}")
"""Visible ASCII; OpenAI refuses longer ids ("Expected a string with maximum length 40")."""
_EFFORTS = {"off": "none", "low": "low", "medium": "medium", "high": "high"}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a body holds besides the conversation."""

    model: str
    options: Options = Options()
    dialect: Dialect = COMPATIBLE
    own: bool = False
    """The server is OpenAI's own: it knows fields that others refuse, and no longer knows some that others want."""
    sender: str = ""
    """The model's whole name, by which what it said before is known."""


def offer(request: Request, settings: Settings) -> Offered:
    """The tools as this server is told of them."""
    return Offered(request, CHAT, settings.dialect, strict=settings.options.strict)


def body_of(request: Request, settings: Settings, offered: Offered) -> dict[str, Any]:
    """The whole body.

    Raises:
        StillWaiting: a call of the history has no result yet, so no provider would take the request.
        UsageError: a result without its call, or a second one for the same call.
    """
    options = settings.options
    body: dict[str, Any] = {"model": settings.model, "messages": messages_of(request, settings, offered)}
    if request.tools:
        body["tools"] = [_tool(tool, settings) for tool in offered.tools]
        body["tool_choice"] = _choice(request, offered)
        if options.parallel is not None:
            body["parallel_tool_calls"] = options.parallel
    if options.max_output_tokens is not None:
        # The newer name is the only one that OpenAI's reasoning models take, and most other servers know the older.
        body["max_completion_tokens" if settings.own else "max_tokens"] = options.max_output_tokens
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if options.effort:
        body["reasoning_effort"] = _EFFORTS[options.effort]
    if request.stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


def _choice(request: Request, offered: Offered) -> Any:
    if request.tool_choice == "required" and request.only:
        return {"type": "function", "function": {"name": offered.wire(request.only)}}
    return request.tool_choice


def _tool(tool: OfferedTool, settings: Settings) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.wire, "parameters": tool.shaped.schema}
    if tool.description:
        function["description"] = tool.description
    if settings.dialect.strict:
        function["strict"] = tool.shaped.strict
    return {"type": "function", "function": function}


def messages_of(request: Request, settings: Settings, offered: Offered) -> list[dict[str, Any]]:
    """The conversation in legal order: results stand right after their calls, whatever came in between."""
    wire: list[dict[str, Any]] = []
    if request.system.strip():
        wire.append({"role": "system", "content": request.system})
    conversation = turns(request.messages, IDS)
    # Reasoning is wanted back within the turn it belongs to, and refused or wasted in later ones (DeepSeek API docs).
    latest = max((place for place, turn in enumerate(conversation) if isinstance(turn, UserTurn)), default=-1)
    for place, turn in enumerate(conversation):
        if isinstance(turn, UserTurn):
            wire.append({"role": "user", "content": turn.text})
            continue
        wire.append(_assistant(turn, settings, offered, with_kept=place > latest))
        wire += [{"role": "tool", "tool_call_id": one.id, "content": one.content} for one in turn.calls]
        wire += _attachments(turn, settings)
    return wire


def _assistant(turn: ModelTurn, settings: Settings, offered: Offered, *, with_kept: bool) -> dict[str, Any]:
    kept = turn.kept.items if with_kept and turn.kept is not None and turn.kept.model == settings.sender else ()
    # What servers put beside content and calls and want back: reasoning_content and the like.
    fields = {name: value for one in kept if isinstance(one, dict) for name, value in one.items()}
    if not turn.calls:
        return {"role": "assistant", "content": turn.text, **fields}
    calls = [
        {
            "id": one.id,
            "type": "function",
            "function": {"name": offered.wire(one.call.tool), "arguments": offered.argument_text(one.call)},
        }
        for one in turn.calls
    ]
    # null, not "": Bedrock-backed servers refuse an empty text block, and some templates render "" as a text turn.
    return {"role": "assistant", "content": turn.text or None, "tool_calls": calls, **fields}


def _attachments(turn: ModelTurn, settings: Settings) -> list[dict[str, Any]]:
    """What came of the calls besides text, after all tool messages: those hold text alone, and nothing may stand
    between them (OpenAI API reference, Chat > Create a chat completion > messages).
    """
    if not settings.options.images:
        return []
    parts: list[dict[str, Any]] = []
    for call in turn.calls:
        for one in call.result.attachments:
            if not one.is_image and not settings.own:
                continue  # a file part is OpenAI's own, and the result's text names what is left out
            parts.append({"type": "text", "text": introduced(one, call.call.tool)})
            if one.is_image:
                parts.append({"type": "image_url", "image_url": {"url": data_url(one)}})
            else:
                parts.append({"type": "file", "file": {"filename": one.name or "file", "file_data": data_url(one)}})
    return [{"role": "user", "content": parts}] if parts else []
