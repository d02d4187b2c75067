"""End what a call waited for, in the commit that makes the waiting pointless."""

from __future__ import annotations

from callslip.core.events.wait_closed import WaitClosed
from callslip.core.wait import WaitKind
from callslip.runtime.drive import Drive

_ASKED = {WaitKind.APPROVAL, WaitKind.QUESTION}
"""Waits that are questions to a person."""


def closing(drive: Drive, call_id: str) -> list[WaitClosed]:
    """A wait_closed for each open wait of the call: a question to a person is withdrawn, anything else settled."""
    return [
        WaitClosed(wait_id=wait.wait_id, how="withdrawn" if wait.kind in _ASKED else "settled", actor="callslip")
        for wait in drive.state.waits.values()
        if wait.call_id == call_id
    ]
