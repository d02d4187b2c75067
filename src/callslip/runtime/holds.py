"""Whether what a call rests on still holds: the tool of today for a recorded T1, an approval for another attempt."""

from __future__ import annotations

from typing import Any

from callslip.core.call import CallState
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.gate.catalogue import Entry
from callslip.runtime import payloads
from callslip.runtime.ask import changed
from callslip.runtime.drive import Drive
from callslip.runtime.judge import Cleared, judge_call


async def recorded(drive: Drive, call: CallState) -> tuple[ToolDispatch, Entry | None, dict[str, Any]]:
    """The latest T1, the tool of today if it can still take the recorded arguments, and those arguments."""
    dispatch = call.dispatch
    assert dispatch is not None
    arguments: dict[str, Any] = await payloads.load(drive.parts.blobs, dispatch.arguments)
    entry = drive.parts.catalogue.get(dispatch.tool)
    if entry is None:
        return dispatch, None, arguments
    unchanged = entry.executor.version == dispatch.tool_version
    fits = entry.executor.spec.recovery is dispatch.recovery and not entry.arguments.errors(arguments)
    return dispatch, entry if unchanged or fits else None, arguments


async def still(drive: Drive, call: CallState, cleared: Cleared) -> bool:
    """Whether the call is still permitted by the very same approval or grant, with the same arguments."""
    now = await judge_call(drive, call)
    return (
        isinstance(now, Cleared)
        and now.permitted == cleared.permitted
        and now.passed.arguments == cleared.passed.arguments
    )


async def void(drive: Drive, call: CallState) -> str | None:
    """Why what an attempt rested on does not hold for another one, as half a sentence (APPR-03); ``None``: it does.

    Its target is compared as it was asked about: the attempt before may have changed it.
    """
    dispatch, entry, _ = await recorded(drive, call)
    if not dispatch.approval:
        return None
    if entry is None or entry.executor.version != dispatch.tool_version:
        return "its tool has changed since it was approved"
    now = await judge_call(drive, call)
    if not isinstance(now, Cleared) or now.permitted.approval not in ("", dispatch.approval):
        return "what it was approved by does not hold any more"
    asked = now.permitted.asked
    differs = () if asked is None else changed(drive, call, now.passed, asked.evidence, asked)
    return differs[0] if differs else None
