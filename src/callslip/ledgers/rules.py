"""What every ledger decides alike: whether drafts may be appended, and what changes with them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callslip.core.event import Draft, Event, Stored, from_outside, genesis, link
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.wait import WaitKind
from callslip.errors import Busy, Fenced, Moved, Sealed, UsageError
from callslip.ports.ledger import Head, Owner, WaitRow

SEALED = "sealed"
"""Status of a session that has left: nothing but an erasure may be added, and its waits are nobody's here."""
ERASED = "erased"
"""Status of one whose payloads were all erased, until it goes on."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one admitted append writes, in one transaction."""

    stored: tuple[Stored, ...]
    head: Head
    opened: tuple[WaitRow, ...]
    closed: tuple[str, ...]
    moved: tuple[tuple[str, int], ...] = ()
    """Open waits, and when they wake their session now."""


def new_head(session: str, owner: Owner, at: int) -> Head:
    """The head of a session nobody has driven before. Its ``change``, as that of every head made here, is the
    ledger's to give.
    """
    return Head(
        session=session, seq=0, digest=genesis(session), epoch=1, outsider_seq=0, owner=owner, status="running",
        woken=False, updated_at=at, change=0,
    )  # fmt: skip


def claim(head: Head, owner: Owner, expected_epoch: int, at: int) -> Head:
    """The head after a claim.

    Raises:
        Moved: somebody else claimed it first. Sealed: it has left.
    """
    _check_here(head)
    if head.epoch != expected_epoch:
        raise Moved(
            f"Session {head.session!r} was claimed by another process a moment ago (epoch {head.epoch}). "
            "Nothing was written. Look again."
        )
    return msgspec.structs.replace(
        head, epoch=head.epoch + 1, owner=owner, status="running", woken=False, updated_at=at
    )


def admit_owner(head: Head, drafts: Sequence[Draft], *, epoch: int, folded: int | None) -> Change:
    """An owner's append.

    Raises:
        Fenced: the epoch has moved on. Moved: an outsider's record is newer than ``folded``. Sealed: it has left.
    """
    _check_here(head)
    if head.epoch != epoch or head.owner is None:
        raise Fenced(
            f"Session {head.session!r} is driven under epoch {head.epoch} now, not {epoch}. "
            "Nothing was written; this run must stop, and whoever drives the session goes on."
        )
    if folded is not None and head.outsider_seq > folded:
        raise Moved(
            f"Record {head.outsider_seq} of session {head.session!r} came in from outside. Nothing was written."
        )
    for draft in drafts:
        if draft.record.epoch != epoch:
            raise UsageError("An owner's drafts carry the owner's epoch.")
    return _change(head, drafts, outsider=False)


def admit_outsider(head: Head, drafts: Sequence[Draft], *, expected: int) -> Change:
    """An outsider's append.

    Raises:
        Moved: something was appended since ``expected``. UsageError: not an outsider's event. Sealed: it has left.
        Busy: it can't leave while somebody drives it.
    """
    if not all(isinstance(draft.record.event, BlobErased) for draft in drafts):
        _check_here(head)
    if any(
        isinstance(draft.record.event, SessionImported) and draft.record.event.how == "imported" for draft in drafts
    ):
        raise UsageError("A session is taken in as a whole, or not at all. Nothing was written.")
    for draft in drafts:
        if draft.record.epoch != 0 or not from_outside(draft.record.event):
            raise UsageError(f"{type(draft.record.event).__name__} can't be appended without owning the session.")
    if head.seq != expected:
        raise Moved(f"Session {head.session!r} stands at record {head.seq}, not {expected}. Nothing was written.")
    if head.owner is not None and any(isinstance(draft.record.event, SessionSealed) for draft in drafts):
        raise Busy(f"Session {head.session!r} is driven by process {head.owner.process} now. Nothing was written.")
    return _change(head, drafts, outsider=True)


def adopt(session: str, drafts: Sequence[Draft]) -> Change:
    """A whole log that was written elsewhere, taken in at once: head and waits as they would stand had each record
    been appended here.
    """
    head = Head(
        session=session, seq=0, digest=genesis(session), epoch=0, outsider_seq=0, owner=None, status="new",
        woken=False, updated_at=0, change=0,
    )  # fmt: skip
    stored: list[Stored] = []
    waits: dict[str, WaitRow] = {}
    for draft in drafts:
        record = draft.record
        if record.epoch > head.epoch:
            head = msgspec.structs.replace(head, epoch=record.epoch)
        if isinstance(record.event, RunStarted):
            event = record.event
            owner = Owner(id=event.owner, host=event.host, boot=event.boot, process=event.process)
            head = msgspec.structs.replace(head, owner=owner, woken=False)
        change = _change(head, [draft], outsider=record.epoch == 0)
        head = change.head
        stored += change.stored
        waits |= {row.wait_id: row for row in change.opened}
        for wait_id in change.closed:
            waits.pop(wait_id, None)
        for wait_id, wake_at in change.moved:
            if wait_id in waits:
                waits[wait_id] = msgspec.structs.replace(waits[wait_id], wake_at=wake_at)
    return Change(stored=tuple(stored), head=head, opened=tuple(waits.values()), closed=())


def _check_here(head: Head) -> None:
    if head.status == SEALED:
        raise Sealed(
            f"Session {head.session!r} was sealed: it has left. Nothing was written. `callslip show` says where it "
            "went; it goes on there."
        )


def _wakes(event: Event) -> bool:
    """Whether an outsider's event gives a run something to do."""
    if isinstance(event, SessionImported):
        return event.proven
    return not isinstance(event, SessionSealed | BlobErased | WaitOpened)


_CHANGE = frozenset({
    WaitOpened, WaitClosed, BackgroundPolled, RunStarted, RunEnded, SessionSealed, SessionImported, BlobErased,
})  # fmt: skip
"""Events that change more than the log. Most do not."""


def _change(head: Head, drafts: Sequence[Draft], *, outsider: bool) -> Change:
    seq, digest, stored = head.seq, head.digest, []
    opened: dict[str, WaitRow] = {}
    closed: list[str] = []
    moved: dict[str, int] = {}
    status, owner = head.status, head.owner
    woken = head.woken or (outsider and any(_wakes(draft.record.event) for draft in drafts))
    for draft in drafts:
        seq += 1
        digest = link(digest, draft.text)
        stored.append(Stored(seq=seq, digest=digest, record=draft.record, size=len(draft.text)))
        event = draft.record.event
        if type(event) not in _CHANGE:
            continue
        if isinstance(event, WaitOpened):
            opened[event.wait_id] = _row(head.session, event, draft.record.at, seq)
            woken = woken and event.kind is not WaitKind.COPY  # nothing is to be done before somebody has looked
        elif isinstance(event, WaitClosed):
            if opened.pop(event.wait_id, None) is None:
                closed.append(event.wait_id)
        elif isinstance(event, BackgroundPolled) and event.wait_id in opened:
            row = opened[event.wait_id]
            opened[event.wait_id] = msgspec.structs.replace(row, wake_at=event.wake_at)
        elif isinstance(event, BackgroundPolled):
            moved[event.wait_id] = event.wake_at
        elif isinstance(event, RunStarted):
            status = "running"
        elif isinstance(event, RunEnded):
            # The run has folded everything up to this append, or the append is refused as Moved; but one that failed
            # may have left what came meanwhile undone.
            status, owner = event.status, None
            woken = event.status == "left" or (woken and event.status in {"failed", "idle"})
        elif isinstance(event, SessionSealed):
            status, woken = SEALED, False
        elif isinstance(event, SessionImported):
            status, owner, woken = event.how, None, event.proven
        elif isinstance(event, BlobErased) and event.whole and owner is None and status != SEALED:
            status = ERASED
    after = msgspec.structs.replace(
        head,
        seq=seq,
        digest=digest,
        outsider_seq=seq if outsider else head.outsider_seq,
        status=status,
        owner=owner,
        woken=woken,
        updated_at=drafts[-1].record.at if drafts else head.updated_at,
    )
    return Change(
        stored=tuple(stored),
        head=after,
        opened=tuple(opened.values()),
        closed=tuple(closed),
        moved=tuple(moved.items()),
    )


def _row(session: str, event: WaitOpened, at: int, seq: int) -> WaitRow:
    return WaitRow(
        session=session,
        wait_id=event.wait_id,
        kind=event.kind.value,
        reason=event.reason,
        call_id=event.call_id,
        wake_at=event.wake_at,
        opened_at=at,
        seq=seq,
    )
