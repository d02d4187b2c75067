"""A conversation in which tools are found: as the agent leads it, and as a provider with a search of its own sees it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from callslip.core.message import (
    AssistantReply,
    CallMessage,
    Kept,
    Message,
    ResultMessage,
    ToolResults,
    UserText,
)
from callslip.ports.model import Model, Reply, Request, Searching, ToolView
from callslip.providers.anthropic import Anthropic
from callslip.providers.openai_responses import OpenAIResponses
from callslip.providers.options import Options

SEARCH = ToolView(
    name="tool_search",
    description="Find tools.",
    input_schema={
        "type": "object",
        "properties": {
            "queries": {"type": "array", "items": {"type": "string"}},
            "server": {"type": "string", "description": "Only of this server."},
        },
        "required": ["queries"],
    },
)
READ = ToolView(
    name="files.read",
    description="Read a file.",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
_PAY = {"type": "object", "properties": {"cents": {"type": "integer"}, "note": {"type": "string"}}}
LATER = tuple(
    ToolView(name=name, description=f"Does {name}.", input_schema=_PAY | {"required": ["cents"]})
    for name in ("weather", "bank.pay", "mail.send", "calendar")
)
FORMS = {"anthropic": "claude-opus-4-8", "openai_responses": "gpt-5.6"}
_MADE: dict[str, Any] = {"anthropic": Anthropic, "openai_responses": OpenAIResponses}


def talk(form: str, url: str, *, search: Any = "on", **settings: Any) -> Model:
    """A model of a provider that searches itself."""
    made: Model = _MADE[form](FORMS[form], base_url=url, api_key="k", options=Options(native_search=search), **settings)
    return made


class Talk:
    """The conversation. What is found stays for the turn, as in the agent."""

    def __init__(self, *, pinned: Sequence[ToolView] = (SEARCH, READ), later: Sequence[ToolView] = LATER) -> None:
        self.pinned = tuple(pinned)
        self.later = tuple(later)
        self.found: list[str] = []
        self.preselected: list[str] = []
        self.messages: list[Message] = [UserText(text="Pay what I owe.")]
        self._calls = 0

    def request(self, **changes: Any) -> Request:
        """The next request."""
        by_name = {tool.name: tool for tool in self.later}
        shown = [*self.found, *self.preselected]
        request = Request(
            system="Be brief.",
            messages=tuple(self.messages),
            tools=(*self.pinned, *(by_name[name] for name in shown)),
            searching=Searching(
                tool="tool_search",
                found=tuple(self.found),
                deferred=tuple(tool for tool in self.later if tool.name not in shown),
            ),
        )
        return msgspec.structs.replace(request, **changes)

    async def step(self, model: Model, **changes: Any) -> Reply:
        """Ask, and do what was asked for."""
        reply = await model.reply(self.request(**changes))
        self.take(reply, model.name)
        return reply

    def take(self, reply: Reply, model: str) -> None:
        calls = tuple(
            CallMessage(call_id=self._call_id(), provider_id=one.provider_id, tool=one.tool, arguments=one.arguments)
            for one in reply.proposals
        )
        kept = Kept(model=model, items=reply.kept) if reply.kept else None
        self.messages.append(AssistantReply(text=reply.text, calls=calls, kept=kept))
        if calls:
            self.messages.append(ToolResults(results=tuple(self._result(call) for call in calls)))

    def ask(self, text: str) -> None:
        """The next turn: what was found is let go."""
        self.found = []
        self.messages.append(UserText(text=text))

    def forget(self, upto: int) -> None:
        """A summary takes the place of the first messages."""
        self.messages[:upto] = [UserText(text="(summary)")]

    def _call_id(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"

    def _result(self, call: CallMessage) -> ResultMessage:
        content, new, failed = "ok", [], False
        if call.tool == "tool_search":
            given = call.arguments
            wanted = (json.loads(given) if isinstance(given, str) else given)["queries"]
            failed = wanted == ["fail"]
            known = [tool.name for tool in self.later if tool.name in wanted]
            new = [name for name in known if name not in self.found]
            self.found += new
            content = f"Found: {', '.join(known) or 'nothing fits'}."
        return ResultMessage(
            call_id=call.call_id,
            provider_id=call.provider_id,
            tool=call.tool,
            content=content,
            is_error=failed,
            found=tuple(new),
        )


def callable_in(form: str, body: dict[str, Any]) -> list[str]:
    """The names of all that the model of this request can call, with repetitions."""
    tools = body["tools"]
    if form == "openai_responses":
        outputs = [item["tools"] for item in body["input"] if item["type"] == "tool_search_output"]
        loaded = [tool["name"] for output in outputs for tool in output]
        return [tool.get("name", tool["type"]) for tool in tools] + loaded
    deferred = {tool["name"] for tool in tools if tool.get("defer_loading")}
    results = [block for message in body["messages"] for block in message["content"] if block["type"] == "tool_result"]
    inside = [inner for result in results if isinstance(result["content"], list) for inner in result["content"]]
    loaded = [inner["tool_name"] for inner in inside if inner["type"] == "tool_reference"]
    assert set(loaded) <= deferred
    return [tool["name"] for tool in tools if tool["name"] not in deferred] + loaded
