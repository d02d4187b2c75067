"""Drive a session from the terminal: show it live, end it well on Ctrl-C, give its answer and its exit code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import click

from callslip.application import Run, Runtime
from callslip.cli import look
from callslip.cli.document import print_document, wait_document
from callslip.cli.failure import INTERRUPTED, RUN_CODES, flush
from callslip.cli.live import LiveView, both
from callslip.cli.options import Given
from callslip.cli.safe_text import visible
from callslip.cli.waiting import print_waits
from callslip.runtime.live import ignore

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def drive(given: Given, runtime: Runtime, session: str, work: Callable[[], Coroutine[Any, Any, Run]]) -> int:
    """Do the work on the session and tell how it ended."""
    view = LiveView(as_json=given.as_json)
    own = runtime.settings.watch
    runtime.configure(watch=view if own is ignore else both(own, view))
    began = time.monotonic()
    async with runtime:
        view.know(await runtime.state(session))
        task = asyncio.ensure_future(work())

        def first() -> None:
            if view.running:
                runtime.pause(session)
                _say_stopping(given, view)
            else:
                task.cancel()

        with interrupts(first, lambda: _say_left(given, view, session)):
            try:
                run = await task
            except asyncio.CancelledError:
                raise click.Abort from None
            finally:
                took = view.close(round((time.monotonic() - began) * 1000))
    return _tell(given, view, run, took)


@contextlib.contextmanager
def interrupts(first: Callable[[], None], left: Callable[[], None]) -> Iterator[None]:
    """While inside: the first Ctrl-C (or SIGTERM) calls ``first`` in the loop, the second leaves at once.

    The second needs no loop: it must work when a tool has blocked it.
    """
    loop = asyncio.get_running_loop()
    count = 0

    def on_signal(_number: int, _frame: Any) -> None:
        nonlocal count
        count += 1
        if count == 1:
            loop.call_soon_threadsafe(first)
            return
        left()
        flush()
        os._exit(INTERRUPTED)

    try:
        before = {number: signal.signal(number, on_signal) for number in _SIGNALS}
    except ValueError:  # not the main thread: nobody can interrupt us here
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_stopping(given: Given, view: LiveView) -> None:
    calls = view.in_flight
    what = f"{', '.join(calls)} settle{'s' if len(calls) == 1 else ''} first" if calls else "nothing is in flight"
    if not given.as_json:
        view.line("warn", "", "stopping", f"{what}; press Ctrl-C again to leave at once")


def _say_left(given: Given, view: LiveView, session: str) -> None:
    calls = view.in_flight
    what = f" What {', '.join(calls)} did is judged then by the log." if calls else ""
    text = f"\nLeft at once. Go on with: {given.command('resume', session)}.{what}\n"
    # Not click.echo: this may interrupt another print in the same thread.
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), visible(text, lines=True).encode(errors="replace"))


def _tell(given: Given, view: LiveView, run: Run, took: str) -> int:
    if given.as_json:
        waits = [wait_document(wait) for wait in run.waits]
        ended = {"type": "ended", "session": run.session, "status": run.status, "text": run.text}
        print_document({**ended, "reason": run.reason, "waits": waits}, line=True)
        return RUN_CODES[run.status]
    if run.status == "finished":
        if not (view.streamed and sys.stdout.isatty()):
            click.echo(visible(run.text, lines=True))
        look.aside(f"{look.mark('ok')} {look.paint(f'finished in {took}', dim=True)}")
        return RUN_CODES[run.status]
    if run.status == "waiting":
        look.aside(f"{look.mark('wait')} {look.paint('waiting', bold=True)} {visible(run.reason)}")
        print_waits(given, run.waits, say=False)
    else:
        look.aside(f"{look.mark('warn')} {look.paint('stopped', bold=True)} {visible(run.reason)}")
    look.aside(f"  then: {given.command('resume', run.session)}")
    return RUN_CODES[run.status]
