"""Ask on the terminal, so that Ctrl-C ends it at once.

asyncio takes Ctrl-C as a request to its task, which a question that blocks the loop would never hear.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

import click

STAYS_OPEN = "Nothing was written; the question stays open."


class Interrupted(click.Abort):
    """Ctrl-C, or the end of the input, at a question; ``kept`` says what is safe."""

    def __init__(self, kept: str) -> None:
        super().__init__(f"Interrupted. {kept}")


def confirm(ask: str, *, kept: str, default: bool = False) -> bool:
    """Whether they say yes.

    Raises:
        Interrupted: they say neither.
    """
    with interruptible(kept):
        return click.confirm(ask, default=default, err=True)


@contextlib.contextmanager
def interruptible(kept: str) -> Iterator[None]:
    """While inside, Ctrl-C is a KeyboardInterrupt where it strikes, and leaves as an :class:`Interrupted`."""
    try:
        with on_interrupt(signal.default_int_handler):
            yield
    except (click.Abort, KeyboardInterrupt):
        raise Interrupted(kept) from None


@contextlib.contextmanager
def on_interrupt(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """While inside, this is what Ctrl-C does; away from the main thread, which alone hears it, nothing changes."""
    try:
        before = signal.signal(signal.SIGINT, handler)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
