"""Read out of a session's records what its turns had to find, and what they called (DEFR-06). Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec

from callslip.core import canon
from callslip.core.counting import SEARCH
from callslip.core.erasure import TEXT
from callslip.core.event import Event, Stored
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.model_replied import ModelReplied
from callslip.core.events.model_requested import ModelRequested
from callslip.core.events.session_forked import SessionForked
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.user_message import UserMessage
from callslip.core.payload import SEALED, Payload
from callslip.core.result import Status
from callslip.core.routing import selects
from callslip.core.undoing import REVERT
from callslip.stats.routing.turn import Query, Saying, Search, Turn, Use

NOT_SHOWN = "not_shown"
"""Code of a call of a tool that can be found, and was not shown."""
_PREFIX = "functions."


class _Call(msgspec.Struct, kw_only=True):
    """An open call of a turn."""

    turn: Turn
    step: int
    tool: str
    pinned: frozenset[str]
    runs: str = ""
    """The tool that was dispatched; empty: none was, or another one in its stead."""
    arguments: Any = None
    """Of a search: what it was given in the end."""
    address: str = ""


class Turns:
    """The turns of one session: :meth:`add` for each record, in order, then :attr:`found`."""

    def __init__(self, session: str) -> None:
        self.found: list[Turn] = []
        self._session = session
        self._turn: Turn | None = None
        self._visible: frozenset[str] = frozenset()
        self._active: set[str] = set()
        """What was offered in this turn."""
        self._carried: tuple[str, ...] = ()
        self._calls: dict[str, _Call] = {}
        self._queued: dict[int, str] = {}
        self._plan = ""
        """What the model said beside its latest calls."""
        self._ours = True
        """The step is not one that undoes a turn."""

    def wants(self, event: Event) -> Payload | None:
        """The payload that has to be read before the event is added."""
        if isinstance(event, ToolDispatch) and event.tool == SEARCH and event.call_id in self._calls:
            return event.arguments
        if isinstance(event, FunctionResponse) and event.status is Status.SUCCESS:
            call = self._calls.get(event.call_id)
            return event.structured if call is not None and call.tool == SEARCH else None
        return None

    def add(self, stored: Stored, text: bytes | None = None) -> None:
        """Take a record in. ``text``: what the payload that was wanted holds; ``None``: it can't be read."""
        take = self._TAKE.get(type(stored.record.event))
        if take is not None:
            take(self, stored.record.event, stored, text)

    # What was said and shown

    def _forked(self, event: SessionForked, stored: Stored, text: bytes | None) -> None:
        self._carried = tuple(tool.name for tool in event.activated)

    def _said(self, event: UserMessage, stored: Stored, text: bytes | None) -> None:
        self._queued[stored.seq] = event.text

    def _requested(self, event: ModelRequested, stored: Stored, text: bytes | None) -> None:
        if event.visible is not None:
            self._visible = frozenset(tool.name for tool in event.visible)
        self._ours = event.model != REVERT
        if not self._ours:
            return
        turn = self._turn
        if turn is None or turn.number != event.turn:
            turn = self._next(event.turn, stored.record.at)
        turn.steps += 1
        turn.ended = False
        said = [self._queued.pop(seq, "") for seq in event.consumed]
        words = _words([*said, self._plan])
        if words != "" or event.preselected:
            by_user = any(one.strip() for one in said)
            turn.sayings.append(Saying(step=turn.steps, text=words, tools=event.preselected, by_user=by_user))
            self._active.update(event.preselected)
        self._plan = ""
        if SEARCH in self._visible or self._active:
            turn.finds = True
        turn.shown += len(self._visible)
        turn.shown_found += len(self._visible & self._active)

    def _next(self, number: int, at: int) -> Turn:
        if self._turn is not None:
            self._turn.ended = True
        self._turn = turn = Turn(session=self._session, number=number, at=at, carried=self._carried)
        self._active, self._carried, self._plan = set(self._carried), (), ""
        self.found.append(turn)
        return turn

    def _replied(self, event: ModelReplied, stored: Stored, text: bytes | None) -> None:
        if self._ours and self._turn is not None:
            self._plan = event.text
            self._turn.ended = not event.calls

    # What was called

    def _proposed(self, event: FunctionCall, stored: Stored, text: bytes | None) -> None:
        turn = self._turn
        if turn is None or event.undoes or not self._ours:
            return
        tool = meant(event.tool)
        self._calls[event.call_id] = _Call(
            turn=turn, step=turn.steps, tool=tool, pinned=self._visible - frozenset(self._active)
        )
        if tool != SEARCH:
            turn.called[tool] = turn.steps

    def _dispatched(self, event: ToolDispatch, stored: Stored, text: bytes | None) -> None:
        call = self._calls.get(event.call_id)
        if call is None or event.instead is not None:
            return
        call.runs = event.tool
        if call.tool == SEARCH:
            call.arguments, call.address = _parsed(text), event.arguments.blob
        elif event.tool in self._active:
            call.turn.used.setdefault(event.tool, Use(step=call.step, unshown=False))

    def _answered(self, event: FunctionResponse, stored: Stored, text: bytes | None) -> None:
        call = self._calls.pop(event.call_id, None)
        if call is None:
            return
        if call.runs and event.status is Status.SUCCESS and event.fallback is None:
            call.turn.succeeded.setdefault(call.runs, []).append(call.step)
        if event.error_code == NOT_SHOWN:
            call.turn.finds = True
            call.turn.used.setdefault(call.tool, Use(step=call.step, unshown=True))
        elif call.tool == SEARCH:
            if event.status is Status.SUCCESS:
                self._searched(call, event, _parsed(text))
            else:
                call.turn.unanswered[event.error_code or event.status.value] += 1

    def _searched(self, call: _Call, event: FunctionResponse, answer: Any) -> None:
        activated = tuple(tool.name for tool in event.activated)
        queries = _queries(answer, call.arguments)
        ranked = queries is not None
        if queries is None:  # which tools became visible stands in the record itself
            queries = (Query(text=None, tools=activated),)
        kept = {call.address, event.structured.blob if event.structured is not None else ""}
        search = Search(
            step=call.step,
            queries=queries,
            ranked=ranked,
            no_room=_refused(answer),
            addresses=frozenset(filter(None, kept)),
        )
        search.pinned = call.pinned & frozenset(search.tools)
        call.turn.searches.append(search)
        if call.turn is self._turn:
            self._active.update(activated)

    # What is gone

    def _erased(self, event: BlobErased, stored: Stored, text: bytes | None) -> None:
        gone = set(event.addresses)
        for turn in self.found:
            for search in turn.searches:
                sealed = event.whole and any(one.startswith(SEALED) for one in search.addresses)
                if sealed or search.addresses & gone:
                    search.queries = tuple(msgspec.structs.replace(one, text=None) for one in search.queries)

    _TAKE: ClassVar[dict[type, Callable[[Turns, Any, Stored, bytes | None], None]]] = {
        SessionForked: _forked,
        UserMessage: _said,
        ModelRequested: _requested,
        ModelReplied: _replied,
        FunctionCall: _proposed,
        ToolDispatch: _dispatched,
        FunctionResponse: _answered,
        BlobErased: _erased,
    }


def meant(name: str) -> str:
    """The tool that a proposed name means, as the gate forgives it (``gate/lookup``)."""
    return name.strip().partition("(")[0].strip().removeprefix(_PREFIX)


def _words(said: list[str | None]) -> str | None:
    """What was said, together; ``None`` if some of it is gone."""
    if any(one is None or one == TEXT for one in said):
        return None
    return "\n".join(one.strip() for one in said if one and one.strip())


def _parsed(text: bytes | None) -> Any:
    if text is None:
        return None
    try:
        return canon.parse(text)
    except ValueError:
        return None


def _queries(answer: Any, arguments: Any) -> tuple[Query, ...] | None:
    """What the search says of each query; ``None``: it says nothing that can be read.

    The answer repeats only the beginning of a long query; what was asked stands in the arguments.
    """
    results = answer.get("results") if isinstance(answer, Mapping) else None
    if not isinstance(results, list) or not all(isinstance(one, Mapping) for one in results):
        return None
    asked = arguments.get("queries") if isinstance(arguments, Mapping) else None
    if not isinstance(asked, list) or len(asked) != len(results):
        asked = [one.get("query") for one in results]
    return tuple(
        Query(
            text=text if isinstance(text, str) else None,
            tools=_names(one.get("tools")),
            nothing=bool(one.get("nothing_fits")),
            nearest=_names(one.get("nearest")),
            named=isinstance(text, str) and selects(text),
        )
        for one, text in zip(results, asked, strict=True)
    )


def _refused(answer: Any) -> int:
    """How many tools there was no room for. A log may be of a version that gave each its reason."""
    said = answer.get("not_shown") if isinstance(answer, Mapping) else None
    rows = said if isinstance(said, list) else []
    return sum(len(_names(one["tools"])) if isinstance(one, Mapping) and "tools" in one else 1 for one in rows)


def _names(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
