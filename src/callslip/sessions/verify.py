"""Verify a session's log on its stored bytes: the chain, the head, the facts, and what lies beside it (LEDG-06).

It only reads, and it goes on after a fault, so that one report names everything that is wrong. The chain is checked on
the bytes themselves, before any of them is decoded. Neither a ledger nor a blob store is known here, only their ports
and :class:`RawLog`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from callslip.core import fold
from callslip.core.erasure import named
from callslip.core.event import Record, Stored, genesis, read
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.run_started import RunStarted
from callslip.core.payload import SEALED
from callslip.core.state import SessionState
from callslip.errors import CallslipError, LogBroken, NotFound
from callslip.ports.blobs import Blobs
from callslip.ports.ledger import Checkpoints, Head
from callslip.ports.vault import Opens
from callslip.runtime.parts import Parts
from callslip.sessions.checkpoint import load_items, load_state

PAGE = 10_000
"""Records in memory at once."""
_ADVICE = re.compile(r" Run `callslip verify`[^.]*\.")
"""What other commands say of a broken log, and this one need not."""
_LOOKS = 20
"""How often a session that is written meanwhile is looked at again."""

Row = tuple[int, Any, Any]
"""Position, digest, text: the last two are bytes unless somebody has altered them."""
Progress = Callable[[int, int], None]
"""Told how many of how many records are checked."""


@runtime_checkable
class RawLog(Protocol):
    """A ledger that gives its stored bytes, unchecked."""

    async def raw(
        self, session: str, *, after: int = 0, limit: int | None = None
    ) -> Sequence[tuple[int, bytes, bytes]]: ...


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not as it was written, or can't be true."""

    kind: Literal["chain", "gap", "head", "unreadable", "impossible", "payload", "waits", "checkpoint", "storage"]
    message: str
    seq: int | None = None
    """The record it is about."""


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """Payloads that are gone on purpose: no problem, but to be known."""

    seq: int
    at: int
    """Milliseconds since 1970, UTC."""
    actor: str
    reason: str
    payloads: int
    """How many it names; with ``whole`` everything that was encrypted went too."""
    whole: bool


class Report(msgspec.Struct, kw_only=True):
    """What was found. ``problems`` are in the order of the log; the first one names the first bad event."""

    session: str
    records: int = 0
    digest: bytes = b""
    """Of the last record: with ``records`` the high-water mark, to be kept elsewhere and compared."""
    payloads: int = 0
    """How many blobs the log names that were not erased."""
    erased: list[Erasure] = []
    problems: list[Problem] = []

    @property
    def ok(self) -> bool:
        return not self.problems


async def verify(parts: Parts, session: str, *, contents: bool = False, progress: Progress | None = None) -> Report:
    """Check everything that is known of a session. ``contents`` also reads each blob and hashes it.

    Raises:
        NotFound: no such session.
    """
    check = _Check(parts, session)
    heads = await parts.ledger.heads(session)
    if not heads:
        raise NotFound(f"There is no session {session!r}. `callslip sessions` lists those there are.")
    try:
        head = await check.log(heads[0], progress or (lambda _done, _all: None))
        await check.beside(head)
        await check.blobs(contents=contents)
    except CallslipError as error:
        # The storage itself gives out: whatever was found before still stands.
        check.found("storage", _ADVICE.sub("", str(error)))
    check.report.problems.sort(key=lambda problem: problem.seq or head_last(check.report))
    return check.report


def head_last(report: Report) -> int:
    """Where a problem stands that is about no single record: after all of them."""
    return report.records + 1


def broken_links(rows: Sequence[Row], after: int, previous: bytes) -> tuple[list[Row | range], bytes]:
    """Hash the chain over rows that follow the record ``after`` with digest ``previous``.

    Returns:
        What does not fit, and the last stored digest: a row whose stored digest is not that of its bytes, or the
        positions that are missing. The row after a gap can't be judged.
    """
    sha256, expected = hashlib.sha256, after + 1
    faults: list[Row | range] = []
    for row in rows:
        seq, digest, text = row
        if seq != expected:
            faults.append(range(expected, seq))
        else:
            try:
                if sha256(previous + text).digest() != digest:
                    faults.append(row)
            except TypeError:  # altered into something that isn't even bytes
                faults.append(row)
        previous = digest
        expected = seq + 1
    return faults, previous


class _Check:
    """One session's check, from its first record on."""

    def __init__(self, parts: Parts, session: str) -> None:
        self.report = Report(session=session, digest=genesis(session), erased=[], problems=[])
        self._parts = parts
        self._state: SessionState | None = fold.empty(session)
        self._recent = {0: genesis(session)}
        """Digests of the latest records, by position."""
        self._addresses: dict[str, int] = {}
        """By address: the last record that names it."""
        self._erased: dict[str, int] = {}
        self._erased_whole = 0

    def found(self, kind: Any, message: str, seq: int | None = None) -> None:
        """Note a problem."""
        self.report.problems.append(Problem(kind=kind, message=message, seq=seq))

    async def log(self, head: Head, progress: Progress) -> Head:
        """Check all records, and that the head stands at the last one. Returns the head that was compared."""
        ledger = self._parts.ledger
        if not isinstance(ledger, RawLog):
            raise LogBroken("This ledger can't give its stored bytes, so nothing can be verified.")
        for _ in range(_LOOKS):
            while rows := await ledger.raw(self.report.session, after=self.report.records, limit=PAGE):
                self._chain(rows)
                self._facts(rows)
                progress(self.report.records, max(head.seq, self.report.records))
            head = (await ledger.heads(self.report.session))[0]
            if head.seq <= self.report.records:
                break
            if not await ledger.raw(self.report.session, after=self.report.records, limit=1):
                break
        self._compare(head)
        return head

    def _chain(self, rows: Sequence[Row]) -> None:
        faults, last = broken_links(rows, self.report.records, self.report.digest)
        if faults:
            self._explain(rows, faults)
        kept = {seq: digest for seq, digest in self._recent.items() if seq > self.report.records - PAGE}
        self._recent = kept | {seq: digest for seq, digest, _ in rows}
        self.report.digest = last

    def _explain(self, rows: Sequence[Row], faults: Sequence[Row | range]) -> None:
        """Say what was altered: when the record after it fits the digest that should stand here, it was the digest."""
        before = {
            row[0]: previous for row, previous in zip(rows, [self.report.digest, *(r[1] for r in rows)], strict=False)
        }
        after = {row[0]: row for row in rows}
        excused: set[int] = set()
        for fault in faults:
            if isinstance(fault, range):
                what = f"records {fault[0]} to {fault[-1]} are" if len(fault) > 1 else f"record {fault[0]} is"
                self.found("gap", f"{what} missing", fault[0])
                continue
            seq, _, text = fault
            if seq in excused:
                continue
            following = after.get(seq + 1)
            should = _link(before[seq], text)
            if following is not None and should and _link(should, following[2]) == following[1]:
                excused.add(seq + 1)
                self.found("chain", f"the digest of record {seq} was altered; its text is what was written", seq)
            else:
                self.found("chain", f"record {seq} is not what was written: its text does not fit the chain", seq)

    def _facts(self, rows: Sequence[Row]) -> None:
        """Decode, fold, and note which blobs are named."""
        for seq, digest, stored in rows:
            self.report.records = seq
            text = stored if isinstance(stored, bytes) else str(stored).encode()
            try:
                record = self._opened(read(text, seq))
            except LogBroken as error:
                self.found("unreadable", str(error), seq)
                self._state = None
                continue
            if b'"sha256:' in text or b'"sealed:' in text:  # spares most records the walk
                self._addresses |= dict.fromkeys(named(record.event), seq)
            if isinstance(record.event, BlobErased):
                self._erasure(record.event, seq, record.at)
            if isinstance(record.event, RunStarted):
                self._anchor(record.event, seq)
            if self._state is not None:
                try:
                    fold.apply(self._state, Stored(seq=seq, digest=digest, record=record, size=len(text)))
                except LogBroken as error:
                    self.found("impossible", str(error), seq)
                    self._state = None  # what comes after can't be judged by a state that isn't true

    def _opened(self, record: Record) -> Record:
        ledger = self._parts.ledger
        return ledger.opened(record) if isinstance(ledger, Opens) else record

    def _erasure(self, event: BlobErased, seq: int, at: int) -> None:
        self._erased |= dict.fromkeys(event.addresses, seq)
        if event.whole:
            self._erased_whole = seq
        self.report.erased.append(
            Erasure(
                seq=seq,
                at=at,
                actor=event.actor,
                reason=event.reason,
                payloads=len(event.addresses),
                whole=event.whole,
            )
        )

    def _gone(self, address: str, seq: int) -> bool:
        """Whether it was erased after the last record that names it."""
        whole = self._erased_whole if address.startswith(SEALED) else 0
        return seq < max(self._erased.get(address, 0), whole)

    def _anchor(self, event: RunStarted, seq: int) -> None:
        """A run names the prefix it was built on."""
        known = self._recent.get(event.anchor_seq)
        other = isinstance(known, bytes) and event.anchor_digest not in {"", known.hex()}
        if event.anchor_seq >= seq or other:
            self.found(
                "chain", f"the run in record {seq} was built on another log than the one that stands before it", seq
            )

    def _compare(self, head: Head) -> None:
        """The head's high-water mark against the last record."""
        last = self.report.records
        if head.seq > last:
            many = head.seq - last
            what = f"record {last + 1} is" if many == 1 else f"records {last + 1} to {head.seq} are"
            self.found("head", f"{what} missing at the end: the log was cut", last + 1)
        elif head.seq < last:
            self.found(
                "head", f"the head stands at record {head.seq}, but the log goes on to record {last}", head.seq + 1
            )
        elif head.digest != self.report.digest:
            self.found("head", f"the head's digest is not that of the last record, {last}", last)

    async def beside(self, head: Head) -> None:
        """What is kept beside the log must say the same as the log."""
        state = self._state
        if state is None or self.report.problems:
            return
        rows = {row.wait_id for row in await self._parts.ledger.waits(self.report.session)}
        now = (await self._parts.ledger.heads(self.report.session))[0]
        if now.seq == state.seq:
            waits = set(state.waits) if state.sealed is None else set()  # a sealed session's are nobody's here
            for wait_id in sorted(rows ^ waits):
                where = (
                    "is open by the log, but not listed"
                    if wait_id in state.waits
                    else "is listed, but not open by the log"
                )
                self.found("waits", f"wait {wait_id} {where}")
            released = now.owner is None and state.run_open
            if now.outsider_seq != state.outsider_seq or now.epoch < state.epoch or released:
                self.found("head", "the head's owner, epoch or last outsider is not as the log says")
        await self._checkpoint(state)

    async def _checkpoint(self, state: SessionState) -> None:
        """A checkpoint is a cache, but one that runs believe: folding the log must give the same."""
        ledger = self._parts.ledger
        if not isinstance(ledger, Checkpoints):
            return
        kept = await ledger.load_checkpoint(self.report.session)
        if kept is None or kept.seq > state.seq:
            return
        try:
            cached = await load_state(self._parts, self.report.session)
            items = await load_items(self._parts, cached)
        except CallslipError as error:
            self.found("checkpoint", f"the checkpoint at record {kept.seq} can't be used: {error}")
            return
        if cached.seq != state.seq:
            return  # somebody is writing
        same = msgspec.structs.replace(cached, items=items, segments=(), checkpoint_seq=state.checkpoint_seq)
        if same != state:
            names = [name for name in SessionState.__struct_fields__ if getattr(same, name) != getattr(state, name)]
            self.found("checkpoint", f"the checkpoint at record {kept.seq} tells another story than the log: {names}")

    async def blobs(self, *, contents: bool) -> None:
        """Each blob that the log names is there, and with ``contents`` is what its address says."""
        store = self._parts.blobs
        pending = self._parts.erasures.pending() if self._parts.erasures is not None else ()
        if any(begun.session == self.report.session for begun in pending):
            self.found("payload", "an erasure was begun and is not done: `callslip erase --unfinished` finishes it")
        for address, seq in self._addresses.items():
            if self._gone(address, seq):
                if address.startswith(SEALED) and await store.has(address):
                    self.found("payload", f"{address}, which record {seq} names, was erased, and is there all the same")
                continue
            self.report.payloads += 1
            fault = await _fault(store, address, contents=contents)
            if fault:
                self.found("payload", f"record {seq} names {address}: {fault}", seq)


async def _fault(store: Blobs, address: str, *, contents: bool) -> str:
    try:
        if contents:
            await store.get(address)
        elif not await store.has(address):
            return "it is not there"
    except NotFound:
        return "it is not there"
    except (CallslipError, OSError) as error:
        return str(error)
    return ""


def _link(previous: Any, text: Any) -> bytes:
    try:
        return hashlib.sha256(previous + text).digest()
    except TypeError:
        return b""
