"""Until when an attempt may go on: its tool's time limit, or what is left of the turn, whichever is less (RESI-03).

In the log a deadline stands by the wall clock, for whoever comes after a crash. What is waited for while the process
lives is counted by the monotonic clock from the same moment, so that a clock that is set makes nothing end early or
never.
"""

from __future__ import annotations

from typing import NamedTuple

from callslip.core.tool import ToolSpec
from callslip.runtime.drive import Drive


class Deadline(NamedTuple):
    """One moment by both clocks."""

    at: int
    """Milliseconds since 1970, UTC."""
    until: float
    """Seconds, monotonic."""
    of_turn: bool
    """Whether it is the turn that is over then, and not only the tool's time."""


def deadline(drive: Drive, spec: ToolSpec) -> Deadline:
    """The deadline of an attempt that is dispatched now."""
    clock = drive.parts.clock
    milliseconds, of_turn = spec.timeout_ms, False
    left = drive.time_left()
    if left is not None and left * 1000 < milliseconds:
        milliseconds, of_turn = max(round(left * 1000), 0), True
    return Deadline(clock.now() + milliseconds, clock.monotonic() + milliseconds / 1000, of_turn)
