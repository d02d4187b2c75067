"""What a provider's own tool search is given, worked out of a request for all providers that have one (DEFR-07).

A tool that a search found is not offered like the others: the search's result loads it, and what stands before that
result stays as it was, so prompt caches hold. That goes for as long as the result is shown. A tool whose search has
been summed up meanwhile is offered like any other: all of ``Request.tools`` can be called, whatever is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

import msgspec

from callslip.core.message import AssistantReply, ResultMessage, ToolResults
from callslip.ports.model import Request, ToolView
from callslip.providers.history import NOTICE


class Loading(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools the results of searches load, in one request."""

    search: str
    """The tool that searches."""
    by_call: dict[str, tuple[str, ...]]
    """What the result of a call loads, by its ``call_id``. No tool is loaded twice."""
    loaded: frozenset[str]
    """All of them. The rest of ``Request.tools`` is offered at once."""
    deferred: tuple[ToolView, ...]
    """What else can be found; none of ``Request.tools``."""

    def ordered(self, tools: Collection[ToolView]) -> tuple[ToolView, ...]:
        """The tools as they are sent: what is offered at once in its own order, in which new ones come last; then what
        is loaded, by name, so that no search changes the order of anything.
        """
        loaded = sorted((tool for tool in tools if tool.name in self.loaded), key=lambda tool: tool.name)
        return (*(tool for tool in tools if tool.name not in self.loaded), *loaded)


def loading_of(request: Request, able: Callable[[AssistantReply], Collection[str]]) -> Loading | None:
    """What the results of the history load; None where nothing can be searched for.

    ``able``: the calls of a reply, by ``call_id``, whose results can load tools where they go. Of several results that
    name a tool, the last one loads it: a tool is let go at the end of a turn, and must be found again.
    """
    searching, offered = request.searching, {tool.name for tool in request.tools}
    if searching is None or searching.tool not in offered:
        return None
    # The tool that must be called is offered at once: nobody says that another can be asked for by name.
    found = (offered & set(searching.found)) - {searching.tool, request.only}
    replies = [message for message in request.messages if isinstance(message, AssistantReply)]
    calls = {call_id for reply in replies for call_id in able(reply)}
    results = [result for result in _results(request) if result.call_id in calls and not result.is_error]
    last = {name: result.call_id for result in results for name in result.found if name in found}
    by_call = {
        result.call_id: tuple(name for name in dict.fromkeys(result.found) if last.get(name) == result.call_id)
        for result in results
    }
    return Loading(
        search=searching.tool,
        by_call={call_id: names for call_id, names in by_call.items() if names},
        loaded=frozenset(last),
        deferred=tuple(tool for tool in searching.deferred if tool.name not in offered),
    )


def searches(wanted: Literal["auto", "on", "off"], *, known: bool) -> bool:
    """Whether the provider's own search is used. ``known``: whether model and server are known to have one."""
    return wanted == "on" or (wanted == "auto" and known)


def _results(request: Request) -> list[ResultMessage]:
    return [result for message in request.messages if isinstance(message, ToolResults) for result in message.results]


def beside(tool: str, content: str) -> str:
    """What a search said in words, where its result can hold nothing but tools."""
    return f"{NOTICE}\nThe result of {tool}:\n{content}"
