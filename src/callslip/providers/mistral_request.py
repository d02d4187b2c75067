"""A neutral request as the JSON body of Mistral's ``POST /chat/completions``.

Close to Chat Completions, and stricter (Mistral docs, "API > Chat completion"): fields it does not know are refused
with 422 ("Extra inputs are not permitted", github.com/charmbracelet/crush/issues/1590), ids of calls have exactly nine
letters and digits, and after a tool message only another one or the assistant may speak. Invariants: each call is
followed at once by its result under the same id, and the same history always gives the same bytes.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from callslip.core.media import PDF
from callslip.ports.model import Request
from callslip.providers.aliases import CHAT
from callslip.providers.attached import data_url, introduced
from callslip.providers.call_ids import IdRule
from callslip.providers.history import Answered, ModelTurn, UserTurn, turns
from callslip.providers.loose import as_list, as_object
from callslip.providers.mistral_reply import NO_ID
from callslip.providers.offered import Offered, OfferedTool
from callslip.providers.open_end import closed
from callslip.providers.options import Effort, Options
from callslip.schema.shape.dialect import MISTRAL

IDS = IdRule(pattern=r"[a-zA-Z0-9]{9}", prefix="", length=9, refused=frozenset({NO_ID}))
"""Public word of it: github.com/nearai/ironclaw/issues/1241."""
BRIDGE = "I have these results."
"""What the assistant is made to say where a user's words follow results: "Unexpected role 'user' after role 'tool'"
(github.com/openclaw/openclaw/issues/33177, of 2026). Inside the result they would pass for the tool's own."""
_EFFORTS = {"off": "none", "low": "low", "medium": "medium", "high": "high"}
_ON_OR_OFF = re.compile(r"(?:.*/)?(?:mistral-small|mistral-medium|magistral)")
"""Models that know no effort between none and high: "Must be one of" these two (github.com/architects-toolkit/
SmartHopper/issues/647; Mistral docs, "Reasoning" > "Adjustable"). Mistral Large 4 knows those between (same docs).
"""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a body holds besides the conversation."""

    model: str
    options: Options = Options()
    sender: str = ""
    """The model's whole name, by which what it said before is known."""


def offer(request: Request, settings: Settings) -> Offered:
    """The tools as Mistral is told of them; its names are those of Chat Completions."""
    return Offered(request, CHAT, MISTRAL, strict=settings.options.strict)


def body_of(request: Request, settings: Settings, offered: Offered) -> dict[str, Any]:
    """The whole body.

    Raises:
        StillWaiting: a call of the history has no result yet, so no provider would take the request.
        UsageError: a result without its call, or a second one for the same call.
    """
    options = settings.options
    body: dict[str, Any] = {"model": settings.model, "messages": messages_of(request, settings, offered)}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in offered.tools]
        body["tool_choice"] = _choice(request, offered)
        if options.parallel is not None:
            body["parallel_tool_calls"] = options.parallel
    if options.max_output_tokens is not None:
        body["max_tokens"] = options.max_output_tokens
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if options.effort:
        body["reasoning_effort"] = _effort(settings.model, options.effort)
    if request.stream:
        body["stream"] = True
    return body


def _effort(model: str, effort: Effort) -> str:
    """The word for it. Where a model can only think or not, a little is still thinking."""
    return "high" if effort in {"low", "medium"} and _ON_OR_OFF.match(model) else _EFFORTS[effort]


def _choice(request: Request, offered: Offered) -> Any:
    if request.tool_choice != "required":
        return request.tool_choice
    if request.only:
        return {"type": "function", "function": {"name": offered.wire(request.only)}}
    return "any"  # its own word, older than "required" and the same


def _tool(tool: OfferedTool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.wire, "parameters": tool.shaped.schema, "strict": tool.shaped.strict}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def messages_of(request: Request, settings: Settings, offered: Offered) -> list[dict[str, Any]]:
    """The conversation in an order that Mistral takes."""
    wire: list[dict[str, Any]] = []
    if request.system.strip():
        wire.append({"role": "system", "content": request.system})
    for turn in turns(request.messages, IDS):
        if isinstance(turn, UserTurn):
            _say(wire, turn.text)
            continue
        wire.append(_assistant(turn, settings, offered))
        wire += [_result(one, offered) for one in turn.calls]
        parts = _attachments(turn, settings)
        if parts:
            _say(wire, parts)
    return closed(wire)


def _say(wire: list[dict[str, Any]], content: Any) -> None:
    """Add words of the user's side."""
    if wire and wire[-1]["role"] == "tool":
        wire.append({"role": "assistant", "content": BRIDGE})
    wire.append({"role": "user", "content": content})


def _assistant(turn: ModelTurn, settings: Settings, offered: Offered) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": _content(turn, settings)}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": offered.wire(one.call.tool), "arguments": offered.argument_text(one.call)},
            }
            for one in turn.calls
        ]
    return message


def _content(turn: ModelTurn, settings: Settings) -> Any:
    """The text, or the chunks as they came. Mistral wants what its models thought back in every later request, also of
    earlier turns: without it they answer worse (@mistralai/mistralai 2.2.5, examples/src/reasoning_multi_turn.ts).
    """
    if turn.kept is not None and turn.kept.model == settings.sender:
        chunks = [chunk for item in turn.kept.items for chunk in as_list(as_object(item).get("content"))]
        if chunks:
            return chunks
    return turn.text


def _result(one: Answered, offered: Offered) -> dict[str, Any]:
    return {"role": "tool", "name": offered.wire(one.call.tool), "tool_call_id": one.id, "content": one.content}


def _attachments(turn: ModelTurn, settings: Settings) -> list[dict[str, Any]]:
    """What came of the calls besides text: as a user's chunks, the only place for which images and documents are
    documented (Mistral docs, "Vision" and "Document QnA").
    """
    parts: list[dict[str, Any]] = []
    for call in turn.calls if settings.options.images else ():
        for one in call.result.attachments:
            if not (one.is_image or one.media_type == PDF):
                continue  # and the result's text names what is left out
            parts.append({"type": "text", "text": introduced(one, call.call.tool)})
            kind = "image_url" if one.is_image else "document_url"
            parts.append({"type": kind, kind: data_url(one)})
    return parts
