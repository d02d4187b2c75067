"""A model that gives replies written beforehand: for tests, demos and crash runs.

The reply is picked by the number of assistant messages in the request, not by a counter, so that a process that was
killed and started again continues at the right place. It follows that every reply, an incomplete one too, must show
in the history as an assistant message before the next one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from callslip.core.message import AssistantReply
from callslip.errors import ModelUnavailable
from callslip.ports.model import Delta, OnDelta, Proposal, Reply, Request

T = TypeVar("T")

ScriptedReply = Reply | str | Callable[[Request], Reply]
"""A reply, a final answer's text, or a function of the request."""


class Scripted:
    """Gives ``replies`` in order. ``requests`` holds every request it was sent, in this process."""

    def __init__(self, replies: Sequence[ScriptedReply], name: str = "scripted:test") -> None:
        self._replies = tuple(replies)
        self._name = name
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    async def reply(self, request: Request, on_delta: OnDelta | None = None) -> Reply:
        """The reply that is due.

        Raises:
            ModelUnavailable: the script is at its end.
        """
        self.requests.append(request)
        scripted = at_position(self._replies, request, self._name)
        if callable(scripted):
            scripted = scripted(request)
        reply = saying(scripted) if isinstance(scripted, str) else scripted
        if on_delta is not None and request.stream:
            show(reply, on_delta)
        return reply


def position(request: Request) -> int:
    """How many replies the request's history holds, which is the place of the next one."""
    return sum(isinstance(message, AssistantReply) for message in request.messages)


def at_position(replies: Sequence[T], request: Request, name: str) -> T:
    """The reply that is due for this request, or an error that says how far the script goes."""
    place = position(request)
    if place >= len(replies):
        raise ModelUnavailable(
            f"{name} holds {len(replies)} replies, and reply {place + 1} was asked for. Nothing was executed, and "
            "the session can be resumed. Add the missing reply, or find out why the run takes one step more."
        )
    return replies[place]


def saying(text: str) -> Reply:
    """A final answer."""
    return Reply(text=text, proposals=(), finish="stop" if text.strip() else "empty")


def calling(*calls: tuple[str, str | Mapping[str, Any]], text: str = "") -> Reply:
    """A reply with calls, each a tool's name and its arguments; the provider ids are ``p1``, ``p2`` and so on."""
    proposals = tuple(
        Proposal(
            tool=tool,
            arguments=arguments if isinstance(arguments, str) else dict(arguments),
            provider_id=f"p{number}",
        )
        for number, (tool, arguments) in enumerate(calls, 1)
    )
    return Reply(text=text, proposals=proposals, finish="calls")


def show(reply: Reply, on_delta: OnDelta) -> None:
    """Show a whole reply as a stream would have."""
    if reply.text:
        on_delta(Delta(text=reply.text))
    for proposal in reply.proposals:
        on_delta(Delta(tool=proposal.tool))
