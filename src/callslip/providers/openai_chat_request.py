"""A neutral request as the JSON body of ``POST /chat/completions``.

The format is OpenAI's Chat Completions reference, narrowed to what the many servers that copy it agree on.
Invariants: each call in the history is followed at once by exactly one tool message, under one id that no other
call has (CALL-03, CALL-05, CALL-06); the same history always gives the same bytes, so prompt caches hold and a
replay sends what the first run sent.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from callslip.core import canon
from callslip.core.message import AssistantReply, CallMessage, Message, Notice, ResultMessage, ToolResults, UserText
from callslip.errors import StillWaiting, UsageError
from callslip.ports.model import Request, ToolView
from callslip.providers.aliases import CHAT, Aliases

LEGAL_ID = re.compile(r"[!-~]{1,40}")
"""Visible ASCII; OpenAI refuses longer ids ("Expected a string with maximum length 40")."""
EMPTY_RESULT = "(empty result)"
EMPTY_USER_TEXT = "(empty message)"
NOTICE = "[Notice from the runtime, not from the user]"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a body holds besides the conversation."""

    model: str
    parallel: bool | None = None
    """``parallel_tool_calls``; None leaves it to the server, as several models refuse the field."""


def aliases_of(request: Request) -> Aliases:
    """The wire names of all tools that are offered or stand in the history, unbound ones included."""
    offered = [tool.name for tool in request.tools]
    called = [call.tool for call in _calls(request.messages)]
    return Aliases([*offered, *called], CHAT)


def encode(body: dict[str, Any]) -> bytes:
    """The body as UTF-8. Lone surrogates, which have no UTF-8 form, become U+FFFD."""
    return canon.scrub(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


def body_of(request: Request, settings: Settings, aliases: Aliases) -> dict[str, Any]:
    """The whole body.

    Raises:
        StillWaiting: a call of the history has no result yet, so no provider would take the request.
        UsageError: a result without its call, or a second one for the same call.
    """
    body: dict[str, Any] = {"model": settings.model, "messages": messages_of(request, aliases)}
    if request.tools:
        body["tools"] = [_tool(tool, aliases) for tool in request.tools]
        body["tool_choice"] = request.tool_choice
        if settings.parallel is not None:
            body["parallel_tool_calls"] = settings.parallel
    if request.stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


def _tool(tool: ToolView, aliases: Aliases) -> dict[str, Any]:
    function: dict[str, Any] = {"name": aliases.wire(tool.name), "parameters": tool.input_schema}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def messages_of(request: Request, aliases: Aliases) -> list[dict[str, Any]]:
    """The conversation in legal order: results stand right after their calls, whatever came in between."""
    ids = wire_ids(_calls(request.messages))
    results = _results(request.messages, ids)
    wire: list[dict[str, Any]] = []
    if request.system:
        wire.append({"role": "system", "content": request.system})
    for message in request.messages:
        if isinstance(message, UserText):
            wire.append({"role": "user", "content": message.text or EMPTY_USER_TEXT})
        elif isinstance(message, Notice):
            # As the user's turn: many chat templates raise on a system message that isn't the first.
            wire.append({"role": "user", "content": f"{NOTICE}\n{message.text}"})
        elif isinstance(message, AssistantReply):
            wire.extend(_assistant(message, ids, aliases))
            wire.extend(_answer(call, ids, results) for call in message.calls)
    return wire


def _assistant(message: AssistantReply, ids: dict[str, str], aliases: Aliases) -> list[dict[str, Any]]:
    if not message.calls:
        # A reply that said nothing: strict servers refuse it, and leaving it out tells the model as much.
        return [{"role": "assistant", "content": message.text}] if message.text.strip() else []
    calls = [
        {
            "id": ids[call.call_id],
            "type": "function",
            "function": {"name": aliases.wire(call.tool), "arguments": argument_text(call.arguments)},
        }
        for call in message.calls
    ]
    # null, not "": Bedrock-backed servers refuse an empty text block, and some templates render "" as a text turn.
    return [{"role": "assistant", "content": message.text or None, "tool_calls": calls}]


def _answer(call: CallMessage, ids: dict[str, str], results: dict[str, ResultMessage]) -> dict[str, Any]:
    result = results.get(call.call_id)
    if result is None:
        raise StillWaiting(
            f"The history holds the call {call.call_id} of {call.tool!r} without a result. Nothing was sent. "
            "Ask the model again once every call of the step has been answered."
        )
    return {"role": "tool", "tool_call_id": ids[call.call_id], "content": result.content or EMPTY_RESULT}


def _calls(messages: Iterable[Message]) -> list[CallMessage]:
    return [call for message in messages if isinstance(message, AssistantReply) for call in message.calls]


def _results(messages: Sequence[Message], ids: dict[str, str]) -> dict[str, ResultMessage]:
    results: dict[str, ResultMessage] = {}
    for message in messages:
        for result in message.results if isinstance(message, ToolResults) else ():
            if result.call_id not in ids or result.call_id in results:
                fault = "a second result for" if result.call_id in results else "a result without"
                raise UsageError(
                    f"The history holds {fault} the call {result.call_id}. Nothing was sent. "
                    "Give back each call with exactly one result."
                )
            results[result.call_id] = result
    return results


def wire_ids(calls: Iterable[CallMessage]) -> dict[str, str]:
    """The id each call goes by, by ``call_id``.

    The provider's own where it is legal and no earlier call has it; else our call id. The first holder keeps a
    repeated id: what was sent once is never sent differently later.
    """
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for call in calls:
        legal = LEGAL_ID.fullmatch(call.provider_id) and call.provider_id not in taken
        ids[call.call_id] = call.provider_id if legal else _made_id(call.call_id, taken)
        taken.add(ids[call.call_id])
    return ids


def _made_id(call_id: str, taken: set[str]) -> str:
    made, attempt = call_id, 0
    while not LEGAL_ID.fullmatch(made) or made in taken:
        source = f"{call_id}\0{attempt}".encode("utf-8", "surrogatepass")
        made = "call_" + hashlib.sha256(source).hexdigest()[:24]
        attempt += 1
    return made


def argument_text(arguments: str | dict[str, Any]) -> str:
    """A call's arguments as the history shows them: always the text of one JSON object.

    The model's own text is kept to the letter where it is that. Where it isn't (cut, two objects, NaN), a strict
    server would refuse the whole conversation for one bad call, or fail inside its chat template, so the text
    stands in ``raw_arguments``: still readable for the model beside the error it got. Text that means no arguments
    is ``{}``.
    """
    if isinstance(arguments, dict):
        text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    else:
        text = arguments
    if text.strip() in {"", "null"}:
        return "{}"
    try:
        whole = isinstance(msgspec.json.decode(canon.scrub(text)), dict)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        whole = False
    return text if whole else json.dumps({"raw_arguments": text}, ensure_ascii=False)
