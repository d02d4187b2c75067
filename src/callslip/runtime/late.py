"""What an attempt came to after its call was given up: kept as a fact, never as a second answer (RESI-03)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from callslip.core import canon
from callslip.core.event import draft
from callslip.core.events.late_outcome import LateOutcome
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.plain import to_plain
from callslip.errors import CallslipError, Moved
from callslip.runtime import payloads
from callslip.runtime.drive import Drive

_TRIES = 20
_tasks: set[asyncio.Task[None]] = set()


class Late:
    """Takes what an attempt gives too late, from any thread, and records it once the call has its outcome.

    It is recorded as by an outsider: by then the run may have ended. ``beaten``: the other execution of the same
    attempt has answered.
    """

    beaten = False

    def __init__(self, drive: Drive, t1: ToolDispatch) -> None:
        self._drive = drive
        self._t1 = t1
        self._loop = asyncio.get_running_loop()
        self._came: tuple[Any, BaseException | None] | None = None
        self._settled = False
        self._recording: asyncio.Task[None] | None = None

    def __call__(self, value: Any, error: BaseException | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, value, error)

    def settled(self) -> None:
        """The call's own outcome is in the log, or could not be put there."""
        self._settled = True
        self._record()

    async def recorded(self) -> None:
        """What came until the pass before this one is in the log, or could not be put there."""
        await asyncio.sleep(0)  # what was handed over a moment ago is taken first
        if self._recording is not None:
            await asyncio.wait([self._recording])

    def _take(self, value: Any, error: BaseException | None) -> None:
        if self._came is None:
            self._came = (value, error)
            self._record()

    def _record(self) -> None:
        if self._settled and self._came is not None and self._recording is None:
            self._recording = self._loop.create_task(_record(self._drive, self._t1, *self._came, self.beaten))
            _tasks.add(self._recording)
            self._recording.add_done_callback(_tasks.discard)


async def _record(drive: Drive, t1: ToolDispatch, value: Any, error: BaseException | None, beaten: bool) -> None:
    with contextlib.suppress(CallslipError):  # nothing rests on it: the call is settled or parked without it
        await _append(drive, t1, value, error, beaten)


async def _append(drive: Drive, t1: ToolDispatch, value: Any, error: BaseException | None, beaten: bool) -> None:
    parts = drive.parts
    text = parts.redactor.clean_json(canon.canonical(to_plain(value).value))
    event = LateOutcome(
        call_id=t1.call_id,
        attempt=t1.attempt,
        nonce=t1.nonce,
        ok=error is None,
        result=await payloads.store(parts.blobs, text) if error is None else None,
        internal="" if error is None else parts.redactor.clean(f"{type(error).__name__}: {error}"),
        beaten=beaten,
    )
    record = draft(event, at=parts.clock.now(), by="late", epoch=0, run="")
    for _ in range(_TRIES):
        head = (await parts.ledger.heads(drive.session))[0]
        try:
            await parts.ledger.decide(drive.session, [record], expected=head.seq)
        except Moved:
            continue
        return
