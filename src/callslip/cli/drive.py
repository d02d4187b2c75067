"""Drive a session from the terminal: show it live, end it well on Ctrl-C, give its answer and its exit code."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, NamedTuple

import click

from callslip.application import Run, Runtime
from callslip.cli import early, look
from callslip.cli.asking import Watched
from callslip.cli.causes import Said, causes
from callslip.cli.document import print_document, wait_document
from callslip.cli.failure import INTERRUPTED, RUN_CODES, NothingStarted, flush
from callslip.cli.live import LiveView, both
from callslip.cli.options import Given
from callslip.cli.spent import spent_document
from callslip.cli.waiting import print_waits
from callslip.core.shown import prose, visible
from callslip.errors import ModelError
from callslip.runtime.live import guarded, ignore

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Driven(NamedTuple):
    """A run that has come to its end."""

    run: Run
    took: str
    heard: list[int]
    """Signals that came meanwhile."""


class Told(NamedTuple):
    """What is told at the end beside the run itself."""

    took: str
    said: Mapping[str, Said]
    """By wait: what its call's attempt failed with."""
    kept: bool
    """Whether words of the user have not been read yet."""
    then: str
    """The command line that goes on."""


async def drive(
    given: Given,
    runtime: Runtime,
    session: str,
    work: Callable[[], Coroutine[Any, Any, Run]],
    *,
    model: str | None = None,
    announce: bool = False,
    said: str | None = None,
) -> int:
    """Do the work on the session and tell how it ended.

    ``model`` was named on the command line; ``announce`` tells the session's name once there is such a session;
    ``said`` is what the work says to it.
    """
    view = LiveView(as_json=given.as_json, announce=session if announce else "")
    then = given.command("resume", session, *(("--model", model) if model is not None else ()))
    show_on(view, runtime)
    async with runtime:
        try:
            driven = await drive_once(given, runtime, session, work, view, then, said=said)
        except ModelError as error:
            error.add_note(f"then: {then}")
            raise
        told = await ending(runtime, driven, then)
    tell(given, view, driven.run, told)
    return RUN_CODES[driven.run.status]


def show_on(view: LiveView, runtime: Runtime) -> None:
    """Let the view see what a runtime does that is not open yet."""
    own = runtime.settings.watch
    runtime.configure(watch=view if own is ignore else both(guarded(own), view))
    if runtime.settings.model is not None:
        runtime.configure(model=Watched(runtime.settings.model, view))


async def drive_once(
    given: Given,
    runtime: Runtime,
    session: str,
    work: Callable[[], Coroutine[Any, Any, Run]],
    view: LiveView,
    then: str,
    *,
    said: str | None = None,
) -> Driven:
    """Do the work on the session of an open runtime, in the view; on Ctrl-C let it come to its next boundary.

    ``said``: what the work itself says to the session, which need not be shown.

    Raises:
        NothingStarted: Ctrl-C before it began. ModelError, Busy and whatever else the work raises.
    """
    view.begin(await runtime.state(session), said=said)
    began = time.monotonic()
    task = asyncio.ensure_future(work())

    def first() -> None:
        if view.running:
            runtime.pause(session)
            _say_stopping(given, view, heard[0])
        elif not view.began:
            task.cancel()

    with interrupts(first, lambda: _say_left(view, then)) as heard:
        try:
            run = await task
        except asyncio.CancelledError:
            raise (click.Abort if view.began else NothingStarted) from None
        finally:
            took = view.close(round((time.monotonic() - began) * 1000))
    return Driven(run, took, heard)


async def ending(runtime: Runtime, driven: Driven, then: str) -> Told:
    """What is told of the run beside itself."""
    run = driven.run
    said = await causes(runtime, run.waits)
    kept = bool(run.waits) and bool((await runtime.state(run.session)).queued)
    return Told(driven.took, said, kept, then)


@contextlib.contextmanager
def interrupts(first: Callable[[], None], left: Callable[[], None]) -> Iterator[list[int]]:
    """While inside: the first Ctrl-C, SIGTERM or SIGHUP calls ``first`` in the loop, the second leaves at once. Those
    that came are in the list.

    The second needs no loop: it must work when a tool has blocked it. A terminal that is closed may send SIGHUP more
    than once, so that one never leaves; and ``nohup`` means what it says.
    """
    loop = asyncio.get_running_loop()
    heard: list[int] = []

    def on_signal(number: int, _frame: Any) -> None:
        if heard and number == signal.SIGHUP:
            return
        heard.append(number)
        if len(heard) == 1:
            loop.call_soon_threadsafe(first)
            return
        left()
        flush()
        os._exit(INTERRUPTED)

    taken = [
        number
        for number in _SIGNALS
        if number != signal.SIGHUP or signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    ]
    try:
        before = {number: signal.signal(number, on_signal) for number in taken}
    except ValueError:  # not the main thread: nobody can interrupt us here
        yield heard
        return
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        early.give_back()


def _say_stopping(given: Given, view: LiveView, number: int) -> None:
    calls = view.in_flight
    what = f"{', '.join(calls)} settle{'s' if len(calls) == 1 else ''} first" if calls else "nothing is in flight"
    if given.as_json:
        return
    if number != signal.SIGINT:
        view.line("warn", "", "stopping", what)
        return
    if sys.stdin.isatty():
        view.echoed()
    view.line("warn", "", "stopping", f"{what}; press Ctrl-C again to leave at once")


def _say_left(view: LiveView, then: str) -> None:
    calls = view.in_flight
    what = f" What {', '.join(calls)} did is judged then by the log." if calls else ""
    text = f"\nLeft at once. Go on with: {then}.{what}\n"
    # Not click.echo: this may interrupt another print in the same thread.
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), visible(text, lines=True).encode(errors="replace"))


def tell(given: Given, view: LiveView, run: Run, told: Told) -> None:
    """Give the answer, and say how the run ended."""
    try:
        _tell(given, view, run, told)
    except (OSError, ValueError) as error:
        if not isinstance(error, BrokenPipeError):
            why = os.strerror(getattr(error, "errno", None) or errno.EIO)
            look.murmur(f"The answer could not be shown ({why}). It is kept: {given.command('show', run.session)}")


def _tell(given: Given, view: LiveView, run: Run, told: Told) -> None:
    if given.as_json:
        waits = [wait_document(wait, told.said) for wait in run.waits]
        ended = {"type": "ended", "session": run.session, "status": run.status, "text": run.text}
        print_document(
            {**ended, "reason": run.reason, "limit": run.limit, "waits": waits, "spent": spent_document(run.spent)},
            line=True,
        )
        return
    try:
        print_answer(view, run)
    finally:
        _how_it_ended(given, view, run, told)


def print_answer(view: LiveView, run: Run) -> None:
    """The answer of each turn that came to its end."""
    if view.streamed and run.status == "finished" and (sys.stdout.isatty() or _one_place()):
        return
    answers = view.answers
    if run.status == "finished" and (not answers or answers[-1] != run.text):
        answers = [*answers, run.text]  # it had its end before
    for answer in answers:
        click.echo(prose(answer))


def _one_place() -> bool:
    """Whether both outputs end up in the same pipe or file, where what was streamed stands already."""
    try:
        out, err = os.fstat(sys.stdout.fileno()), os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino)


def _how_it_ended(given: Given, view: LiveView, run: Run, told: Told) -> None:
    if run.status == "finished":
        look.murmur(f"{look.mark('ok')} {look.paint(f'finished in {told.took}', dim=True)}")
        return
    if run.status == "waiting":
        kinds = {wait.kind.value for wait in run.waits}
        if told.kept or not kinds.issuperset(run.reason.split(", ")):  # otherwise the waits themselves say it
            look.murmur(f"{look.mark('wait')} {look.paint('waiting', bold=True)} {visible(run.reason)}")
        if told.kept:
            look.murmur("  your message is kept; it is read once what is waited for has come:")
        shown = {wait.id for wait in run.waits if view.has_shown(wait.call_id, wait.arguments)}
        print_waits(given, run.waits, said=told.said, say=False, shown=shown)
    else:
        look.murmur(f"{look.mark('warn')} {look.paint('stopped', bold=True)} {visible(run.reason)}")
    look.murmur(f"  then: {told.then}")
