"""Jobs in the background: what is recorded of a start (SPEC-06).

A tool that starts a job gives a handle, and the call goes on outside: nothing of it runs here and it holds no claim.
The start is recorded with the wait for the job in one commit. From then on the job is known, and is asked after by
``runtime/poll``, in whatever process drives the session at that time.
"""

from __future__ import annotations

from typing import Any

from callslip.core import canon, ids
from callslip.core.event import Event
from callslip.core.events.attempt_failed import AttemptFailed
from callslip.core.events.background_started import BackgroundStarted
from callslip.core.events.tool_dispatch import ToolDispatch
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.plain import to_plain
from callslip.core.result import Effect
from callslip.core.tool import ToolSpec
from callslip.core.wait import WaitKind
from callslip.runtime import payloads
from callslip.runtime.drive import Drive


async def started(drive: Drive, spec: ToolSpec, t1: ToolDispatch, value: Any) -> list[Event]:
    """What to append when a start, or the probe of one, has given this handle. Of a handle that can't be kept nobody
    could ask after the job again: then it is as unknown as if the handle had been lost.
    """
    plain = to_plain(value)
    text = canon.canonical(plain.value)
    why = ""
    if plain.notes or plain.blobs:
        why = "its handle has no JSON form"
    elif drive.parts.redactor.clean_json(text) != text:
        why = "its handle holds a secret, which may not be kept"
    if why:
        failed = AttemptFailed(
            call_id=t1.call_id,
            attempt=t1.attempt,
            nonce=t1.nonce,
            effect=Effect.UNKNOWN,
            code="handle_unusable",
            ended=True,
            internal=f"The job was started, and {why}, so it can't be found again.",
        )
        return [failed]
    now, limit = drive.parts.clock.now(), spec.background_timeout_ms
    started = BackgroundStarted(
        call_id=t1.call_id,
        attempt=t1.attempt,
        nonce=t1.nonce,
        handle=await payloads.store(drive.parts.blobs, text),
        wait_id=ids.wait_id("wait", drive.session),
        poll_at=now + spec.poll_after_ms,
        until=None if limit is None else now + limit,
    )
    wake_at = started.poll_at if started.until is None else min(started.poll_at, started.until)
    return [waiting(t1, started.wait_id, wake_at), started]


def waiting(t1: ToolDispatch, wait_id: str, wake_at: int) -> WaitOpened:
    """The wait for the job of a call."""
    reason = f"a job that {t1.tool} has started goes on"
    return WaitOpened(wait_id=wait_id, kind=WaitKind.BACKGROUND, reason=reason, call_id=t1.call_id, wake_at=wake_at)
