"""A neutral request as the JSON body of ``POST /models/…:generateContent``.

Gemini API reference, "Generating content", as of 2026-11. Invariants: each model content with calls follows a user
content, and is followed at once by one user content that holds its function responses, all of them, in order, and
nothing else; the last content is the user's; nothing is empty; the same history always gives the same bytes.

Sources of the order: "Please ensure that function call turn comes immediately after a user turn or after a function
response turn" (github.com/google-gemini/gemini-cli/issues/11814); "… that the number of function response parts is
equal to the number of function call parts" (github.com/microsoft/vscode/issues/299295); newer models refuse text or
images beside function responses (github.com/Prism-Shadow/agenthub/pull/189, github.com/deepnoodle-ai/dive/pull/287),
and a request that ends with the model's turn (github.com/LibreChat-AI/agents/pull/323).
"""

from __future__ import annotations

from typing import Any

import msgspec

from callslip.ports.model import Request
from callslip.providers.aliases import GEMINI as NAMES
from callslip.providers.attached import introduced
from callslip.providers.gemini_models import since_three, thinking
from callslip.providers.gemini_parts import IDS, SEEN, inline, model_parts, response_part
from callslip.providers.history import NOTICE, ModelTurn, UserTurn, turns
from callslip.providers.offered import Offered, OfferedTool
from callslip.providers.options import Options
from callslip.schema.shape.dialect import GEMINI

_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_STRICT = "VALIDATED"
"""Like AUTO, and calls keep to their schemas, as they do with ANY (Gemini API docs, "Function calling" > "Function
calling modes").
"""
_LEFT_OUT = f"{NOTICE}\nWhat came before was left out."
_GO_ON = f"{NOTICE}\nGo on."


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a body holds besides the conversation."""

    model: str
    options: Options = Options()
    sender: str = ""
    """The model's whole name, by which what it said before is known."""


def offer(request: Request) -> Offered:
    """The tools as Gemini is told of them. No schema of its says strict; the mode of calling does."""
    return Offered(request, NAMES, GEMINI)


def body_of(request: Request, settings: Settings, offered: Offered) -> dict[str, Any]:
    """The whole body.

    Raises:
        StillWaiting: a call of the history has no result yet, so no provider would take the request.
        UsageError: a result without its call, or a second one for the same call.
    """
    body: dict[str, Any] = {}
    if request.system.strip():
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    body["contents"] = contents_of(request, settings, offered)
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declaration(tool, offered) for tool in offered.tools]}]
        body["toolConfig"] = {"functionCallingConfig": _choice(request, settings, offered)}
    generation = _generation(settings)
    if generation:
        body["generationConfig"] = generation
    return body


def _choice(request: Request, settings: Settings, offered: Offered) -> dict[str, Any]:
    config: dict[str, Any] = {"mode": _MODES[request.tool_choice]}
    if request.tool_choice == "auto" and settings.options.strict:
        # Only where it is asked for: it is a preview, and Vertex AI's v1 does not know the word.
        config["mode"] = _STRICT
    if request.tool_choice == "required" and request.only in {tool.name for tool in request.tools}:
        config["allowedFunctionNames"] = [offered.wire(request.only)]
    return config


def _declaration(tool: OfferedTool, offered: Offered) -> dict[str, Any]:
    return {
        "name": tool.wire,
        # Required by the reference; where there is none, the tool's own name, which an alias may have garbled.
        "description": tool.description if tool.description.strip() else offered.tool(tool.wire) or tool.wire,
        "parametersJsonSchema": tool.shaped.schema,
    }


def _generation(settings: Settings) -> dict[str, Any]:
    options = settings.options
    made: dict[str, Any] = {}
    if options.max_output_tokens is not None:
        made["maxOutputTokens"] = options.max_output_tokens
    if options.temperature is not None:
        made["temperature"] = options.temperature
    config = thinking(settings.model, options.effort)
    if config:
        made["thinkingConfig"] = config
    return made


def contents_of(request: Request, settings: Settings, offered: Offered) -> list[dict[str, Any]]:
    """The conversation in legal order."""
    contents = _Contents()
    for turn in turns(request.messages, IDS):
        if isinstance(turn, UserTurn):
            contents.say("user", [{"text": turn.text}])
            continue
        if contents.is_empty:
            contents.say("user", [{"text": _LEFT_OUT}])
        contents.say("model", model_parts(turn, offered, settings.sender, signed=since_three(settings.model)))
        _answer(turn, settings, offered, contents)
    if not contents.ends_with_user:
        contents.say("user", [{"text": _GO_ON}])
    return contents.made


def _answer(turn: ModelTurn, settings: Settings, offered: Offered, contents: _Contents) -> None:
    """The results of a reply's calls; then, as the user's words, the images that can't stand in them."""
    if not turn.calls:
        return
    inside = settings.options.images and since_three(settings.model)
    contents.respond([response_part(one, turn, offered, settings.sender, images=inside) for one in turn.calls])
    parts: list[dict[str, Any]] = []
    for one in turn.calls if settings.options.images and not inside else ():
        for attachment in one.result.attachments:
            if attachment.media_type in SEEN:  # the result's text names what is left out
                parts += [{"text": introduced(attachment, one.call.tool)}, inline(attachment)]
    if parts:
        contents.say("user", parts)


class _Contents:
    """The contents while they are made: neighbours of one role become one, but function responses stay alone."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self._open = False
        """Whether more may be added to the last one."""

    @property
    def is_empty(self) -> bool:
        return not self.made

    @property
    def ends_with_user(self) -> bool:
        return bool(self.made) and self.made[-1]["role"] == "user"

    def say(self, role: str, parts: list[dict[str, Any]]) -> None:
        if self._open and self.made[-1]["role"] == role:
            self.made[-1]["parts"] += parts
        else:
            self.made.append({"role": role, "parts": parts})
        self._open = True

    def respond(self, parts: list[dict[str, Any]]) -> None:
        self.made.append({"role": "user", "parts": parts})
        self._open = False
