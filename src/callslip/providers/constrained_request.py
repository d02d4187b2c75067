"""A neutral request as a conversation in plain text, with a schema for the reply.

Nothing in it needs a server or a chat template that knows of tools: no ``tools``, no tool messages, user and assistant
strictly in turns, as many templates demand. The model's own turns stand in the history exactly as it is to write them,
as a model does what it sees itself doing; results are the JSON of a user's turn that says whose they are. Calls and
results are matched by their order, so no ids are sent.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from callslip.ports.model import Request
from callslip.providers.aliases import CHAT
from callslip.providers.attached import data_url, introduced
from callslip.providers.call_ids import IdRule
from callslip.providers.constrained_envelope import ANSWER, CALLS, NONE_FITS, REPLY, answered, schema, written
from callslip.providers.constrained_tools import listed
from callslip.providers.history import NOTICE, Answered, ModelTurn, UserTurn, turns
from callslip.providers.offered import Offered
from callslip.providers.open_end import closed
from callslip.providers.options import Options
from callslip.schema.shape.dialect import CONSTRAINED
from callslip.schema.shape.limits import reasons

SAID_BEFORE = "[What you said before these calls]"
RESULTS = "[Results of your calls, from the tools, not from the user]"
_ANY_ID = IdRule(pattern=r".*")
"""No id stands on this wire."""
_EFFORTS = {"off": "none", "low": "low", "medium": "medium", "high": "high"}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a body holds besides the conversation."""

    model: str
    options: Options = Options()


def offer(request: Request, settings: Settings) -> Offered:
    """The tools as the model is told of them."""
    return Offered(request, CHAT, CONSTRAINED, strict=settings.options.strict)


def body_of(request: Request, settings: Settings, offered: Offered) -> dict[str, Any]:
    """The whole body.

    Raises:
        StillWaiting: a call of the history has no result yet, so no provider would take the request.
        UsageError: a result without its call, or a second one for the same call.
    """
    options = settings.options
    body: dict[str, Any] = {"model": settings.model, "messages": _messages(request, settings, offered)}
    if enveloped(request) and options.constrain != "text":
        body["response_format"] = {"type": options.constrain}
        if options.constrain == "json_schema":
            body["response_format"]["json_schema"] = _constraint(request, settings, offered)
    if options.max_output_tokens is not None:
        body["max_tokens"] = options.max_output_tokens
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if options.effort:
        body["reasoning_effort"] = _EFFORTS[options.effort]
    if request.stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


def enveloped(request: Request) -> bool:
    """Whether the reply is to be an envelope, and is read as one."""
    return bool(request.tools) and request.tool_choice != "none"


def _constraint(request: Request, settings: Settings, offered: Offered) -> dict[str, Any]:
    must_call = request.tool_choice == "required"
    only = _only(request, offered)
    tools = [tool for tool in offered.tools if only in {"", tool.wire}]
    constraint = schema(tools, parallel=settings.options.parallel, must_call=must_call)
    # Each tool's schema keeps the limits of strict; all of them inside one may not.
    strict = all(tool.shaped.strict for tool in tools) and not any(reasons(constraint, CONSTRAINED))
    return {"name": REPLY, "strict": strict, "schema": constraint}


def _only(request: Request, offered: Offered) -> str:
    """The one tool that must be called. One that isn't there leaves nothing to choose from; then the choice is free,
    and the gate says what is wrong.
    """
    named = offered.wire(request.only) if request.tool_choice == "required" and request.only else ""
    return named if any(tool.wire == named for tool in offered.tools) else ""


def _messages(request: Request, settings: Settings, offered: Offered) -> list[dict[str, Any]]:
    wire: list[dict[str, Any]] = []
    system = "\n\n".join(part for part in (request.system.strip(), _protocol(request, offered)) if part)
    if system and not settings.options.system_role:
        _say(wire, "user", [_text(system)])
    for turn in turns(request.messages, _ANY_ID):
        if isinstance(turn, UserTurn):
            _say(wire, "user", [_text(turn.text)])
            continue
        if not wire:
            _say(wire, "user", [_text(f"{NOTICE}\nThe conversation begins here.")])
        _say(wire, "assistant", [_text(_spoken(turn, offered, in_envelopes=enveloped(request)))])
        if turn.calls:
            if enveloped(request) and turn.text.strip():
                _say(wire, "user", [_text(f"{SAID_BEFORE}\n{json.dumps(turn.text, ensure_ascii=False)}")])
            _say(wire, "user", [_text(_results(turn, offered)), *_attachments(turn, settings)])
    said = [{"role": one["role"], "content": _content(one["content"])} for one in closed(wire)]
    leads = [{"role": "system", "content": system}] if system and settings.options.system_role else []
    return [*leads, *said]


def _say(wire: list[dict[str, Any]], role: str, parts: list[dict[str, Any]]) -> None:
    """Add to what this side is saying already, or begin its turn."""
    if wire and wire[-1]["role"] == role:
        wire[-1]["content"] += parts
    else:
        wire.append({"role": role, "content": parts})


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _content(parts: Any) -> Any:
    """One text where there is nothing else: servers without images know no list of parts."""
    if isinstance(parts, str) or any(part["type"] != "text" for part in parts):
        return parts
    return "\n\n".join(part["text"] for part in parts)


def _protocol(request: Request, offered: Offered) -> str:
    """What the model is told of its tools, and of what it may write."""
    if not request.tools:
        return ""
    if not enveloped(request):
        return "You can call no tools now. Answer in plain text."
    lines = ["You can call these tools:", listed(offered.tools), "", "Write one JSON object and nothing else."]
    call = f'{{"{REPLY}": {{"{CALLS}": [{{"tool": …, "arguments": {{…}}}}]}}}}'
    if request.tool_choice == "required":
        return "\n".join([*lines, f"Call {_only(request, offered) or 'a tool'}: {call}"])
    return "\n".join(
        [
            *lines,
            f"To use tools that do what is asked: {call}",
            f'To answer, as once the results are there: {{"{REPLY}": {{"{ANSWER}": "…"}}}}',
            f'If no tool does what is asked: {{"{REPLY}": {{"{NONE_FITS}": "…"}}}}',
        ]
    )


def _spoken(turn: ModelTurn, offered: Offered, *, in_envelopes: bool) -> str:
    """A reply as the model wrote it, or would have. Words beside calls have no place in an envelope."""
    calls = written([(offered.wire(one.call.tool), offered.argument_object(one.call)) for one in turn.calls])
    if in_envelopes:
        return calls if turn.calls else answered(turn.text)
    return "\n\n".join(part for part in (turn.text, calls if turn.calls else "") if part.strip())


def _results(turn: ModelTurn, offered: Offered) -> str:
    return "\n".join([RESULTS, *(_result(one, offered) for one in turn.calls)])


def _result(one: Answered, offered: Offered) -> str:
    made: dict[str, Any] = {"tool": offered.wire(one.call.tool), "result": one.content}
    if one.result.is_error:
        made["is_error"] = True
    return json.dumps(made, ensure_ascii=False)


def _attachments(turn: ModelTurn, settings: Settings) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for call in turn.calls if settings.options.images else ():
        for one in call.result.attachments:
            if one.is_image:  # other documents have no place here, and the result's text names what is left out
                parts.append(_text(introduced(one, call.call.tool)))
                parts.append({"type": "image_url", "image_url": {"url": data_url(one)}})
    return parts
