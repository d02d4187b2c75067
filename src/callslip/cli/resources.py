"""``callslip resources``: who holds what, and who waits for it."""

from __future__ import annotations

from callslip.cli import look
from callslip.cli.app import runtime_for
from callslip.cli.command import command
from callslip.cli.document import print_document
from callslip.cli.look import Cell
from callslip.cli.moments import span
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.ports.authority import Standing


@command
async def resources(given: Given) -> int:
    """List the calls that hold something at this moment, or wait for it: files, things that only one may use at a
    time, slots of limited services. In the order in which they came, over all processes of the state folder; since when
    it is held, or waited for.
    """
    async with runtime_for(given, "look") as runtime:
        found = runtime.parts.authority.standing()
    if given.as_json:
        print_document({"resources": [_document(one) for one in found]})
    elif not found:
        look.say("Nothing is held, and nobody waits for anything.")
    else:
        rows = [
            (
                Cell("holds", "green") if one.granted else Cell("waits", "yellow"),
                Cell(one_line(", ".join(one.claims))),
                Cell(one_line(one.holder.tool)),
                Cell(one_line(one.holder.session)),
                Cell(one.holder.call_id),
                Cell(_process(one), "magenta" if one.gone else None),
                Cell(span(round((one.seconds if one.held is None else one.held) * 1000))),
            )
            for one in found
        ]
        look.table(("state", "what", "tool", "session", "call", "process", "for"), rows)
        if any(one.gone for one in found):
            look.hang("", _OUTLIVED, dim=True)
    return 0


_OUTLIVED = (
    "A process that is gone has left something running that it started. What it held is given to others once that has "
    "ended, too: wait for it, or end it."
)


def _process(one: Standing) -> str:
    """Its id; of one that has ended, that it has."""
    if one.gone:
        return f"{one.holder.process} is gone, its child holds"
    return str(one.holder.process or "")


def _document(one: Standing) -> dict[str, object]:
    return {
        "claims": list(one.claims),
        "granted": one.granted,
        "session": one.holder.session,
        "call_id": one.holder.call_id,
        "tool": one.holder.tool,
        "process": one.holder.process,
        "process_gone": one.gone,
        "seconds": round(one.seconds, 3),
        "held_seconds": None if one.held is None else round(one.held, 3),
    }
