"""A language model, seen from the loop: one request, one reply, nothing executed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

from callslip.core.events.model_replied import Usage
from callslip.core.message import Message

Finish = Literal["calls", "stop", "length", "filtered", "cut", "empty"]


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is shown of a tool."""

    name: str
    description: str
    input_schema: dict[str, Any]


class Searching(msgspec.Struct, frozen=True, kw_only=True):
    """Tools that the model can find with one of those it is shown (DEFR-07).

    A provider with a tool search of its own may be given them in its own form, as long as what was found with
    ``tool`` is what its model is shown. Any other ignores this: ``Request.tools`` holds all that can be called.
    """

    tool: str
    """The tool among ``Request.tools`` that finds more."""
    found: tuple[str, ...]
    """Those of ``Request.tools`` that this turn has found, in the order in which they came. The result of the search
    that found one names it (``ResultMessage.found``), as long as that is shown; what was found without a search,
    because it fits what was said, is named by none."""
    deferred: tuple[ToolView, ...]
    """What else can be found, in a fixed order."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolView, ...]
    stream: bool = False
    tool_choice: Literal["auto", "none", "required"] = "auto"
    only: str = ""
    """With ``required``: the one tool that must be called; empty: any."""
    searching: Searching | None = None
    """Set where more tools can be found than are shown."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the model emitted it. ``arguments`` is raw text, or an object where the provider sends one."""

    tool: str
    arguments: str | dict[str, Any]
    provider_id: str = ""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A whole reply. With ``finish`` ``length``, ``cut``, ``filtered`` or ``empty`` there are no proposals."""

    text: str
    proposals: tuple[Proposal, ...]
    finish: Finish
    usage: Usage = Usage()
    model: str = ""
    """As the provider names what answered."""
    kept: tuple[Any, ...] = ()
    """JSON values that this provider may want back to the letter with the next request (WIRE-05)."""


class Delta(msgspec.Struct, frozen=True, kw_only=True):
    """A fragment while the reply streams: for eyes only, never a fact."""

    text: str = ""
    tool: str = ""


OnDelta = Callable[[Delta], None]


class Model(Protocol):
    @property
    def name(self) -> str:
        """``provider:model``, as it stands in the log."""
        ...

    async def reply(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        """Ask once.

        Raises:
            ModelUnavailable: no answer, or one that is none (status, HTML, broken JSON).
        """
        ...


class Chooser(Protocol):
    """A model that is several: each step is asked of the one it chooses (ORCH-06)."""

    def choose(self, request: Request) -> Model:
        """The model for this request; the same again for the same request."""
        ...
