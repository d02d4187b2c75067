"""Which tools the next request shows: the pinned ones, what this turn has found, and what fits what was just said
(DEFR-01, DEFR-03, DEFR-04).

Decided from the log and what is bound, so a run that resumes shows the same; what it shows is recorded with the reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from callslip.core.activation import Found, Room, admit
from callslip.core.counting import SEARCH
from callslip.core.events.model_requested import VisibleTool
from callslip.core.state import QueuedMessage
from callslip.ports.model import Searching
from callslip.runtime.activating import active
from callslip.runtime.drive import Drive
from callslip.runtime.parts import Parts


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What one request shows."""

    visible: tuple[VisibleTool, ...]
    preselected: tuple[str, ...] = ()
    """Those that are there because they fit, best first."""
    searching: Searching | None = None


async def show(drive: Drive, consume: Sequence[QueuedMessage], turn: int) -> Shown:
    """What the next request of this turn shows, in an order in which only the end changes within a turn."""
    parts, state = drive.parts, drive.state
    pinned = parts.catalogue.visible()
    if parts.finder is None:
        return Shown(visible=pinned)
    carried = turn == state.turn or (not state.turn and state.forked is not None)
    known = active(parts, state.activated) if carried else []
    preselected = await _preselect(drive, _said(drive, consume, turn), pinned, known)
    found = [*known, *preselected]
    names = {tool.name for tool in pinned}
    more = tuple(VisibleTool(name=one.name, version=one.version) for one in found if one.name not in names)
    return Shown(
        visible=(*pinned, *more),
        preselected=tuple(one.name for one in preselected),
        searching=_searching(parts, known, names | {one.name for one in found}),
    )


def _said(drive: Drive, consume: Sequence[QueuedMessage], turn: int) -> str:
    """What was said since the request before: the user's words, and the model's plan as it called its tools."""
    state = drive.state
    words = [message.text for message in consume]
    if turn == state.turn and state.step is not None and state.step.turn == turn:
        words.append(state.step.text)
    return "\n".join(word for word in words if word.strip())


async def _preselect(
    drive: Drive, said: str, pinned: Sequence[VisibleTool], known: Sequence[Found]
) -> tuple[Found, ...]:
    parts = drive.parts
    most = parts.routing.preselected(len(parts.catalogue.deferred))
    if parts.finder is None or not most or not said:
        return ()
    room = Room(parts.routing.tools, parts.routing.tokens)
    if len(known) >= room.up_to("guessed").tools:
        return ()
    visible = [tool.name for tool in pinned]
    fitting = await parts.finder.likely(said, most, without={*visible, *(one.name for one in known)})
    wanted = [parts.catalogue.found(name) for name in fitting if name in parts.catalogue]
    return admit(wanted, visible=visible, active=known, room=room, sure="guessed").activated


def _searching(parts: Parts, known: Sequence[Found], shown: set[str]) -> Searching:
    deferred = [entry.view for entry in parts.catalogue.discoverable if entry.executor.spec.name not in shown]
    return Searching(tool=SEARCH, found=tuple(one.name for one in known), deferred=tuple(deferred))


def for_caller(drive: Drive, names: Iterable[str] | None) -> tuple[VisibleTool, ...]:
    """The visible set of a dispatcher's step: as it says, or the pinned tools and what its session has found. Its turns
    are not known, so that nothing would ever be released: the latest that there is room for count.

    Raises:
        ToolDefinitionError: a name that is not bound.
    """
    pinned = drive.parts.catalogue.visible(names)
    if names is not None or not drive.state.activated:
        return pinned
    shown = {tool.name for tool in pinned}
    routing = drive.parts.routing
    known = [one for one in active(drive.parts, drive.state.activated) if one.name not in shown]
    room = Room(routing.tools, routing.tokens)
    latest = admit(known[::-1], visible=(), active=(), room=room, sure="named").visible
    chosen = [one for one in known if one.name in latest]
    return (*pinned, *(VisibleTool(name=one.name, version=one.version) for one in chosen))
