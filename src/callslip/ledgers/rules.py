"""What every ledger decides alike: whether drafts may be appended, and what changes with them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callslip.core.event import OUTSIDER_EVENTS, Draft, Stored, genesis, link
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.errors import Fenced, Moved, UsageError
from callslip.ports.ledger import Head, Owner, WaitRow


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one admitted append writes, in one transaction."""

    stored: tuple[Stored, ...]
    head: Head
    opened: tuple[WaitRow, ...]
    closed: tuple[str, ...]


def new_head(session: str, owner: Owner, at: int) -> Head:
    """The head of a session nobody has driven before."""
    return Head(
        session=session, seq=0, digest=genesis(session), epoch=1, outsider_seq=0, owner=owner, status="running",
        woken=False, updated_at=at,
    )  # fmt: skip


def claim(head: Head, owner: Owner, expected_epoch: int, at: int) -> Head:
    """The head after a claim.

    Raises:
        Moved: somebody else claimed it first.
    """
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
        Fenced: the epoch has moved on. Moved: an outsider's record is newer than ``folded``.
    """
    if head.epoch != epoch or head.owner is None:
        raise Fenced(
            f"Session {head.session!r} is driven under epoch {head.epoch} now, not {epoch}. "
            "Nothing was written; this run must stop, and whoever drives the session goes on."
        )
    if folded is not None and head.outsider_seq > folded:
        raise Moved(
            f"Record {head.outsider_seq} of session {head.session!r} came in from outside. Nothing was written."
        )
    if any(draft.record.epoch != epoch for draft in drafts):
        raise UsageError("An owner's drafts carry the owner's epoch.")
    return _change(head, drafts, outsider=False)


def admit_outsider(head: Head, drafts: Sequence[Draft], *, expected: int) -> Change:
    """An outsider's append.

    Raises:
        Moved: something was appended since ``expected``. UsageError: not an outsider's event.
    """
    for draft in drafts:
        if draft.record.epoch != 0 or not isinstance(draft.record.event, OUTSIDER_EVENTS):
            raise UsageError(f"{type(draft.record.event).__name__} can't be appended without owning the session.")
    if head.seq != expected:
        raise Moved(f"Session {head.session!r} stands at record {head.seq}, not {expected}. Nothing was written.")
    return _change(head, drafts, outsider=True)


def _change(head: Head, drafts: Sequence[Draft], *, outsider: bool) -> Change:
    seq, digest, stored = head.seq, head.digest, []
    opened: dict[str, WaitRow] = {}
    closed: list[str] = []
    status, owner, woken = head.status, head.owner, head.woken or outsider
    for draft in drafts:
        seq += 1
        digest = link(digest, draft.text)
        stored.append(Stored(seq=seq, digest=digest, record=draft.record))
        event = draft.record.event
        if isinstance(event, WaitOpened):
            opened[event.wait_id] = _row(head.session, event, draft.record.at, seq)
        elif isinstance(event, WaitClosed):
            if opened.pop(event.wait_id, None) is None:
                closed.append(event.wait_id)
        elif isinstance(event, RunStarted):
            status = "running"
        elif isinstance(event, RunEnded):
            # The run has folded everything up to this append, or the append is refused as Moved; but one that failed
            # may have left what came meanwhile undone.
            status, owner, woken = event.status, None, woken and event.status == "failed"
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
    return Change(stored=tuple(stored), head=after, opened=tuple(opened.values()), closed=tuple(closed))


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
