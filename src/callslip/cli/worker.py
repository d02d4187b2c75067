"""``callslip worker``: drive whatever can go on."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

import click

from callslip.application import Runtime
from callslip.cli import look, moments
from callslip.cli.app import runtime_for
from callslip.cli.command import driving_command
from callslip.cli.document import print_document
from callslip.cli.drive import interrupts
from callslip.cli.failure import BROKEN, DONE, code_of
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.errors import CallslipError
from callslip.notify.notifier import LAST
from callslip.worker import OnError, Worker

_WELL = {"driving", "finished", "waiting", "stopped", "taken"}
_MARKS = {"driving": "next", "finished": "ok", "waiting": "wait", "stopped": "warn"}


@driving_command
@click.option("--concurrency", type=click.IntRange(min=1), default=4, show_default=True, help="Sessions at a time.")
@click.option("--once", is_flag=True, help="End when nothing is left to do.")
async def worker(given: Given, concurrency: int, once: bool) -> int:
    """Drive every session that was answered, was left behind by a crash, or is due, until told to end.

    With --once the exit code says whether a drive failed: 5 if a log is broken, otherwise as for `callslip run`.

    Ctrl-C, SIGTERM or SIGHUP: calls that run settle, nothing new begins, and the sessions are left for the next worker.
    """
    runtime = runtime_for(given, "drive")
    stop = asyncio.Event()
    active: set[str] = set()
    failed: dict[str, int] = {}

    def on_session(session: str, what: str) -> None:
        (active.add if what == "driving" else active.discard)(session)
        if what in _WELL:
            failed.pop(session, None)
        else:
            failed[session] = code_of(what.partition(":")[0])
        with contextlib.suppress(OSError, ValueError):  # that nobody reads it must not reach the drive
            tell(given, session, what)

    def drain() -> None:
        stop.set()
        if not given.as_json:
            look.murmur(f"ending: {_left(len(active), tells=bool(runtime.settings.notify))}; once more leaves at once")

    async with runtime:
        with interrupts(drain, lambda: None):
            async with telling(runtime) as on_error:
                if not given.as_json and not once:  # nothing of what was configured has been refused
                    look.murmur("working; Ctrl-C ends it", dim=True)
                worker = Worker(runtime, concurrency=concurrency, on_session=on_session, on_error=on_error)
                drives = await worker.serve(stop, once=once)
    with contextlib.suppress(OSError, ValueError):
        if given.as_json:
            print_document({"type": "ended", "drives": drives, "failed": len(failed)}, line=True)
        else:
            lost = f", {len(failed)} failed" if failed else ""
            look.say(f"{drives} drive{'s' if drives != 1 else ''} made{lost}.", dim=True)
    codes = set(failed.values()) if once else set()
    return BROKEN if BROKEN in codes else max(codes, default=DONE)


def _left(active: int, *, tells: bool) -> str:
    """What a worker that was told to end still does."""
    parts = []
    if active:
        parts.append(f"{active} session{'s' if active != 1 else ''} come{'s' if active == 1 else ''} to rest")
    if tells:
        parts.append(f"{'then ' if active else ''}telling what is left: {LAST:.0f} s at most")
    return ", ".join(parts) or "nothing runs"


@contextlib.asynccontextmanager
async def telling(runtime: Runtime) -> AsyncIterator[OnError | None]:
    """While inside, tell whom the project names in ``[[notify]]`` what needs them; gives where errors are handed in."""
    notifier = runtime.notifier(lambda said: look.murmur(one_line(said)))
    if notifier is None:
        yield None
        return
    over = asyncio.Event()
    task = asyncio.create_task(notifier.serve(over))

    async def on_error(session: str, error: CallslipError) -> None:
        await notifier.report(error, session)

    try:
        yield on_error
    finally:
        over.set()
        await task
        await notifier.aclose()


def tell(given: Given, session: str, what: str) -> None:
    """A line for each session driven."""
    if given.as_json:
        print_document({"type": "session", "session": session, "status": what}, line=True)
    else:
        mark = look.mark(_MARKS.get(what, "bad"))
        look.say(f"{look.paint(moments.clock(moments.now()), dim=True)} {mark} {one_line(session)}  {one_line(what)}")
    sys.stdout.flush()
