"""How a session stands between two runs of a chat: what is open in it, and what the person can do about that.

It is read from the folded log alone, so a chat that was killed and begun again stands where the one before stood.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from callslip.core.state import SessionState
from callslip.core.wait import WaitKind

Mode = Literal["free", "paused", "waiting", "failed", "unread", "broken_off"]
"""``paused``: the turn is open and nothing is in its way. ``unread``: no turn is, but words are kept that the model has
not read. ``broken_off``: its process has ended in the middle of a run."""

_TAKEN_BACK = frozenset({WaitKind.APPROVAL, WaitKind.QUESTION})
"""What ends when its user says something else: nothing has happened yet."""


def mode_of(state: SessionState) -> Mode:
    """How it stands."""
    if state.run_open:
        return "broken_off"
    open_turn = bool(state.turn_open or state.open_calls())
    if not (open_turn or state.queued):
        return "free"
    if state.last_status == "failed":
        return "failed"
    if state.waits and open_turn:
        return "waiting"
    return "paused" if open_turn else "unread"


def steers(state: SessionState) -> bool:
    """Whether words go into a turn that is open, and so are read at its next step."""
    return bool(state.turn_open or state.open_calls())


def hint(mode: Mode, kinds: Collection[WaitKind] = ()) -> str:
    """What can be done now, as far as that is not just to say something; ``kinds`` are those of the open waits."""
    match mode:
        case "paused":
            return "Paused. Say something to steer it; Enter goes on; /stop ends the turn."
        case "waiting":
            what = "One thing is" if len(kinds) == 1 else f"{len(kinds)} things are"
            if _TAKEN_BACK.issuperset(kinds):
                return f"{what} left open: /waits asks again. What you say instead ends it, and is read at once."
            return f"{what} left open: /waits asks again. What you say is kept, and read once all of it has come."
        case "failed":
            return "Not answered. /go asks again; /model NAME takes another model."
        case "unread":
            return (
                "Your last words are not read yet: Enter has them read, and what you say next goes along with them; "
                "/stop takes them back."
            )
        case "broken_off":
            return "A run of it has not ended. Enter goes on with it, unless another process still drives it."
    return ""


def enter_goes_on(mode: Mode) -> bool:
    """Whether an empty line means to go on."""
    return mode in {"paused", "unread", "broken_off"}
