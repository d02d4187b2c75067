"""A chat whose messages come from a pipe: each is said and driven as ``callslip run`` would; nobody is asked."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator

from callslip.application import Runtime
from callslip.cli.chat_command import messages
from callslip.cli.drive import drive_once, ending, tell
from callslip.cli.failure import RUN_CODES, STOPPED
from callslip.cli.live import LiveView
from callslip.cli.options import Given
from callslip.cli.prompt import interruptible
from callslip.errors import ModelError, UsageError


async def talk(given: Given, runtime: Runtime, session: str, view: LiveView, first: str | None, then: str) -> int:
    """Say each message in turn, until one is stopped or fails. The exit code of the last one.

    Raises:
        UsageError: there was none. ModelError and whatever else a run raises.
    """
    code: int | None = None
    for message in _all(first):
        work = functools.partial(runtime.run, message, session=session)
        try:
            driven = await drive_once(given, runtime, session, work, view, then, said=message)
        except ModelError as error:
            error.add_note(f"then: {then}")
            raise
        tell(given, view, driven.run, await ending(runtime, driven, then))
        code = RUN_CODES[driven.run.status]
        if code == STOPPED:
            return code
    if code is None:
        raise UsageError("There is nothing to say. Nothing was started. Give a text, or a line each on standard input.")
    return code


def _all(first: str | None) -> Iterator[str]:
    if first is not None:
        yield first
    lines: Iterable[str] = _lines()
    yield from messages(lines)


def _lines() -> Iterator[str]:
    """Standard input, a line at a time: the last one may be written when the first has been answered."""
    while True:
        with interruptible("What was said before is kept."):
            try:
                line = sys.stdin.buffer.readline().decode(sys.stdin.encoding, sys.stdin.errors or "strict")
            except UnicodeDecodeError as error:
                raise UsageError(
                    "Standard input is no UTF-8 text. Nothing of that line was said; what came before is kept."
                ) from error
        if not line:
            return
        yield line.rstrip("\r\n")
