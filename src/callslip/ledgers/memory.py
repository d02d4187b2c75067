"""A ledger in memory: the twin that tests and short-lived dispatchers use. Nothing survives the process."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callslip.core.event import Draft, Stored, genesis, link, read
from callslip.errors import LogBroken, Moved, NotFound, UsageError
from callslip.ledgers import rules
from callslip.ports.ledger import Checkpoint, Head, Owner, WaitRow


class MemoryLedger:
    """Implements ``Ledger``, ``Adopts`` and ``Checkpoints``. Used from one event loop, it needs no lock: no method
    awaits.
    """

    def __init__(self) -> None:
        self.commits = 0
        self._changes = 0
        self._heads: dict[str, Head] = {}
        self._rows: dict[str, list[tuple[bytes, bytes]]] = {}
        self._waits: dict[tuple[str, str], WaitRow] = {}
        self._checkpoints: dict[str, Checkpoint] = {}

    async def claim(self, session: str, owner: Owner, *, expected_epoch: int, at: int) -> Head:
        head = self._heads.get(session)
        if head is None:
            if expected_epoch:
                raise Moved(f"Session {session!r} does not exist any more.")
            head = rules.new_head(session, owner, at)
        else:
            head = rules.claim(head, owner, expected_epoch, at)
        self._rows.setdefault(session, [])
        head = self._put(head)
        self.commits += 1
        return head

    async def append(
        self, session: str, drafts: Sequence[Draft], *, epoch: int, folded: int | None = None
    ) -> Sequence[Stored]:
        return self._write(rules.admit_owner(self._head(session), drafts, epoch=epoch, folded=folded), drafts)

    async def decide(self, session: str, drafts: Sequence[Draft], *, expected: int) -> Sequence[Stored]:
        return self._write(rules.admit_outsider(self._head(session), drafts, expected=expected), drafts)

    async def adopt(self, session: str, drafts: Sequence[Draft]) -> Head:
        if session in self._heads:
            raise UsageError(f"Session {session!r} is here already. Nothing was written.")
        self._rows[session] = []
        self._write(rules.adopt(session, drafts), drafts)
        return self._heads[session]

    async def read(self, session: str, *, after: int = 0, limit: int | None = None) -> Sequence[Stored]:
        rows = await self.raw(session, after=after, limit=limit)
        if not rows:
            return []
        previous = self._rows[session][after - 1][0] if after else genesis(session)
        stored = []
        for seq, digest, text in rows:
            if link(previous, text) != digest:
                raise LogBroken(f"Record {seq} of session {session!r} was altered.", seq=seq)
            stored.append(Stored(seq=seq, digest=digest, record=read(text, seq), size=len(text)))
            previous = digest
        return stored

    async def raw(
        self, session: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[tuple[int, bytes, bytes]]:
        rows = self._rows.get(session, [])
        stop = None if limit is None else after + limit
        return [(after + 1 + i, digest, text) for i, (digest, text) in enumerate(rows[after:stop])]

    async def heads(
        self,
        session: str | None = None,
        *,
        changed_after: int | None = None,
        ready_at: int | None = None,
        limit: int | None = None,
    ) -> Sequence[Head]:
        heads = list(self._heads.values()) if session is None else [*filter(None, [self._heads.get(session)])]
        if changed_after is None and ready_at is None:
            return sorted(heads, key=lambda head: -head.updated_at)[:limit]
        if ready_at is not None:
            due = {row.session for row in await self.waits(due_at=ready_at)}
            heads = [head for head in heads if head.owner is not None or head.woken or head.session in due]
        found = sorted((head for head in heads if head.change > (changed_after or 0)), key=lambda head: head.change)
        return found[:limit]

    async def waits(
        self, session: str | None = None, *, wait_id: str | None = None, due_at: int | None = None
    ) -> Sequence[WaitRow]:
        rows = [
            row
            for row in self._waits.values()
            if session in (None, row.session)
            and self._heads[row.session].status != rules.SEALED
            and wait_id in (None, row.wait_id)
            and (due_at is None or (row.wake_at is not None and row.wake_at <= due_at))
        ]
        return sorted(rows, key=lambda row: (row.opened_at, row.seq))

    async def version(self) -> int:
        return self.commits

    async def save_checkpoint(self, session: str, checkpoint: Checkpoint) -> None:
        self._checkpoints[session] = checkpoint

    async def load_checkpoint(self, session: str) -> Checkpoint | None:
        checkpoint = self._checkpoints.get(session)
        rows = self._rows.get(session, [])
        if checkpoint is None or checkpoint.seq > len(rows) or rows[checkpoint.seq - 1][0] != checkpoint.digest:
            return None
        return checkpoint

    async def aclose(self) -> None:
        """Nothing to close."""

    def _head(self, session: str) -> Head:
        if session not in self._heads:
            raise NotFound(f"There is no session {session!r}.")
        return self._heads[session]

    def _put(self, head: Head) -> Head:
        self._changes += 1
        head = self._heads[head.session] = msgspec.structs.replace(head, change=self._changes)
        return head

    def _write(self, change: rules.Change, drafts: Sequence[Draft]) -> Sequence[Stored]:
        session = change.head.session
        texts = (draft.text for draft in drafts)
        self._rows[session] += [(stored.digest, text) for stored, text in zip(change.stored, texts, strict=True)]
        self._put(change.head)
        for wait_id in change.closed:
            self._waits.pop((session, wait_id), None)
        self._waits |= {(session, row.wait_id): row for row in change.opened}
        for wait_id, wake_at in change.moved:
            if (session, wait_id) in self._waits:
                row = self._waits[session, wait_id]
                self._waits[session, wait_id] = msgspec.structs.replace(row, wake_at=wake_at)
        self.commits += 1
        return change.stored
