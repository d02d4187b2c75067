"""One thread for numpy's matrix products while a search runs.

For matrices of this size more threads of the linear-algebra library cost more than they give: they wait for each other
in busy loops, which multiplies the CPU time of a search, and takes it from everything else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Within it, products run in the calling thread; nothing changes where threadpoolctl isn't installed."""
    return _limit()()


@cache
def _limit() -> Callable[[], AbstractContextManager[Any]]:
    try:
        controller = import_module("threadpoolctl").ThreadpoolController()
    except ImportError:
        return contextlib.nullcontext
    return lambda: controller.limit(limits=1, user_api="blas")
