"""What protects the private part of sessions: encryption under a key of each session's own (LEDG-08).

Destroying a session's keys makes whatever was encrypted under them unreadable for everybody, wherever copies of it lie.
Keys are counted: after they were destroyed, the session goes on under a new one. One object implements both ports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from callslip.core.event import Record

Keys = Mapping[int, bytes]
"""A session's keys by their number, from 1; an empty one was destroyed."""


class Vault(Protocol):
    @property
    def encrypts(self) -> bool:
        """Whether new sessions are to be protected."""
        ...

    def protects(self, session: str) -> bool:
        """Whether what is stored of the session from now on is to be encrypted. Once protected, always protected."""
        ...

    def seal(self, session: str, data: bytes) -> bytes:
        """Encrypt under the session's latest key, made if there is none. The same data gives the same box while the
        key is the same. Durable is the key before this returns.

        Raises:
            LedgerUnavailable: the key can't be kept. StateRefused: it is not safe.
        """
        ...

    def open(self, box: bytes, keys: Keys | None = None) -> bytes:
        """What :meth:`seal` was given; with ``keys``, by those instead of the kept ones.

        Raises:
            Erased: its key was destroyed. LogBroken: it is damaged, or its key is lost.
        """
        ...

    def tag(self, session: str, text: str) -> str:
        """A keyed digest of the text, hex: equal for equal texts as long as none of the session's keys is destroyed."""
        ...


class Keyring(Protocol):
    def keys(self, session: str) -> Keys:
        """All keys the session ever had here; empty: it was never protected."""
        ...

    def take(self, session: str, keys: Keys) -> None:
        """Keep keys that were made elsewhere.

        Raises:
            UsageError: there are others here already. LedgerUnavailable.
        """
        ...

    def renew(self, session: str) -> tuple[int, ...]:
        """Begin a new key, for whatever comes from now on. The numbers of those before it that are not destroyed."""
        ...

    def destroy(self, session: str, numbers: Iterable[int]) -> None:
        """Destroy keys, durably."""
        ...


@runtime_checkable
class Opens(Protocol):
    """Implemented by ledgers whose stored records may be protected."""

    def opened(self, record: Record, keys: Keys | None = None) -> Record:
        """A record as it was stored (by its bytes), with its private parts in their places; with ``keys``, by those
        instead of the kept ones.

        Raises:
            LogBroken: they can't be read.
        """
        ...
