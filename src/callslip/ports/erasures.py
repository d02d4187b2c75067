"""Erasures that have begun: written down first, so that one that a crash broke off is found and finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from callslip.core.events.blob_erased import BlobErased


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be erased of a session."""

    id: str
    session: str
    event: BlobErased
    """As it is to stand in the log."""
    expected: int
    """Position at which it was judged. If something else stands after it, the erasure never came to be."""
    keys: tuple[int, ...] = ()
    """Numbers of the keys to be destroyed."""
    remove: tuple[str, ...] = ()
    """Addresses to be removed, those that no record names among them."""


class Erasures(Protocol):
    def begin(self, begun: Begun) -> None:
        """Write it down, durably.

        Raises:
            LedgerUnavailable: it can't be; nothing was erased.
        """
        ...

    def pending(self) -> Sequence[Begun]:
        """Those begun and not done.

        Raises:
            StateRefused: one of them can't be read.
        """
        ...

    def done(self, begun: Begun) -> None:
        """It is done, or never came to be."""
        ...
