"""A neutral request as the JSON body of ``POST /messages``.

The same history always gives the same bytes, and a longer one begins with them: prompt caches hold, and newer models
accept what they thought before (Anthropic docs, "Preserved thinking > Prefix checks").
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from callslip.core.message import AssistantReply
from callslip.ports.model import Request, ToolView
from callslip.providers.aliases import ANTHROPIC
from callslip.providers.anthropic_content import IDS, Sent, messages_of
from callslip.providers.anthropic_search import Definitions
from callslip.providers.anthropic_thinking import is_on, loop_began_with_thinking, thinking_fields
from callslip.providers.claude_models import Claude
from callslip.providers.history import calls_in, turns
from callslip.providers.native_search import Loading, loading_of
from callslip.providers.offered import Offered, OfferedTool
from callslip.providers.options import Options
from callslip.schema.shape import dialect
from callslip.schema.shape.dialect import Dialect
from callslip.schema.shape.shaped import shape
from callslip.schema.shape.together import shape_together

LOOSE = msgspec.structs.replace(dialect.ANTHROPIC, strict=False)
"""For models and servers that don't know the word ``strict``."""
_EPHEMERAL = {"type": "ephemeral"}
GONE = "This tool is no longer available."


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a body holds besides the conversation."""

    model: str
    claude: Claude = Claude()
    options: Options = Options()
    sender: str = ""
    """The model's whole name, by which what it said before is known."""
    searches: bool = False
    """Whether what is found is deferred, and loaded by the search's result."""
    deferred: Definitions = msgspec.field(default_factory=Definitions)

    @property
    def dialect(self) -> Dialect:
        return dialect.ANTHROPIC if self.claude.knows_strict else LOOSE


class OfferedTogether(Offered):
    """The tools of one request, within the limits that hold for all of them together."""

    def __init__(
        self, request: Request, known: Dialect, *, strict: bool | None, loading: Loading | None = None
    ) -> None:
        loose = frozenset[str]() if loading is None else loading.loaded
        views = request.tools if loading is None else loading.ordered(request.tools)
        together = [tool for tool in views if tool.name not in loose]
        shapes = shape_together([tool.input_schema for tool in together], known, strict=strict)
        self._together = {tool.name: shaped for tool, shaped in zip(together, shapes, strict=True)}
        super().__init__(request, ANTHROPIC, known, strict=strict, loading=loading, loose=loose)

    def _offer(self, tool: ToolView, dialect: Dialect, strict: bool | None) -> OfferedTool:
        offered = super()._offer(tool, dialect, strict)
        return msgspec.structs.replace(offered, shaped=self._together.get(tool.name, offered.shaped))


def offer(request: Request, settings: Settings) -> Offered:
    """The tools as this server is told of them."""
    loading = loading_of(request, _calls) if settings.searches else None
    return OfferedTogether(request, settings.dialect, strict=settings.options.strict, loading=loading)


def _calls(reply: AssistantReply) -> list[str]:
    """Any result can load tools here: which tool it came of, the API does not ask."""
    return [call.call_id for call in reply.calls]


def body_of(request: Request, settings: Settings, offered: Offered) -> dict[str, Any]:
    """The whole body.

    Raises:
        StillWaiting: a call of the history has no result yet, so no provider would take the request.
        UsageError: a result without its call, or a second one for the same call.
    """
    options, claude = settings.options, settings.claude
    max_tokens = claude.max_tokens if options.max_output_tokens is None else options.max_output_tokens
    tools, choice = _tools(request, settings, offered), _choice(request, settings, offered)
    # Without thinking a model that binds its blocks refuses those whose beginning has changed, and reads none anyway.
    unread = claude.binds_thinking and not claude.always_thinks and options.effort == "off"
    sent = Sent(sender=settings.sender, thinking=not unread, media=options.images)
    messages = messages_of(turns(request.messages, IDS), offered, sent)
    thinking = thinking_fields(
        claude,
        options,
        max_tokens=max_tokens,
        forced=choice.get("type") in ("any", "tool"),
        begun=loop_began_with_thinking(messages),
    )
    body: dict[str, Any] = {"model": settings.model, "max_tokens": max_tokens}
    if tools:
        body["tools"] = [*_marked(tools), *_deferred(request, settings, offered)]
        body["tool_choice"] = choice
    if request.system.strip():
        body["system"] = _marked([{"type": "text", "text": request.system}])
    body["messages"] = _with_breakpoints(messages)
    body |= thinking
    if options.temperature is not None and claude.takes_temperature and not is_on(thinking):
        # Theirs ends at 1 (Anthropic docs, "API > Create a Message").
        body["temperature"] = min(options.temperature, 1.0)
    if request.stream:
        body["stream"] = True
    return body


def _tools(request: Request, settings: Settings, offered: Offered) -> list[dict[str, Any]]:
    if request.tools:
        loaded = frozenset[str]() if offered.loading is None else offered.loading.loaded
        return [_tool(tool, settings) for tool in offered.tools if tool.name not in loaded]
    # "Requests which include `tool_use` or `tool_result` blocks must define tools"
    # (github.com/UKGovernmentBEIS/inspect_ai/pull/176).
    called = dict.fromkeys(offered.wire(call.tool) for call in calls_in(request.messages))
    return [{"name": wire, "description": GONE, "input_schema": {"type": "object"}} for wire in called]


def _deferred(request: Request, settings: Settings, offered: Offered) -> list[dict[str, Any]]:
    """What only a search brings. Never strict: the limits hold for all tools together, and these may be thousands."""
    loading = offered.loading
    if loading is None:
        return []

    def make(tool: ToolView) -> dict[str, Any]:
        shaped = shape(tool.input_schema, settings.dialect, strict=False)
        wire = offered.wire(tool.name)
        return _tool(OfferedTool(name=tool.name, wire=wire, description=tool.description, shaped=shaped), settings)

    found = [tool for tool in request.tools if tool.name in loading.loaded]
    return settings.deferred.of(found, loading.deferred, make)


def _tool(tool: OfferedTool, settings: Settings) -> dict[str, Any]:
    made: dict[str, Any] = {"name": tool.wire}
    if tool.description:
        made["description"] = tool.description
    made["input_schema"] = tool.shaped.schema
    if settings.claude.knows_strict:
        made["strict"] = tool.shaped.strict
    return made


def _choice(request: Request, settings: Settings, offered: Offered) -> dict[str, Any]:
    """Newer models refuse to be forced; they are asked as usual, and the loop sees whether they called."""
    if not request.tools or request.tool_choice == "none":
        return {"type": "none"}
    choice: dict[str, Any] = {"type": "auto"}
    if request.tool_choice == "required" and settings.claude.takes_forced_choice:
        choice = {"type": "tool", "name": offered.wire(request.only)} if request.only else {"type": "any"}
    if settings.options.parallel is not None:
        choice["disable_parallel_tool_use"] = not settings.options.parallel
    return choice


def _marked(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With a cache breakpoint at the end."""
    return [*blocks[:-1], {**blocks[-1], "cache_control": _EPHEMERAL}]


def _with_breakpoints(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With a breakpoint at the end of the user's last two messages. The last is what the next request will find; the
    one before is where this one finds what the last request left, as the API looks back no more than 20 blocks from
    each (Anthropic docs, "Prompt caching > How prompt caching works"), and a step may add more.
    """
    marked = list(messages)
    for place in _last_two(place for place, message in enumerate(messages) if message["role"] == "user"):
        marked[place] = {"role": "user", "content": _marked(messages[place]["content"])}
    return marked


def _last_two(places: Iterable[int]) -> list[int]:
    return list(places)[-2:]
