"""Protected sessions in any ledger: what was said in them is encrypted in the stored bytes (LEDG-08, docs/adr/0014).

Stands in front of another ledger. Whoever appends or reads here sees whole records; what lies behind, and what the
chain binds, are records whose private parts (``core/private``) are a box of ciphertext. So `verify` needs no key, and
a session whose keys were destroyed still folds: its texts read ``[erased]``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from callslip.core import canon, private
from callslip.core.event import Draft, Event, Record, Stored
from callslip.errors import Erased, LogBroken
from callslip.ports.ledger import Adopts, Checkpoint, Checkpoints, Head, Ledger, Owner, WaitRow
from callslip.ports.vault import Keyring, Keys, Vault

_MARK = b"sealed "
"""How the body of an encrypted checkpoint begins."""
_BOUND = "."
"""Among the private parts: the digest of the record they belong to, so that they fit no other."""
_encoder = msgspec.json.Encoder(order="sorted")


class Behind(Ledger, Adopts, Checkpoints, Protocol):
    """A ledger that can be protected."""

    @property
    def commits(self) -> int: ...

    async def raw(
        self, session: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[tuple[int, bytes, bytes]]: ...


class KeyedVault(Vault, Keyring, Protocol):
    """A vault that shows its keys."""


class SealedLedger:
    """Implements what the ledger behind it does, and ``Opens``."""

    def __init__(self, ledger: Behind, vault: KeyedVault) -> None:
        self.behind = ledger
        self._vault = vault
        self._protects: dict[str, bool] = {}
        """Of sessions that are driven here: it does not change meanwhile, and looking costs every append a file."""

    @property
    def commits(self) -> int:
        """Transactions this process has committed."""
        return self.behind.commits

    async def claim(self, session: str, owner: Owner, *, expected_epoch: int, at: int) -> Head:
        head = await self.behind.claim(session, owner, expected_epoch=expected_epoch, at=at)
        self._protects[session] = self._vault.protects(session)
        return head

    async def append(
        self, session: str, drafts: Sequence[Draft], *, epoch: int, folded: int | None = None
    ) -> Sequence[Stored]:
        protects = self._protects.get(session)
        if protects is None or protects:
            drafts = self._sealed(session, drafts)
        return await self.behind.append(session, drafts, epoch=epoch, folded=folded)

    async def decide(self, session: str, drafts: Sequence[Draft], *, expected: int) -> Sequence[Stored]:
        return await self.behind.decide(session, self._sealed(session, drafts), expected=expected)

    async def adopt(self, session: str, drafts: Sequence[Draft]) -> Head:
        return await self.behind.adopt(session, drafts)  # as they were stored elsewhere

    async def read(self, session: str, *, after: int = 0, limit: int | None = None) -> Sequence[Stored]:
        read = await self.behind.read(session, after=after, limit=limit)
        if all(stored.record.sealed is msgspec.UNSET for stored in read):
            return read
        keys = self._vault.keys(session)
        return [self._opened(stored, keys) for stored in read]

    async def raw(
        self, session: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[tuple[int, bytes, bytes]]:
        return await self.behind.raw(session, after=after, limit=limit)

    async def heads(
        self,
        session: str | None = None,
        *,
        changed_after: int | None = None,
        ready_at: int | None = None,
        limit: int | None = None,
    ) -> Sequence[Head]:
        return await self.behind.heads(session, changed_after=changed_after, ready_at=ready_at, limit=limit)

    async def waits(
        self, session: str | None = None, *, wait_id: str | None = None, due_at: int | None = None
    ) -> Sequence[WaitRow]:
        return await self.behind.waits(session, wait_id=wait_id, due_at=due_at)

    async def version(self) -> int:
        return await self.behind.version()

    async def save_checkpoint(self, session: str, checkpoint: Checkpoint) -> None:
        if self._vault.protects(session):
            body = _MARK + self._vault.seal(session, checkpoint.body)
            checkpoint = msgspec.structs.replace(checkpoint, body=body)
        await self.behind.save_checkpoint(session, checkpoint)

    async def load_checkpoint(self, session: str) -> Checkpoint | None:
        kept = await self.behind.load_checkpoint(session)
        if kept is None or not kept.body.startswith(_MARK):
            return kept
        try:
            return msgspec.structs.replace(kept, body=self._vault.open(kept.body[len(_MARK) :]))
        except (Erased, LogBroken):
            return None  # it is a cache: the log is there

    async def aclose(self) -> None:
        await self.behind.aclose()

    def opened(self, record: Record, keys: Keys | None = None) -> Record:
        """The record with its private parts in their places, or marked as erased.

        Raises:
            LogBroken: they can't be read.
        """
        return opened(record, self._vault, keys)

    def _sealed(self, session: str, drafts: Sequence[Draft]) -> Sequence[Draft]:
        if not drafts or not self._vault.protects(session):
            return drafts
        return [self._protected(session, one) for one in drafts]

    def _protected(self, session: str, whole: Draft) -> Draft:
        record = whole.record
        bare, parts = private.split(record.event, lambda text: self._vault.tag(session, text))
        if not parts:
            return whole
        stored = msgspec.structs.replace(record, event=bare)
        box = self._vault.seal(session, _encoder.encode({**parts, _BOUND: _digest(stored)}))
        stored = msgspec.structs.replace(stored, sealed=base64.b64encode(box).decode(), hidden=tuple(parts))
        return Draft(record=record, text=_encoder.encode(stored))

    def _opened(self, stored: Stored, keys: Keys) -> Stored:
        if stored.record.sealed is msgspec.UNSET:
            return stored
        try:
            return msgspec.structs.replace(stored, record=self.opened(stored.record, keys))
        except LogBroken as error:
            raise LogBroken(f"Record {stored.seq}: {error}", seq=stored.seq) from error


def opened(record: Record, vault: Vault, keys: Keys | None = None) -> Record:
    """See :meth:`SealedLedger.opened`."""
    if not isinstance(record.sealed, str):
        return record
    names = record.hidden if isinstance(record.hidden, tuple) else ()
    bare = msgspec.structs.replace(record, sealed=msgspec.UNSET, hidden=msgspec.UNSET)
    try:
        parts = canon.parse(vault.open(base64.b64decode(record.sealed, validate=True), keys))
        if parts.pop(_BOUND, "") != _digest(bare):
            raise LogBroken("Its private part belongs to another record. Nothing was executed.")
        event = _with(record.event, parts)
    except Erased:
        event = private.erased(record.event, names)
    except (binascii.Error, msgspec.DecodeError, msgspec.ValidationError, TypeError) as error:
        raise LogBroken(f"Its private part can't be read ({error}). Nothing was executed.") from error
    return msgspec.structs.replace(bare, event=event)


def _digest(record: Record) -> str:
    return canon.digest(_encoder.encode(record))


def _with(event: Event, parts: dict[str, Any]) -> Event:
    kinds = {field.name: field.type for field in msgspec.structs.fields(type(event))}
    return private.join(event, {name: msgspec.convert(value, kinds[name]) for name, value in parts.items()})
