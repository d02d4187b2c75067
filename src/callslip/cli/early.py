"""Ctrl-C before anything has begun: one sentence instead of a traceback through whatever is being imported.

Installed before the heavy imports, and in force until a command takes signals into its own hands.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any

SENTENCE = "Interrupted. Nothing was started."
_CODE = 130
_JSON = f'{{"error": {{"code": "interrupted", "message": "{SENTENCE}", "layer": "runtime", "retryable": false}}}}'


def is_program() -> bool:
    """Whether this process is ``callslip``, and not something that imports it."""
    return os.path.basename(sys.argv[0]) == "callslip" or "callslip.cli.main" in sys.orig_argv[1:4]  # noqa: PTH119


def install() -> None:
    """Take SIGINT, unless somebody has done so or it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGINT, leave)


def give_back() -> None:
    """From now on Ctrl-C is a KeyboardInterrupt again: something may have been started."""
    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave(_number: int, _frame: Any) -> None:
    """Say so and end. No import, no lock, no buffer: this may interrupt any of them."""
    as_json = "--json" in sys.argv
    with contextlib.suppress(OSError):
        os.write(1 if as_json else 2, f"{_JSON if as_json else f'callslip: {SENTENCE}'}\n".encode())
    os._exit(_CODE)
