"""No process of the demo outlives the one that started it, however that ends."""

from __future__ import annotations

import os
import threading

_STANDARD_INPUT = 0


def end_with_parent() -> None:
    """End this process when its standard input, a pipe held by its parent, is closed."""

    def watch() -> None:
        # Unbuffered: a thread that waits inside sys.stdin would be in the way when the interpreter ends.
        while os.read(_STANDARD_INPUT, 4096):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
