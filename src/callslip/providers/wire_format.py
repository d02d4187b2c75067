"""One provider's wire, as pure translation: what is sent for a request, and what an answer means. No HTTP, no clock.

``HttpModel`` sends and receives; a :class:`Format` says what. To add a provider, write a Format and name it in
``build``.
"""

from __future__ import annotations

from typing import Any, Protocol

from callslip.ports.model import Delta, Reply, Request
from callslip.providers.offered import Offered


class BrokenOff(Exception):
    """The provider said, in the middle of an answer, that it failed. ``error`` is what it said: an object or a text."""

    def __init__(self, error: Any) -> None:
        super().__init__("the provider broke off")
        self.error = error


class Assembly(Protocol):
    """A streamed reply while it comes."""

    started: bool
    """Whether anything of a reply has come."""

    def add(self, name: str, data: dict[str, Any], /) -> list[Delta]:
        """Take in one event (``name`` is "message" where the server gave none); what of it may be shown already.

        Raises:
            BrokenOff: the event is an error.
        """
        ...

    def reply(self, *, broken: bool) -> Reply:
        """The reply as it stands. ``broken``: the connection failed, so it counts as cut whatever it says."""
        ...


class Exchange(Protocol):
    """One request and the reading of its answer, which needs the names and schemas that were sent."""

    path: str
    """To be appended to the base URL, with its query."""
    body: dict[str, Any]
    offered: Offered
    """The tools as they are told."""

    def whole(self, body: dict[str, Any]) -> Reply | None:
        """The reply that came in one piece; ``None`` when the JSON is none.

        Raises:
            BrokenOff: the body is an error.
        """
        ...

    def assembly(self) -> Assembly: ...


class Format(Protocol):
    """One provider's API."""

    name: str
    """As it stands before the colon of a model's name."""
    model: str

    def headers(self, key: str | None) -> dict[str, str]:
        """Those by which the provider knows who asks, and which version of its API is meant."""
        ...

    def exchange(self, request: Request) -> Exchange:
        """Translate a request.

        Raises:
            StillWaiting: a call of the history has no result yet, so no provider would take the request.
            UsageError: a result without its call, or a second one for the same call.
        """
        ...
