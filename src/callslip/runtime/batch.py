"""All open calls of a step, side by side: each on its own way, their commits shared, their results in the model's
order (PARA-01, CALL-06).

An answer that comes from outside while siblings still run is acted upon at once.
"""

from __future__ import annotations

import asyncio

from callslip.runtime import advance, pausing
from callslip.runtime.drive import Drive, finished
from callslip.runtime.proofs import check_client_results

Running = dict[str, asyncio.Task[None]]


async def settle_step(drive: Drive) -> bool:
    """Bring every open call as far as it can come. Whether all of them have their responses."""
    async with drive.settling:
        return await _settle_step(drive)


async def _settle_step(drive: Drive) -> bool:
    await pausing.close_elapsed(drive)
    stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    running: Running = {}
    tried: set[str] = set()
    _start(drive, running, tried, stop)
    if running:
        async with drive.listening(), drive.timed():
            await _until_at_rest(drive, running, tried, stop)
    check_client_results(drive)
    return not drive.state.open_calls()


def _start(drive: Drive, running: Running, tried: set[str], stop: asyncio.Future[None]) -> None:
    """Start a task for each call that can move and has none, in the model's order."""
    for call in drive.state.open_calls():
        call_id = call.call.call_id
        if call_id not in running and advance.actionable(drive, call, first=call_id not in tried):
            tried.add(call_id)
            running[call_id] = task = asyncio.ensure_future(advance.advance(drive, call, stop))
            task.add_done_callback(lambda _: drive.changed.set())


async def _until_at_rest(drive: Drive, running: Running, tried: set[str], stop: asyncio.Future[None]) -> None:
    failure: BaseException | None = None
    held = over = False
    try:
        while running:
            await drive.changed.wait()
            drive.changed.clear()
            for call_id, task in [(call_id, task) for call_id, task in running.items() if task.done()]:
                del running[call_id]
                # Looked at in every task, or asyncio says that one was lost.
                error = asyncio.CancelledError() if task.cancelled() else task.exception()
                if over and isinstance(error, asyncio.CancelledError):
                    continue  # by us: it had not begun, and the next run goes on with it
                failure = failure or error
            if failure is not None and not drive.paused:
                drive.paused = held = True  # nothing new begins; what is in the world ends in its own way
                drive.stir()
            if drive.state.stop and not stop.done():
                drive.why_stopped = drive.why_stopped or "the session was asked to stop"
                stop.set_result(None)  # no new attempts; those in the world are awaited and recorded
            if drive.out_of_time and not over:
                over = True
                _give_up_waiting(drive, running)
            if failure is None and drive.may_begin():
                _start(drive, running, tried, stop)
    finally:
        if held:
            drive.paused = False
        drive.why_stopped = drive.why_stopped or "its run was ended"
        await _abandon(running)
    if failure is not None:
        raise failure


def _give_up_waiting(drive: Drive, running: Running) -> None:
    """The turn has used its time: what waits to begin does so no longer. What is in the world has its own deadline."""
    for call_id, task in running.items():
        call = drive.state.calls.get(call_id)
        if call is None or call.dispatch is None or call.failed is not None:
            task.cancel()


async def _abandon(running: Running) -> None:
    """We were cancelled, or one of them failed: pass it on, and wait until each has recorded what it dispatched."""
    if not running:
        return
    for task in running.values():
        task.cancel()
    await finished(asyncio.ensure_future(asyncio.wait(running.values())))
    for task in running.values():
        if not task.cancelled():
            task.exception()  # looked at, or asyncio says that one was lost
