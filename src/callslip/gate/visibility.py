"""Whether the tool was shown to the model in this very step, and may be called by whoever calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from callslip.core.counting import SEARCH
from callslip.core.events.model_requested import VisibleTool
from callslip.core.instead import FALLBACK
from callslip.core.result import Status
from callslip.core.routing import SELECT
from callslip.core.undoing import REVERT
from callslip.gate.catalogue import Catalogue, Entry
from callslip.gate.lookup import lookup
from callslip.gate.refusal import Refusal


def resolve(name: str, visible: Sequence[VisibleTool], catalogue: Catalogue, caller: str) -> Entry | Refusal:
    """The bound tool behind a visible name.

    A step keeps its recorded visible set for ever; a tool that has gone since is not found, and a changed one is
    judged by what it is today (RECO-04).
    """
    if not any(tool.name == name for tool in visible):
        return Refusal(
            status=Status.NOT_FOUND, code="unknown_tool", message=f"There is no tool named {name!r} in this step."
        )
    entry = catalogue.get(name)
    if entry is None:
        return Refusal(
            status=Status.NOT_FOUND,
            code="tool_gone",
            message=f"The tool {name!r} is no longer available. Nothing was executed; do without it.",
        )
    # What undoes a call, or stands in for it, is named by that call's tool, and need not be one that models are shown.
    if caller not in {REVERT, FALLBACK} and caller not in entry.executor.spec.callable_from:
        return Refusal(
            status=Status.PERMISSION_DENIED,
            code="not_callable_from",
            message=f"The tool {name!r} can't be called from a {caller}.",
        )
    return entry


def not_shown(
    name: str, visible: Sequence[VisibleTool], catalogue: Catalogue, no_room: Callable[[str], str] | None = None
) -> Refusal | None:
    """What is said of a tool that a model can find and was not shown; ``None``: there is none of that name.

    It tells no more than any model may know: what can be found is listed to it. ``no_room``: why a tool can't be shown
    now; then nobody is told to search for it.
    """
    if not catalogue.deferred or not any(tool.name == SEARCH for tool in visible):
        return None
    found = lookup(name, (entry.executor.spec.name for entry in catalogue.discoverable))
    if isinstance(found, Refusal):
        return None
    why = "" if no_room is None else no_room(found)
    helps = (
        f"It can't be shown now: {why}."
        if why
        else "If you have just searched for it, call it in your next step. Otherwise find it first: "
        f"{SEARCH} with the query {SELECT + found!r}."
    )
    return Refusal(
        status=Status.NOT_FOUND,
        code="not_shown",
        message=f"{found} is there, but was not shown to you in this step, so nothing was executed. {helps}",
        retryable=not why,
    )
