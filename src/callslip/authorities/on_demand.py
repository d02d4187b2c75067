"""An authority that is opened by the first call that claims anything: most runtimes never need theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from callslip.core.claim import Claim
from callslip.ports.authority import Authority, Blocked, Grant, Holder, Standing


class OnDemand:
    """Implements ``Authority`` by another one, made when it is needed."""

    def __init__(self, make: Callable[[], Authority]) -> None:
        self._make = make
        self._made: Authority | None = None

    def holding(self, wanted: Sequence[Claim], holder: Holder, on_wait: Blocked) -> AbstractAsyncContextManager[Grant]:
        return self._opened().holding(wanted, holder, on_wait)

    def standing(self) -> list[Standing]:
        return self._opened().standing()

    def close(self) -> Sequence[Holder]:
        made, self._made = self._made, None
        return () if made is None else made.close()

    def _opened(self) -> Authority:
        if self._made is None:
            self._made = self._make()
        return self._made
