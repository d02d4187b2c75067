"""No process of the demo outlives the one that started it, however that ends."""

from __future__ import annotations

import os
import sys
import threading


def end_with_parent() -> None:
    """End this process when its standard input, a pipe held by its parent, is closed."""

    def watch() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
