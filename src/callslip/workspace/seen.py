"""Remembers, between ``prepare`` and ``run`` of one call, what the target looked like.

The two get only the call's arguments, so the arguments are the key. It is a second guard, not the record: the
evidence in the log is. After a restart nothing is remembered, and ``run`` is then bound only by its arguments.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from callslip.workspace.content import digest_bytes

_KEPT = 1_000


class Seen:
    """Digests by arguments; the oldest are forgotten. Safe to use from several threads."""

    def __init__(self) -> None:
        self._digests: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, arguments: tuple[object, ...], digest: str) -> None:
        with self._lock:
            self._digests[_key(arguments)] = digest
            while len(self._digests) > _KEPT:
                self._digests.popitem(last=False)

    def differs(self, arguments: tuple[object, ...], digest: str) -> bool:
        """Whether something else was remembered; forgets it."""
        with self._lock:
            return self._digests.pop(_key(arguments), digest) != digest


def _key(arguments: tuple[object, ...]) -> str:
    return digest_bytes(repr(arguments).encode(errors="surrogatepass"))
