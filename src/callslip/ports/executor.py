"""What runs a tool, whatever is behind it: a function, a client, later HTTP, MCP or a process (DECL-03)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from callslip.core.events.tool_dispatch import Evidence
from callslip.core.fault import Fault
from callslip.core.tool import ToolSpec
from callslip.core.version import Version
from callslip.ports.context import Context


class ProbeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe found. ``happened`` is ``None`` when it can't tell."""

    happened: bool | None
    result: Any = None
    """With ``happened``: what the call returned."""


class Executor(Protocol):
    """One bound tool."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def version(self) -> str:
        """``spec.version``, computed once."""
        ...

    @property
    def identity(self) -> str:
        """What runs the tool, so that an approval of one does not hold for another of the same name: e.g.
        ``python:module:function``.
        """
        ...

    def check(self, arguments: Mapping[str, Any]) -> str | None:
        """The tool's own business rules (ARGS-04): a sentence for the model, or ``None``."""
        ...

    async def prepare(self, arguments: Mapping[str, Any]) -> Evidence | None:
        """Read-only look at the target before the dispatch. Raises :class:`ToolFailed` when the call can't work."""
        ...

    async def run(self, arguments: Mapping[str, Any], context: Context) -> Any:
        """Do it. Whatever is returned is the raw result."""
        ...

    async def probe(self, arguments: Mapping[str, Any], context: Context) -> ProbeAnswer:
        """Ask whether the call with ``context.idempotency_key`` happened. Changes nothing."""
        ...

    async def digest(self, target: str) -> str:
        """The evidence target's digest now."""
        ...


@runtime_checkable
class Classifier(Protocol):
    """Implemented by executors that know their own failures."""

    def classify(self, error: BaseException) -> Fault | None:
        """What kind of failure this is; ``None``: nothing more is known of it than of any such exception."""
        ...


@runtime_checkable
class Versioned(Protocol):
    """Implemented by executors of tools that declare ``versioned``."""

    async def state(self, arguments: Mapping[str, Any]) -> Version:
        """Which version what the call would change has now, as its keeper says. Changes nothing. Raises
        :class:`ToolFailed` when the call can't work.
        """
        ...
