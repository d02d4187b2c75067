"""Which tools the next request shows: the pinned ones, what this turn has found, and what fits what was just said
(DEFR-01, DEFR-03, DEFR-04).

Decided from the log and what is bound, so a run that resumes shows the same; what it shows is recorded with the reply.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence

import msgspec

from callslip.agent.unless_stopped import unless_stopped
from callslip.core.activation import Found, Room, admit
from callslip.core.counting import SEARCH
from callslip.core.events.model_requested import VisibleTool
from callslip.core.state import QueuedMessage
from callslip.ports.finder import Finder
from callslip.ports.model import Searching
from callslip.runtime.activating import active
from callslip.runtime.drive import Drive
from callslip.runtime.live import Waiting
from callslip.runtime.parts import Parts

_LONG = 1.0
"""Seconds after which whoever looks on is told what is waited for, and between two looks until it is known."""
_log = logging.getLogger(__name__)


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What one request shows."""

    visible: tuple[VisibleTool, ...]
    preselected: tuple[str, ...] = ()
    """Those that are there because they fit, best first."""
    searching: Searching | None = None


async def show(drive: Drive, consume: Sequence[QueuedMessage], turn: int) -> Shown:
    """What the next request of this turn shows, in an order in which only the end changes within a turn.

    Raises:
        Interrupted: a stop came before it was known.
    """
    parts, state = drive.parts, drive.state
    pinned = parts.catalogue.visible()
    if parts.finder is None:
        return Shown(visible=pinned)
    carried = turn == state.turn or (not state.turn and state.forked is not None)
    known = active(parts, state.activated) if carried else []
    preselected = await _preselect(drive, _said(drive, consume, turn), turn, pinned, known)
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
    drive: Drive, said: str, turn: int, pinned: Sequence[VisibleTool], known: Sequence[Found]
) -> tuple[Found, ...]:
    parts = drive.parts
    most = parts.routing.preselected(len(parts.catalogue.deferred))
    if parts.finder is None or not most or not said:
        return ()
    room = Room(parts.routing.tools, parts.routing.tokens)
    if len(known) >= room.up_to("guessed").tools:
        return ()
    visible = [tool.name for tool in pinned]
    without = {*visible, *(one.name for one in known)}
    work = _likely(drive, parts.finder, said, most, without)
    fitting = await unless_stopped(drive, work, new_turn=turn != drive.state.turn)
    wanted = [parts.catalogue.found(name) for name in fitting if name in parts.catalogue]
    return admit(wanted, visible=visible, active=known, room=room, sure="guessed").activated


async def _likely(drive: Drive, finder: Finder, said: str, most: int, without: Collection[str]) -> tuple[str, ...]:
    """What fits what was said. It is shown without anybody having asked for it, so that no run may fail by it."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def tell() -> None:
        nonlocal timer
        if doing := finder.doing:
            drive.parts.watch(Waiting(session=drive.session, reason=doing, until=None))
        else:
            timer = loop.call_later(_LONG, tell)

    timer = loop.call_later(_LONG, tell)
    try:
        return await finder.likely(said, most, without=without)
    except Exception:  # noqa: BLE001 - whatever it is, the model can search by itself
        if "finder" not in drive.parts.told:
            drive.parts.told.add("finder")
            _log.exception(
                "No tools were shown for what was said; models go on searching. Further failures are not told."
            )
        return ()
    finally:
        timer.cancel()


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
