"""Make found tools visible from the next step on (DEFR-02, DEFR-03).

A search decides while it runs, so that its result can say what became of each tool; what it made visible stands in its
response, in the same commit. Until then the room is kept, so that siblings don't take it twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from callslip.core import activation
from callslip.core.activation import Admission, Found, Room, admit
from callslip.core.counting import CALLER
from callslip.core.events.model_requested import VisibleTool
from callslip.runtime.drive import Drive
from callslip.runtime.parts import Parts


def active(parts: Parts, known: dict[str, str]) -> list[Found]:
    """The tools among those, by name and version, that are still what was found."""
    there = (parts.catalogue.found(name) for name in known if name in parts.catalogue)
    return [one for one in there if one.version == known[one.name]]


def activate(drive: Drive, call_id: str, names: Iterable[str], named: Collection[str] = ()) -> Admission:
    """Take the tools in, for this call. The room is kept until :func:`let_go`. ``named``: those asked for by name."""
    catalogue = drive.parts.catalogue
    wanted = [catalogue.found(name) for name in names if name in catalogue]
    pinned = [tool.name for tool in catalogue.visible()]
    admission = admit(wanted, visible=pinned, active=_taking_room(drive), room=_room(drive), named=named)
    drive.activating[call_id] = [*drive.activating.get(call_id, ()), *admission.activated]
    return admission


def no_room(drive: Drive, name: str) -> str:
    """Why the bound tool can't become visible now, not even by its name; empty: it can, or it is about to."""
    found = drive.parts.catalogue.found(name)
    return activation.no_room(found, active=_taking_room(drive), room=_room(drive))


def _taking_room(drive: Drive) -> list[Found]:
    # A dispatcher's session has no turns that would end: there the latest count (for_caller), and none takes room.
    known = active(drive.parts, drive.state.activated) if _turns(drive) else []
    for siblings in drive.activating.values():
        known += siblings
    return known


def _room(drive: Drive) -> Room:
    routing = drive.parts.routing
    return Room(routing.tools, routing.tokens, turns=_turns(drive))


def _turns(drive: Drive) -> bool:
    step = drive.state.step
    return step is None or step.model != CALLER


def activated(drive: Drive, call_id: str) -> tuple[VisibleTool, ...]:
    """What the call has taken in, for its response."""
    found = drive.activating.get(call_id, ())
    return tuple(VisibleTool(name=one.name, version=one.version) for one in found)


def let_go(drive: Drive, call_id: str) -> None:
    """The call has ended: what it took in is in the log, or it is not and its room is free."""
    drive.activating.pop(call_id, None)
