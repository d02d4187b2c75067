"""One thread for numpy's matrix products while a search runs.

For matrices of this size more threads of the linear-algebra library cost more than they give: they wait for each other
in busy loops, which multiplies the CPU time of a search, and takes it from everything else.
"""

from __future__ import annotations

import contextlib
import threading
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Within it, products run in the calling thread; nothing changes where threadpoolctl isn't installed."""
    return _limit()


@cache
def _limit() -> AbstractContextManager[Any]:
    try:
        return _Limit(import_module("threadpoolctl").ThreadpoolController())
    except ImportError:
        return contextlib.nullcontext()


class _Limit:
    """What the first sets, the last sets back: of two that overlap, the second would take the limit for what was."""

    def __init__(self, controller: Any) -> None:
        self._controller = controller
        self._one = threading.Lock()
        self._within = 0
        self._held: Any = None

    def __enter__(self) -> None:
        with self._one:
            if not self._within:
                self._held = self._controller.limit(limits=1, user_api="blas")
            self._within += 1

    def __exit__(self, *_: object) -> None:
        with self._one:
            self._within -= 1
            if not self._within:
                self._held.restore_original_limits()
