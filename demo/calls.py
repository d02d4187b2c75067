"""What the log says of one tool's calls: for claims about it."""

from __future__ import annotations

from collections.abc import Sequence

from callslip.core.event import Event
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.call_parked import CallParked
from callslip.core.events.function_call import FunctionCall
from callslip.core.events.function_response import FunctionResponse
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened

BY_PROBE = "settled by its probe"
"""The note on an answer that a probe gave."""

Log = Sequence[tuple[int, Event]]


def ids(log: Log, tool: str) -> set[str]:
    """The calls of that tool."""
    return {event.call_id for _, event in log if isinstance(event, FunctionCall) and event.tool == tool}


def dispatches(log: Log, tool: str) -> list[int]:
    """Where its T1s stand."""
    return [seq for seq, event in log if isinstance(event, ToolDispatch) and event.tool == tool]


def approvals(log: Log, tool: str) -> list[str]:
    """The approvals that its T1s have used up."""
    return [event.approval for _, event in log if isinstance(event, ToolDispatch) and event.tool == tool]


def questions(log: Log, tool: str) -> list[ApprovalRequested]:
    """What people were asked about its calls."""
    return [event for _, event in log if isinstance(event, ApprovalRequested) and event.tool == tool]


def decisions(log: Log, tool: str) -> list[ApprovalDecided]:
    """What stands there as people's answers."""
    own = ids(log, tool)
    return [event for _, event in log if isinstance(event, ApprovalDecided) and event.call_id in own]


def responses(log: Log, tool: str) -> list[FunctionResponse]:
    """Its answers, settled or refused."""
    own = ids(log, tool)
    return [event for _, event in log if isinstance(event, FunctionResponse) and event.call_id in own]


def parked(log: Log, tool: str) -> int:
    """How many of its calls were parked."""
    own = ids(log, tool)
    return sum(isinstance(event, CallParked) and event.call_id in own for _, event in log)


def waits(log: Log) -> list[str]:
    """The waits that are open."""
    closed = {event.wait_id for _, event in log if isinstance(event, WaitClosed)}
    return [event.wait_id for _, event in log if isinstance(event, WaitOpened) and event.wait_id not in closed]
