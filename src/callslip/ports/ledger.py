"""The log of every session, and the little that must change in the same commit.

The ledger alone assigns positions and digests, inside its transaction. An owner appends under its epoch; outsiders
append decisions at an expected position. A refused append changes nothing and never disturbs the appends that share
its commit. Every implementation passes ``callslip.testing.suites.ledger``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from callslip.core.event import Draft, Stored


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """A process that drives sessions. ``id`` is new for every start of a process."""

    id: str
    host: str
    boot: str
    process: int


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session stands. Rows beside the log, changed only together with it."""

    session: str
    seq: int
    digest: bytes
    epoch: int
    outsider_seq: int
    owner: Owner | None
    """``None`` when the last run has ended."""
    status: str
    """Of the last run: ``new``, ``running``, or how it ended."""
    woken: bool
    """An outsider has appended something since the last run began or ended."""
    updated_at: int
    change: int
    """Greater than any that was given in this ledger before, whenever this row changes: the order of changes."""


class WaitRow(msgspec.Struct, frozen=True, kw_only=True):
    """An open wait, as a row."""

    session: str
    wait_id: str
    kind: str
    reason: str
    call_id: str | None
    wake_at: int | None
    opened_at: int
    seq: int


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A folded state as of a position: a cache, bound to the digest of the log there."""

    seq: int
    digest: bytes
    body: bytes


class Ledger(Protocol):
    async def claim(self, session: str, owner: Owner, *, expected_epoch: int, at: int) -> Head:
        """Make ``owner`` the one driver of the session and raise its epoch by one; creates the session when
        ``expected_epoch`` is 0 and it does not exist.

        Whether the owner before has ended is the caller's to prove, before.

        Raises:
            Moved: the epoch is no longer the expected one.
        """
        ...

    async def append(
        self, session: str, drafts: Sequence[Draft], *, epoch: int, folded: int | None = None
    ) -> Sequence[Stored]:
        """Append as the owner, all or nothing, durable when it returns. Writes take place in the order in which they
        were handed over, those of cancelled callers too.

        ``folded`` names the position of the last outsider's record that the caller has taken into account.

        Raises:
            Fenced: the epoch has moved on. Moved: an outsider's record is newer than ``folded``.
            LedgerUnavailable: nothing was written. CommitUnknown: it can't be told.
        """
        ...

    async def decide(self, session: str, drafts: Sequence[Draft], *, expected: int) -> Sequence[Stored]:
        """Append as an outsider, when ``expected`` is the position of the last record.

        Raises:
            Moved: something was appended since. NotFound: no such session. LedgerUnavailable, CommitUnknown.
        """
        ...

    async def read(self, session: str, *, after: int = 0, limit: int | None = None) -> Sequence[Stored]:
        """Records after a position, oldest first. The chain of what is returned has been checked.

        Raises:
            LogBroken: the chain is broken or a record can't be read.
        """
        ...

    async def heads(
        self,
        session: str | None = None,
        *,
        changed_after: int | None = None,
        ready_at: int | None = None,
        limit: int | None = None,
    ) -> Sequence[Head]:
        """One session's head (none when unknown), or all, latest change first.

        Narrowed, they come in order of change, and what is asked for costs, not what is there:

        ``changed_after``: only those with a greater ``change``. A follower that passes on the greatest it has seen
        misses none, also when it takes no more than ``limit`` at a time.
        ``ready_at`` (milliseconds): only those that might go on then: owned, woken, or with an open wait of any kind
        whose ``wake_at`` has come.
        """
        ...

    async def waits(
        self, session: str | None = None, *, wait_id: str | None = None, due_at: int | None = None
    ) -> Sequence[WaitRow]:
        """Open waits of one or all sessions that are here (not sealed), oldest first; only the one with this id, or
        only those whose ``wake_at`` is no later than ``due_at`` (milliseconds).
        """
        ...

    async def version(self) -> int:
        """A number that changes whenever any process commits."""
        ...

    async def aclose(self) -> None:
        """Finish what was handed over, and close."""
        ...


@runtime_checkable
class Adopts(Protocol):
    """Implemented by ledgers that can take in a log that was written elsewhere."""

    async def adopt(self, session: str, drafts: Sequence[Draft]) -> Head:
        """Take in the whole log of a session that is not here yet, in one commit: all of it or nothing. Head and open
        waits become what they would be had each record been appended here.

        The caller has made sure that the records are what they claim to be, and can be true.

        Raises:
            UsageError: the session is here already. LedgerUnavailable, CommitUnknown.
        """
        ...


@runtime_checkable
class Checkpoints(Protocol):
    """Implemented by ledgers that can keep a folded state."""

    async def save_checkpoint(self, session: str, checkpoint: Checkpoint) -> None: ...

    async def load_checkpoint(self, session: str) -> Checkpoint | None:
        """The latest one whose digest is the log's digest at its position; else ``None``."""
        ...
