"""The log as it is stored, for the audit: the bytes, their chain checked, and of protected records only what is open.

What a protected record keeps encrypted is not read here at all. So an entry needs no key, holds nothing that was to
stay secret, and can be made again, the same, after the keys have been destroyed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from callslip.core.event import Stored, link, read
from callslip.errors import LogBroken
from callslip.ports.ledger import Head


@runtime_checkable
class StoredLog(Protocol):
    """A ledger that gives its stored bytes."""

    async def heads(
        self,
        session: str | None = None,
        *,
        changed_after: int | None = None,
        ready_at: int | None = None,
        limit: int | None = None,
    ) -> Sequence[Head]: ...

    async def raw(
        self, session: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[tuple[int, bytes, bytes]]: ...


async def records(log: StoredLog, session: str, *, after: int, digest: str, limit: int) -> list[Stored]:
    """The records that follow the one at ``after``, whose digest, in hex, is this one.

    Raises:
        LogBroken: the first of them does not follow, or can't be read. When later ones don't, the good ones come first.
    """
    found: list[Stored] = []
    previous = bytes.fromhex(digest)
    for seq, stored, text in await log.raw(session, after=after, limit=limit):
        try:
            if seq != after + len(found) + 1 or not _bytes(text, stored) or link(previous, text) != stored:
                raise LogBroken(f"Record {seq} of session {session!r} is not what was written.", seq=seq)
            found.append(Stored(seq=seq, digest=stored, record=read(text, seq), size=len(text)))
        except LogBroken:
            if found:
                return found
            raise
        previous = stored
    return found


def _bytes(one: object, other: object = b"") -> bool:
    """SQLite keeps whatever type was put there."""
    return isinstance(one, bytes) and isinstance(other, bytes)


async def digest_at(log: StoredLog, session: str, seq: int) -> str:
    """The digest that is stored with a record, in hex; empty when there is none."""
    for _, digest, _ in await log.raw(session, after=seq - 1, limit=1):
        return digest.hex() if _bytes(digest) else ""
    return ""
