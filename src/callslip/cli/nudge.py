"""A signal that comes in the moment before the terminal is read is heard all the same.

Python looks for signals before it hands over to readline, which looks when a read is interrupted. One that comes in
between interrupts nothing, and would be heard at the next key. So it is sent again, until whoever reads has heard it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Collection, Iterator

_AGAIN = 0.05
"""Seconds."""
_NO_SIGNAL = 0


@contextlib.contextmanager
def nudged(numbers: Collection[int]) -> Iterator[None]:
    """While inside, one of these signals to the main thread is repeated until the block is left. Only the main thread
    may enter; their handlers are to raise.
    """
    seen, tell = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(tell, False)
    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    over = threading.Event()
    thread = threading.Thread(target=_nudge, args=(seen, over, frozenset(numbers), threading.get_ident()), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        with contextlib.suppress(BlockingIOError):
            os.write(tell, bytes([_NO_SIGNAL]))
        thread.join()
        os.close(tell)
        os.close(seen)


def _nudge(seen: int, over: threading.Event, numbers: frozenset[int], main: int) -> None:
    while not over.is_set():
        came = numbers.intersection(os.read(seen, 64))
        while came and not over.wait(_AGAIN):
            for number in came:
                signal.pthread_kill(main, number)
