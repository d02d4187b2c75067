"""The tools of one request as they stand on the wire, and the way back: names, schemas, arguments.

Names that a provider refuses or reserves go by an alias; schemas are shaped to what it takes. Both are undone before
anybody else sees a proposal, so the log, the gate and the next provider know canonical names and arguments alone.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from callslip.core.alias import digest, digest_in
from callslip.core.message import CallMessage
from callslip.ports.model import Proposal, Request, ToolView
from callslip.providers.aliases import Aliases, WireRule
from callslip.providers.history import calls_in
from callslip.providers.loose import object_in
from callslip.providers.native_search import Loading
from callslip.providers.sent_arguments import RAW, argument_object, argument_text
from callslip.schema.shape.dialect import Dialect
from callslip.schema.shape.shaped import Shaped, shape

INVENTED_PREFIX = "functions."


class OfferedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the provider is told of it."""

    name: str
    """Its own."""
    wire: str
    description: str
    shaped: Shaped


class Offered:
    """Made for one request; ``tools`` in the request's order, which is the same at every step (prompt caches).

    With ``loading`` the provider searches itself, and they are in the order in which they are sent then. The schemas of
    ``loose`` tools are not enforced.
    """

    def __init__(
        self,
        request: Request,
        rule: WireRule,
        dialect: Dialect,
        *,
        strict: bool | None = None,
        loading: Loading | None = None,
        loose: Collection[str] = (),
    ) -> None:
        called = [call.tool for call in calls_in(request.messages)]
        views = request.tools if loading is None else loading.ordered(request.tools)
        self.loading = loading
        self._deferred = () if request.searching is None else request.searching.deferred
        self.aliases = Aliases([*(tool.name for tool in views), *called], rule)
        self.tools = tuple(self._offer(tool, dialect, False if tool.name in loose else strict) for tool in views)
        self.named = {tool.name: tool for tool in self.tools}

    def _offer(self, tool: ToolView, dialect: Dialect, strict: bool | None) -> OfferedTool:
        return OfferedTool(
            name=tool.name,
            wire=self.aliases.wire(tool.name),
            description=tool.description,
            shaped=shape(tool.input_schema, dialect, strict=strict),
        )

    def wire(self, name: str) -> str:
        """The name to send, also of tools that are only seen in the history."""
        return self.aliases.wire(name)

    def tool(self, wire: str) -> str:
        """The tool that goes by this name, offered or not; a name that none has stays as it is, for the gate to refuse.

        White space around an alias, and the prefix that models invent, are forgiven as the gate forgives them of names.
        """
        bare = wire.strip().removeprefix(INVENTED_PREFIX)
        return self.aliases.tool(wire) or self.aliases.tool(bare) or self._hidden(bare) or wire

    def _hidden(self, wire: str) -> str | None:
        """A tool that can be found and is not offered now: a model may remember its alias from an earlier turn."""
        ending = digest_in(wire)
        if not ending:
            return None
        same = (view.name for view in self._deferred if digest(view.name) == ending)
        return next((name for name in same if self.aliases.wire(name) == wire), None)

    def proposal(self, wire: str, arguments: str | dict[str, Any], provider_id: str) -> Proposal:
        """A call as the model meant it. Its own text stays to the letter, unless shaping has to be undone."""
        tool = self.tool(wire)
        shaped = self._shaped(tool)
        if shaped is not None and shaped.start is not None:
            given = arguments if isinstance(arguments, dict) else object_in(arguments)
            undone = shaped.undo(given) if given is not None else None
            if undone is not None and undone != given:
                arguments = undone
        return Proposal(tool=tool, arguments=arguments, provider_id=provider_id)

    def searched(self, arguments: str | dict[str, Any], provider_id: str) -> Proposal:
        """A call of the tool that searches, which has no name where the provider has a search of its own."""
        assert self.loading is not None
        return self.proposal(self.wire(self.loading.search), arguments, provider_id)

    def loads(self, call_id: str) -> tuple[str, ...]:
        """The tools that the result of a call loads, where the provider searches itself."""
        return () if self.loading is None else self.loading.by_call.get(call_id, ())

    def argument_text(self, call: CallMessage) -> str:
        """A call's arguments in the history, as the text of an object."""
        return argument_text(self._redone(call))

    def argument_object(self, call: CallMessage) -> dict[str, Any]:
        """A call's arguments in the history, as an object."""
        return argument_object(self._redone(call))

    def _shaped(self, tool: str) -> Shaped | None:
        offered = self.named.get(tool)
        return None if offered is None else offered.shaped

    def _redone(self, call: CallMessage) -> str | dict[str, Any]:
        shaped = self._shaped(call.tool)
        if shaped is None or shaped.start is None:
            return call.arguments
        given = argument_object(call.arguments)
        if RAW in given and given.keys() == {RAW}:
            return call.arguments
        redone = shaped.redo(given)
        return call.arguments if redone == given else redone
