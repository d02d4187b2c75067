"""Owners, drafts and sessions for tests of ledgers."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from callslip.core.event import Draft, Event, Stored, draft, read
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.wait import WaitKind
from callslip.errors import CallslipError
from callslip.ports.ledger import Head, Ledger, Owner

ME = Owner(id="own_me", host="here", boot="now", process=1)
OTHER = Owner(id="own_other", host="there", boot="now", process=2)


def owned(*events: Event, epoch: int = 1, at: int = 1000) -> list[Draft]:
    """Drafts of an owner."""
    return [draft(event, at=at, by="me", epoch=epoch, run="run") for event in events]


def outside(*events: Event, at: int = 1000) -> list[Draft]:
    """Drafts of an outsider."""
    return [draft(event, at=at, by="somebody", epoch=0, run="") for event in events]


def run(number: int = 1) -> RunStarted:
    """A run that begins."""
    return RunStarted(owner="own_me", host="here", boot="now", process=number)


def said(text: str) -> UserMessage:
    """A message."""
    return UserMessage(text=text)


def polled(wait: str, *, wake_at: int) -> BackgroundPolled:
    """A job was asked after, and its wait wakes the session at another time."""
    return BackgroundPolled(call_id="call", attempt=1, nonce="n", wait_id=wait, poll_at=wake_at, wake_at=wake_at)


def waiting(wait: str, *, wake_at: int | None = None) -> WaitOpened:
    """A wait that opens."""
    return WaitOpened(wait_id=wait, kind=WaitKind.CLIENT, reason="for a test", call_id="call", wake_at=wake_at)


async def head_of(ledger: Ledger, session: str) -> Head:
    (head,) = await ledger.heads(session)
    return head


async def fresh(ledger: Ledger, session: str = "s", *events: Event) -> Sequence[Stored]:
    """A session of its own, driven by us under epoch 1."""
    await ledger.claim(session, ME, expected_epoch=0, at=1)
    return await ledger.append(session, owned(SessionStarted(requester="tester"), run(), *events), epoch=1)


SEALED = SessionSealed(actor="op", reason="moving", destination="there", prefix_seq=0, prefix_digest="")


async def as_drafts(ledger: Ledger, session: str) -> list[Draft]:
    """The records as they are stored, to be taken in elsewhere."""
    rows = await ledger.raw(session)  # type: ignore[attr-defined]
    return [Draft(record=read(text, seq), text=text) for seq, _, text in rows]


async def refused(work: Coroutine[Any, Any, Any], *kinds: type[CallslipError]) -> CallslipError:
    with pytest.raises(kinds) as caught:
        await work
    return caught.value
