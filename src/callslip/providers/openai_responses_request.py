"""A neutral request as the JSON body of ``POST /responses``, but for its conversation.

The format is OpenAI's API reference, "Create a model response". Two fields make the API stateless: ``store`` is false,
so that nothing is kept there, and ``include`` asks for the model's reasoning in encrypted form, without which a
reasoning item that was not stored can't be given back (OpenAI docs, "Reasoning models" > "Encrypted reasoning items").
Servers that copy the format take both or ignore them, as Codex sends them to every one.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from callslip.ports.model import Request
from callslip.providers.aliases import RESPONSES
from callslip.providers.native_search import Loading, loading_of
from callslip.providers.offered import Offered
from callslip.providers.openai_responses_items import Side, input_of
from callslip.providers.openai_responses_search import function_of, search_of, searches_of
from callslip.providers.options import Options
from callslip.schema.shape.dialect import COMPATIBLE, Dialect

LEAST_OUTPUT = 16
"""The API refuses a smaller ``max_output_tokens``."""
_EFFORTS = {"off": "none", "low": "low", "medium": "medium", "high": "high"}
_WITHOUT_REASONING = re.compile(r"(?:.*/)?(?:ft:)?(?:gpt-3\.5|gpt-4|chatgpt-4o|gpt-5-chat)")
"""Models that answer "Encrypted content is not supported with this model" (github.com/NousResearch/hermes-agent/
pull/24234, github.com/pydantic/pydantic-ai/pull/2867 and pull/3331).
"""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a body holds besides the conversation."""

    model: str
    options: Options = Options()
    dialect: Dialect = COMPATIBLE
    own: bool = False
    """The server is OpenAI's own, or passes everything on to it."""
    encrypted: bool = True
    """Whether to ask for reasoning in encrypted form."""
    sender: str = ""
    """The model's whole name, by which what it said before is known."""
    searches: bool = False
    """Whether the API's own tool search is used."""


def reasons(model: str) -> bool:
    """Whether the model may be asked for its reasoning: all but those known to refuse."""
    return _WITHOUT_REASONING.match(model) is None


def offer(request: Request, settings: Settings) -> Offered:
    """The tools as this server is told of them."""
    loading = _loading(request, settings)
    # The search's own schema is never enforced: its tool has no ``strict``.
    loose = () if loading is None else (loading.search,)
    return Offered(request, RESPONSES, settings.dialect, strict=settings.options.strict, loading=loading, loose=loose)


def _loading(request: Request, settings: Settings) -> Loading | None:
    if not settings.searches or (request.searching is not None and request.only == request.searching.tool):
        return None  # a search of the API's own can't be demanded: there is no ``tool_choice`` for it
    return loading_of(request, lambda reply: searches_of(reply, settings.sender))


def body_of(request: Request, settings: Settings, offered: Offered) -> dict[str, Any]:
    """The whole body.

    Raises:
        StillWaiting: a call of the history has no result yet, so no provider would take the request.
        UsageError: a result without its call, or a second one for the same call.
    """
    options = settings.options
    side = Side(sender=settings.sender, own=settings.own, images=options.images)
    body: dict[str, Any] = {"model": settings.model}
    if request.system.strip():
        body["instructions"] = request.system
    body["input"] = input_of(request.messages, side, offered)
    if request.tools:
        body["tools"] = _tools(offered)
        body["tool_choice"] = _choice(request, offered)
        if options.parallel is not None:
            body["parallel_tool_calls"] = options.parallel
    if options.max_output_tokens is not None:
        body["max_output_tokens"] = max(options.max_output_tokens, LEAST_OUTPUT)
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if options.effort:
        body["reasoning"] = {"effort": _EFFORTS[options.effort]}
    body["store"] = False
    if settings.encrypted:
        body["include"] = ["reasoning.encrypted_content"]
    if request.stream:
        body["stream"] = True
    return body


def _choice(request: Request, offered: Offered) -> Any:
    if request.tool_choice == "required" and request.only:
        return {"type": "function", "name": offered.wire(request.only)}
    return request.tool_choice


def _tools(offered: Offered) -> list[dict[str, Any]]:
    """What can be called at once; what a search loads stands in its output, and what it may find nowhere."""
    loading = offered.loading
    if loading is None:
        return [function_of(tool) for tool in offered.tools]
    return [
        search_of(tool) if tool.name == loading.search else function_of(tool)
        for tool in offered.tools
        if tool.name not in loading.loaded
    ]
