"""A call's way through its breaker: let through or not, and what its end tells of the tool (RESI-04)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from callslip.core import breaker, claim
from callslip.core.breaker import Heard
from callslip.core.call import CallState
from callslip.core.events.breaker_opened import BreakerOpened
from callslip.core.result import Status
from callslip.core.tool import ToolSpec
from callslip.errors import ToolFailed
from callslip.gate.pipeline import Passed
from callslip.gate.refusal import Refusal
from callslip.ports.breakers import Barred, Breakers
from callslip.runtime.drive import Drive
from callslip.runtime.holds import recorded
from callslip.runtime.outcome import Attempt, Failure, Raised, Returned, Stopped, TimedOut
from callslip.runtime.parts import Parts

_DIED = frozenset({"process_died", "process_failed"})
"""Codes of what happened to a tool's own process (``sources/child``): said of the tool, and not by it."""
_WAITING = 60.0
"""Seconds that whoever tries an open breaker has beyond its time limit, for what comes before and after."""
_LONGEST = 200
"""Characters of a target that are told."""
_LOOK = 1.0
"""Seconds until a call looks again that waits for another one to try it."""


def barred(parts: Parts, spec: ToolSpec, arguments: Mapping[str, Any]) -> Barred | None:
    """Whether the tool is left alone now."""
    breakers = _breakers(parts, spec)
    return None if breakers is None else breakers.barred(breaker.key(spec.name, _target(spec, arguments)))


def enter(drive: Drive, call_id: str, spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
    """Ask for the way, and take the place of the one call that tries an open breaker if there is one. Whether the call
    may be made; :func:`ended` or :func:`leave` must follow.
    """
    leave(drive, call_id)
    breakers = _breakers(drive.parts, spec)
    if breakers is None:
        return True
    key = breaker.key(spec.name, _target(spec, arguments))
    way = breakers.enter(key, spec.timeout_ms / 1000 + drive.parts.limits.grace + _WAITING)
    if isinstance(way, Barred):
        return False
    drive.ways[call_id] = way
    return True


def closed(drive: Drive, call_id: str, spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
    """Whether the breaker of a call that is under way is closed: nobody is kept out, and this call is none that tries
    it.
    """
    breakers, mine = _breakers(drive.parts, spec), drive.ways.get(call_id)
    if breakers is None:
        return True
    if mine is not None and mine.trial:
        return False
    way = breakers.enter(breaker.key(spec.name, _target(spec, arguments)), _LOOK)
    if isinstance(way, Barred):
        return False
    if way.trial:  # its time has come, but this is not the call that tries it
        breakers.leave(way, Heard.NOTHING)
    return not way.trial


def ended(
    drive: Drive, call_id: str, spec: ToolSpec, arguments: Mapping[str, Any], heard: Heard
) -> BreakerOpened | None:
    """Say how the call ended; the event of the breaker that this has opened."""
    way = drive.ways.pop(call_id, None)
    if way is None or drive.parts.breakers is None:
        return None
    opened = drive.parts.breakers.leave(way, heard)
    if opened is None:
        return None
    return BreakerOpened(
        call_id=call_id,
        tool=spec.name,
        target=drive.parts.redactor.clean(_target(spec, arguments)),
        reason=opened.reason,
        until=drive.parts.clock.now() + math.ceil(opened.again_in * 1000),
    )


def leave(drive: Drive, call_id: str) -> None:
    """Give the way back if nothing was heard of the call: a call that tries an open breaker would keep others out."""
    way = drive.ways.pop(call_id, None)
    if way is not None and drive.parts.breakers is not None:
        drive.parts.breakers.leave(way, Heard.NOTHING)


async def enter_again(drive: Drive, call: CallState) -> int | None:
    """:func:`enter` for a call that was dispatched before, and whose outcome is unknown. It can't be refused any more;
    so where its tool is left alone it waits until then, in milliseconds since 1970.
    """
    _, entry, arguments = await recorded(drive, call)
    if entry is None or enter(drive, call.call.call_id, entry.executor.spec, arguments):
        return None
    found = barred(drive.parts, entry.executor.spec, arguments)
    seconds = _LOOK if found is None or found.again_in is None else found.again_in
    return drive.parts.clock.now() + max(math.ceil(seconds * 1000), 1)


def heard(attempt: Attempt, failure: Failure | None) -> Heard:
    """What the end of an attempt tells of the tool and what stands behind it.

    Only what a tool is to blame for counts as its failure, the death of its process included: not what it says of the
    call (``ToolFailed`` that does not pass, a status such as 404), and not that it was stopped, or that its turn had no
    more time.
    """
    if isinstance(attempt, Returned):
        return Heard.SUCCESS
    match attempt:
        case TimedOut():
            return Heard.TIMEOUT if attempt.began and not attempt.of_turn else Heard.NOTHING
        case Stopped():
            return Heard.NOTHING
        case Raised(error=ToolFailed() as error):
            if error.transient or error.tool_code in _DIED:
                return Heard.FAILURE
            return Heard.NOTHING if error.tool_code == "cancelled" else Heard.ANSWER
    fault = failure.fault if failure is not None else None
    if fault is None or fault.transient is not False:
        return Heard.FAILURE
    return Heard.ANSWER if fault.said.startswith("status ") else Heard.NOTHING


def refusal(parts: Parts, passed: Passed, found: Barred, also: str = "") -> Refusal:
    """What the model is told of a call that is not made. It is told the target, or it would do without the others, too.
    ``also``: what became of its fallback, as a sentence.
    """
    spec = passed.entry.executor.spec
    tool, target = spec.name, _target(spec, passed.arguments.value)
    at, advice = "", "Use another tool, do without it, or tell the user that it does not work now."
    if target and claim.varies(spec.target or ""):
        at = f" with the target {_shortened(parts.redactor.clean(target))!r}"
        advice = f"With other targets it may work. For this one, {advice[0].lower()}{advice[1:]}"
    since = f"It has been left alone for {_span(found.open_for)}"
    again = "one call tries it now" if found.again_in is None else f"it is tried again in {_span(found.again_in)}"
    return Refusal(
        status=Status.RETRYABLE_ERROR,
        code="breaker_open",
        message=f"{tool} fails at the moment{at}: {found.reason}. {since}, and {again}. Nothing was executed. "
        f"{also + ' ' if also else ''}{advice}",
        retryable=True,
    )


def _breakers(parts: Parts, spec: ToolSpec) -> Breakers | None:
    """A client's own tools are no concern of ours: nothing is called here."""
    return parts.breakers if spec.breaker and not spec.client_owned else None


def _target(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    return " ".join(claim.fill((spec.target,), arguments)) if spec.target else ""


def _shortened(target: str) -> str:
    return target if len(target) <= _LONGEST else f"{target[:_LONGEST]}…"


def _span(seconds: float) -> str:
    whole = math.ceil(seconds)
    return f"{whole} s" if whole < 120 else f"{math.ceil(whole / 60)} min"
