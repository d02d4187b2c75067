"""Whether what a call rests on still holds: the tool of today for a recorded T1, an approval for another attempt."""

from __future__ import annotations

from typing import Any

from callslip.core import canon, erasure
from callslip.core.call import CallState
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.errors import LogBroken
from callslip.gate.catalogue import Entry
from callslip.runtime import payloads
from callslip.runtime.ask import changed
from callslip.runtime.drive import Drive
from callslip.runtime.judge import Cleared, judge_call


async def recorded(drive: Drive, call: CallState) -> tuple[ToolDispatch, Entry | None, dict[str, Any]]:
    """The latest T1, the tool of today if it can still take the recorded arguments, and those arguments."""
    dispatch = call.dispatch
    assert dispatch is not None
    text = await payloads.text(drive.parts.blobs, dispatch.arguments)
    if dispatch.arguments != erasure.NOTHING and canon.digest(text) != dispatch.arguments_digest:
        raise LogBroken(
            f"The dispatch of {call.call.call_id} in session {drive.session!r} holds other arguments than it says. "
            "Nothing was executed. Somebody has altered the log: find out who, and begin a new session."
        )
    arguments: dict[str, Any] = canon.parse(text)
    entry = drive.parts.catalogue.get(dispatch.tool)
    if entry is None:
        return dispatch, None, arguments
    # What may be repeated is the tool's own word, and never the record's alone.
    unchanged = entry.executor.version == dispatch.tool_version
    fits = entry.executor.spec.recovery is dispatch.recovery and (unchanged or not entry.arguments.errors(arguments))
    return dispatch, entry if fits else None, arguments


async def still(drive: Drive, call: CallState, cleared: Cleared) -> bool:
    """Whether the call is still permitted by the very same approval or grant, with the same arguments."""
    now = await judge_call(drive, call, instead=cleared.instead)
    return (
        isinstance(now, Cleared)
        and now.permitted == cleared.permitted
        and now.passed.arguments == cleared.passed.arguments
    )


async def void(drive: Drive, call: CallState) -> str | None:
    """Why what an attempt rested on does not hold for another one, as half a sentence (APPR-03); ``None``: it does.

    Its target is compared as it was asked about: the attempt before may have changed it. An attempt that names no
    approval is judged too: that nobody needed asking is the policy's word, and not the record's.
    """
    dispatch, entry, _ = await recorded(drive, call)
    same = entry is not None and entry.executor.version == dispatch.tool_version
    if dispatch.approval and not same:
        return "its tool has changed since it was approved"
    now = await judge_call(drive, call, repeats=True)
    if not isinstance(now, Cleared) or now.permitted.approval not in ("", dispatch.approval):
        return "what it was approved by does not hold any more" if dispatch.approval else "nobody has approved it"
    if same and canon.digest(now.passed.arguments.text) != dispatch.arguments_digest:
        return "it was dispatched with other arguments than today's gate lets through"
    asked = now.permitted.asked
    differs = () if asked is None else changed(drive, call, now.passed, asked.evidence, asked, asked.version)
    return differs[0] if differs else None
