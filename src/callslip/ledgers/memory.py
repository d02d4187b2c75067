"""A ledger in memory: the twin that tests and short-lived dispatchers use. Nothing survives the process."""

from __future__ import annotations

from collections.abc import Sequence

from callslip.core.event import Draft, Stored, genesis, link, read
from callslip.errors import LogBroken, Moved, NotFound
from callslip.ledgers import rules
from callslip.ports.ledger import Checkpoint, Head, Owner, WaitRow


class MemoryLedger:
    """Implements ``Ledger`` and ``Checkpoints``. Used from one event loop, it needs no lock: no method awaits."""

    def __init__(self) -> None:
        self.commits = 0
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
        self._heads[session] = head
        self._rows.setdefault(session, [])
        self.commits += 1
        return head

    async def append(
        self, session: str, drafts: Sequence[Draft], *, epoch: int, folded: int | None = None
    ) -> Sequence[Stored]:
        return self._write(rules.admit_owner(self._head(session), drafts, epoch=epoch, folded=folded), drafts)

    async def decide(self, session: str, drafts: Sequence[Draft], *, expected: int) -> Sequence[Stored]:
        return self._write(rules.admit_outsider(self._head(session), drafts, expected=expected), drafts)

    async def read(self, session: str, *, after: int = 0, limit: int | None = None) -> Sequence[Stored]:
        rows = await self.raw(session, after=after, limit=limit)
        if not rows:
            return []
        previous = self._rows[session][after - 1][0] if after else genesis(session)
        stored = []
        for seq, digest, text in rows:
            if link(previous, text) != digest:
                raise LogBroken(f"Record {seq} of session {session!r} was altered.", seq=seq)
            stored.append(Stored(seq=seq, digest=digest, record=read(text, seq)))
            previous = digest
        return stored

    async def raw(
        self, session: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[tuple[int, bytes, bytes]]:
        rows = self._rows.get(session, [])
        stop = None if limit is None else after + limit
        return [(after + 1 + i, digest, text) for i, (digest, text) in enumerate(rows[after:stop])]

    async def heads(self, session: str | None = None) -> Sequence[Head]:
        if session is not None:
            return [self._heads[session]] if session in self._heads else []
        return sorted(self._heads.values(), key=lambda head: -head.updated_at)

    async def waits(self, session: str | None = None) -> Sequence[WaitRow]:
        rows = [row for row in self._waits.values() if session in (None, row.session)]
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

    def _write(self, change: rules.Change, drafts: Sequence[Draft]) -> Sequence[Stored]:
        session = change.head.session
        texts = (draft.text for draft in drafts)
        self._rows[session] += [(stored.digest, text) for stored, text in zip(change.stored, texts, strict=True)]
        self._heads[session] = change.head
        for wait_id in change.closed:
            self._waits.pop((session, wait_id), None)
        self._waits |= {(session, row.wait_id): row for row in change.opened}
        self.commits += 1
        return change.stored
