"""What every ledger must do: one suite, run on each implementation. ::

    class TestMine(LedgerSuite):
        async def opened(self, place: Path) -> Ledger:
            return MyLedger(place / "mine.db")

``opened`` may be called several times for one place; a ledger that lives in one process only says ``shared = False``
and is opened once. For pytest with anyio's plugin; have asserts rewritten with
``pytest.register_assert_rewrite("callslip.testing.suites.ledger")`` in a conftest.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from callslip.core.event import Draft, Event, Stored, draft, genesis, link, read
from callslip.core.events.background_polled import BackgroundPolled
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.call_parked import CallParked
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.run_started import RunStarted
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.session_sealed import SessionSealed
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.events.wait_opened import WaitOpened
from callslip.core.wait import WaitKind
from callslip.errors import Busy, CallslipError, Fenced, Moved, NotFound, Sealed, UsageError
from callslip.ports.ledger import Adopts, Checkpoint, Checkpoints, Head, Ledger, Owner

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


async def _head(ledger: Ledger, session: str) -> Head:
    (head,) = await ledger.heads(session)
    return head


async def _fresh(ledger: Ledger, session: str = "s", *events: Event) -> Sequence[Stored]:
    """A session of its own, driven by us under epoch 1."""
    await ledger.claim(session, ME, expected_epoch=0, at=1)
    return await ledger.append(session, owned(SessionStarted(requester="tester"), run(), *events), epoch=1)


_SEALED = SessionSealed(actor="op", reason="moving", destination="there", prefix_seq=0, prefix_digest="")


async def _as_drafts(ledger: Ledger, session: str) -> list[Draft]:
    """The records as they are stored, to be taken in elsewhere."""
    rows = await ledger.raw(session)  # type: ignore[attr-defined]
    return [Draft(record=read(text, seq), text=text) for seq, _, text in rows]


async def _refused(work: Coroutine[Any, Any, Any], *kinds: type[CallslipError]) -> CallslipError:
    with pytest.raises(kinds) as caught:
        await work
    return caught.value


@pytest.mark.anyio
class LedgerSuite:
    """Subclass it, and say how to open one."""

    shared: ClassVar[bool] = True
    """Whether a second one can be opened on the same place."""

    async def opened(self, place: Path) -> Ledger:
        """A ledger at this place."""
        raise NotImplementedError

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    async def ledger(self, tmp_path: Path) -> AsyncIterator[Ledger]:
        ledger = await self.opened(tmp_path)
        yield ledger
        await ledger.aclose()

    @contextlib.asynccontextmanager
    async def second(self, place: Path) -> AsyncIterator[Ledger]:
        """Another one on the same place, as another process would open it."""
        if not self.shared:
            pytest.skip("lives in one process")
        ledger = await self.opened(place)
        try:
            yield ledger
        finally:
            await ledger.aclose()

    # Claims

    async def test_a_claim_makes_the_session(self, ledger: Ledger) -> None:
        head = await ledger.claim("s", ME, expected_epoch=0, at=7)
        assert (head.session, head.seq, head.epoch, head.owner) == ("s", 0, 1, ME)
        assert (head.digest, head.status, head.woken, head.updated_at) == (genesis("s"), "running", False, 7)
        assert list(await ledger.heads("s")) == [head]
        assert list(await ledger.read("s")) == []

    async def test_a_claim_raises_the_epoch(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        head = await ledger.claim("s", OTHER, expected_epoch=1, at=9)
        assert (head.epoch, head.owner, head.seq) == (2, OTHER, 2)

    async def test_of_two_claims_one_wins(self, ledger: Ledger) -> None:
        await ledger.claim("s", ME, expected_epoch=0, at=1)
        claims = [ledger.claim("s", owner, expected_epoch=1, at=2) for owner in (ME, OTHER)]
        ends = await asyncio.gather(*claims, return_exceptions=True)
        assert sorted(type(end).__name__ for end in ends) == ["Head", "Moved"]
        assert (await _head(ledger, "s")).epoch == 2

    async def test_of_two_first_claims_one_wins(self, ledger: Ledger) -> None:
        claims = [ledger.claim("s", owner, expected_epoch=0, at=1) for owner in (ME, OTHER)]
        ends = await asyncio.gather(*claims, return_exceptions=True)
        assert sorted(type(end).__name__ for end in ends) == ["Head", "Moved"]

    async def test_a_claim_of_a_session_that_is_not_there(self, ledger: Ledger) -> None:
        await _refused(ledger.claim("s", ME, expected_epoch=3, at=1), Moved)
        assert list(await ledger.heads()) == []

    # The owner

    async def test_a_stale_owner_is_refused(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        await ledger.claim("s", OTHER, expected_epoch=1, at=2)
        before = await _head(ledger, "s")
        await _refused(ledger.append("s", owned(run()), epoch=1), Fenced)
        assert await _head(ledger, "s") == before
        assert len(await ledger.append("s", owned(run(2), epoch=2), epoch=2)) == 1

    async def test_an_owner_who_let_go_is_refused(self, ledger: Ledger) -> None:
        await _fresh(ledger, "s", RunEnded(status="finished"))
        head = await _head(ledger, "s")
        assert (head.owner, head.status, head.epoch) == (None, "finished", 1)
        await _refused(ledger.append("s", owned(run()), epoch=1), Fenced)

    async def test_drafts_of_another_epoch_are_refused(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        await _refused(ledger.append("s", owned(run(), epoch=2), epoch=1), UsageError)
        await _refused(ledger.append("s", outside(said("me too")), epoch=1), UsageError)
        assert (await _head(ledger, "s")).seq == 2

    async def test_all_of_an_append_or_nothing(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        mixed = [*owned(waiting("w1")), *owned(run(), epoch=9)]
        await _refused(ledger.append("s", mixed, epoch=1), UsageError)
        assert list(await ledger.waits()) == []
        assert len(await ledger.read("s")) == 2

    async def test_what_the_owner_has_not_folded_moves_it(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        await ledger.decide("s", outside(said("wait")), expected=2)
        await _refused(ledger.append("s", owned(run()), epoch=1, folded=0), Moved)
        assert (await ledger.append("s", owned(run()), epoch=1, folded=3))[0].seq == 4
        assert (await ledger.append("s", owned(run()), epoch=1))[0].seq == 5, "without folded nothing is asked"

    # Outsiders

    async def test_an_outsider_needs_the_position(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        for wrong in (1, 3):
            await _refused(ledger.decide("s", outside(said("hello")), expected=wrong), Moved)
        (stored,) = await ledger.decide("s", outside(said("hello")), expected=2)
        assert stored.seq == 3
        head = await _head(ledger, "s")
        assert (head.outsider_seq, head.epoch, head.owner) == (3, 1, ME), "without taking the epoch"

    async def test_of_two_outsiders_one_wins(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        tells = [ledger.decide("s", outside(said(text)), expected=2) for text in "ab"]
        ends = await asyncio.gather(*tells, return_exceptions=True)
        assert sum(isinstance(end, Moved) for end in ends) == 1
        assert (await _head(ledger, "s")).seq == 3

    async def test_an_outsider_appends_only_what_outsiders_may(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        forbidden: list[Event] = [
            run(),
            RunEnded(status="finished"),
            waiting("w"),
            CallParked(call_id="c", reason="r", code="x"),
        ]
        for event in forbidden:
            await _refused(ledger.decide("s", outside(said("first"), event), expected=2), UsageError)
        await _refused(ledger.decide("s", owned(said("as an owner")), expected=2), UsageError)
        assert (await _head(ledger, "s")).seq == 2

    async def test_an_outsider_wakes_a_session(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        assert not (await _head(ledger, "s")).woken
        await ledger.decide("s", outside(StopRequested(actor="me")), expected=2)
        assert (await _head(ledger, "s")).woken
        await ledger.append("s", owned(RunEnded(status="stopped")), epoch=1, folded=3)
        assert not (await _head(ledger, "s")).woken, "the run that ended has read it"
        await ledger.decide("s", outside(said("again")), expected=4)
        assert (await _head(ledger, "s")).woken
        assert not (await ledger.claim("s", OTHER, expected_epoch=1, at=3)).woken

    # Waits

    async def test_a_wait_is_a_row_of_the_same_commit(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        await ledger.append("s", owned(waiting("w1", wake_at=50), waiting("w2"), at=20), epoch=1)
        rows = await ledger.waits("s")
        assert [(row.wait_id, row.wake_at, row.opened_at, row.seq) for row in rows] == [
            ("w1", 50, 20, 3),
            ("w2", None, 20, 4),
        ]
        assert (rows[0].session, rows[0].kind, rows[0].call_id) == ("s", "client", "call")
        closed = WaitClosed(wait_id="w1", how="submitted", actor="client")
        await ledger.decide("s", outside(closed), expected=4)
        assert [row.wait_id for row in await ledger.waits()] == ["w2"]

    async def test_a_wait_opened_and_closed_at_once_leaves_no_row(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        closed = WaitClosed(wait_id="w", how="elapsed", actor="clock")
        await ledger.append("s", owned(waiting("w"), closed), epoch=1)
        assert list(await ledger.waits()) == []

    async def test_a_job_that_was_asked_after_wakes_its_session_later(self, ledger: Ledger) -> None:
        over = WaitClosed(wait_id="w1", how="settled", actor="callslip")
        await _fresh(ledger, "s", waiting("w1", wake_at=50), waiting("w2", wake_at=50))
        await ledger.append("s", owned(polled("w1", wake_at=90), polled("none", wake_at=90), at=60), epoch=1)
        rows = {row.wait_id: row for row in await ledger.waits("s")}
        assert {name: row.wake_at for name, row in rows.items()} == {"w1": 90, "w2": 50}
        assert [row.wait_id for row in await ledger.waits(due_at=90)] == ["w1", "w2"]
        assert [row.wait_id for row in await ledger.waits(due_at=89)] == ["w2"]
        await ledger.append("s", owned(waiting("w3", wake_at=5), polled("w3", wake_at=7)), epoch=1)
        assert [row.wake_at for row in await ledger.waits(wait_id="w3")] == [7]
        await ledger.append("s", owned(polled("w1", wake_at=99), over), epoch=1)
        assert list(await ledger.waits(wait_id="w1")) == []

    async def test_waits_of_all_sessions_are_oldest_first(self, ledger: Ledger) -> None:
        await _fresh(ledger, "a")
        await _fresh(ledger, "b")
        await ledger.append("b", owned(waiting("w1"), at=5), epoch=1)
        await ledger.append("a", owned(waiting("w1"), at=9), epoch=1)
        assert [(row.session, row.opened_at) for row in await ledger.waits()] == [("b", 5), ("a", 9)]
        assert [row.session for row in await ledger.waits("a")] == ["a"]

    # Reading

    async def test_the_chain_binds_what_is_stored(self, ledger: Ledger) -> None:
        texts = [one.text for one in owned(SessionStarted(requester="tester"), run(), *map(said, "abc"))]
        await _fresh(ledger, "s", *map(said, "abc"))
        digest = genesis("s")
        for stored, text in zip(await ledger.read("s"), texts, strict=True):
            digest = link(digest, text)
            assert stored.digest == digest
        assert (await _head(ledger, "s")).digest == digest

    async def test_each_record_says_how_many_bytes_it_takes(self, ledger: Ledger) -> None:
        made = [*await _fresh(ledger, "s", said("ü" * 50)), *await ledger.decide("s", outside(said("x")), expected=3)]
        sizes = [len(text) for _, _, text in await ledger.raw("s")]  # type: ignore[attr-defined]
        assert [one.size for one in made] == sizes
        assert [one.size for one in await ledger.read("s")] == sizes

    async def test_reading_a_part(self, ledger: Ledger) -> None:
        whole = await _fresh(ledger, "s", *map(said, "abcdef"))
        assert list(await ledger.read("s")) == list(whole)
        assert list(await ledger.read("s", after=3)) == list(whole[3:])
        assert list(await ledger.read("s", after=2, limit=3)) == list(whole[2:5])
        assert list(await ledger.read("s", limit=100)) == list(whole)
        assert list(await ledger.read("s", after=8)) == []
        assert list(await ledger.read("s", after=0, limit=0)) == []

    async def test_what_was_appended_is_what_is_read(self, ledger: Ledger) -> None:
        awkward = ["", "\x00\x1f", "“ü”\U0001f600", "\\u0000", "x" * 3_000_000]
        given = await _fresh(ledger, "s", *map(said, awkward))
        assert list(await ledger.read("s")) == list(given)

    async def test_sessions_do_not_touch_each_other(self, ledger: Ledger) -> None:
        one = await _fresh(ledger, "one", said("1"))
        two = await _fresh(ledger, "two", said("2"), said("2"))
        await ledger.decide("one", outside(said("more")), expected=3)
        assert (await ledger.append("two", owned(run()), epoch=1, folded=0))[0].seq == 5
        assert one[0].digest != two[0].digest, "the same words in another session are another chain"
        assert {head.session: head.seq for head in await ledger.heads()} == {"one": 4, "two": 5}

    async def test_heads_are_latest_first(self, ledger: Ledger) -> None:
        for at, name in enumerate("abc", start=1):
            await ledger.claim(name, ME, expected_epoch=0, at=at)
        await ledger.append("a", owned(SessionStarted(requester="x"), at=9), epoch=1)
        assert [head.session for head in await ledger.heads()] == ["a", "c", "b"]

    # What changed, and what is due

    async def test_every_change_of_a_session_is_given_a_greater_number(self, ledger: Ledger) -> None:
        given = [(await ledger.claim("a", ME, expected_epoch=0, at=9)).change]
        given.append((await ledger.claim("b", ME, expected_epoch=0, at=3)).change)  # by a clock that was set back
        for step in (
            lambda: ledger.append("a", owned(SessionStarted(requester="x"), run()), epoch=1),
            lambda: ledger.decide("a", outside(said("hello")), expected=2),
            lambda: ledger.append("a", owned(RunEnded(status="failed")), epoch=1),
            lambda: ledger.claim("a", OTHER, expected_epoch=1, at=1),
        ):
            await step()
            given.append((await _head(ledger, "a")).change)
        assert given == sorted(set(given))
        assert (await _head(ledger, "b")).change == given[1], "a session that nothing happened to keeps its number"

    async def test_a_refused_append_changes_no_number(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        before = await _head(ledger, "s")
        await _refused(ledger.append("s", owned(run(), epoch=7), epoch=7), Fenced)
        await _refused(ledger.decide("s", outside(said("hello")), expected=1), Moved)
        assert await _head(ledger, "s") == before

    async def test_sessions_of_one_commit_change_one_after_the_other(self, ledger: Ledger) -> None:
        await asyncio.gather(*[ledger.claim(name, ME, expected_epoch=0, at=1) for name in "abcde"])
        heads = await ledger.heads(changed_after=0)
        assert len({head.change for head in heads}) == 5

    async def test_a_follower_sees_what_changed_since_in_order(self, ledger: Ledger) -> None:
        for name in "abc":
            await _fresh(ledger, name)
        everything = await ledger.heads(changed_after=0)
        assert [head.session for head in everything] == ["a", "b", "c"]
        seen = everything[-1].change
        assert list(await ledger.heads(changed_after=seen)) == []
        await ledger.decide("b", outside(said("hello")), expected=2)
        await ledger.append("a", owned(run()), epoch=1)
        news = await ledger.heads(changed_after=seen)
        assert [head.session for head in news] == ["b", "a"]
        assert [await _head(ledger, head.session) for head in news] == list(news)
        assert list(await ledger.heads("a", changed_after=seen)) == [news[1]]
        assert list(await ledger.heads("c", changed_after=seen)) == []

    async def test_what_might_go_on_is_owned_or_woken_or_due(self, ledger: Ledger) -> None:
        for name, events in {
            "due": [waiting("w1", wake_at=50), waiting("w2", wake_at=60)],
            "later": [waiting("w1", wake_at=51)],
            "whenever": [waiting("w1")],
            "woken": [],
            "done": [],
        }.items():
            await _fresh(ledger, name, *events, RunEnded(status="waiting"))
        await _fresh(ledger, "owned")
        await ledger.decide("woken", outside(said("hello")), expected=3)
        assert [head.session for head in await ledger.heads(ready_at=49)] == ["owned", "woken"]
        ready = await ledger.heads(ready_at=50)
        assert [head.session for head in ready] == ["due", "owned", "woken"]
        assert [await _head(ledger, head.session) for head in ready] == list(ready)
        assert [head.session for head in await ledger.heads(ready_at=99)] == ["due", "later", "owned", "woken"]
        assert [head.session for head in await ledger.heads("due", ready_at=50)] == ["due"]
        assert list(await ledger.heads("later", ready_at=50)) == []
        assert [head.session for head in await ledger.heads(ready_at=50, changed_after=ready[0].change)] == [
            "owned",
            "woken",
        ]

    async def test_one_that_was_due_or_woken_is_so_no_more(self, ledger: Ledger) -> None:
        await _fresh(ledger, "s", waiting("w", wake_at=50), RunEnded(status="waiting"))
        await ledger.decide("s", outside(said("hello")), expected=4)
        assert len(await ledger.heads(ready_at=0)) == len(await ledger.heads(ready_at=50)) == 1
        await ledger.claim("s", OTHER, expected_epoch=1, at=2)
        ended = owned(WaitClosed(wait_id="w", how="elapsed", actor="clock"), RunEnded(status="waiting"), epoch=2)
        await ledger.append("s", ended, epoch=2, folded=5)
        assert list(await ledger.heads(ready_at=99)) == []

    async def test_a_wait_is_found_by_its_id(self, ledger: Ledger) -> None:
        await _fresh(ledger, "a", waiting("w1"), waiting("w2"))
        await _fresh(ledger, "b", waiting("w3"))
        assert [(row.session, row.wait_id) for row in await ledger.waits(wait_id="w2")] == [("a", "w2")]
        assert [row.session for row in await ledger.waits("a", wait_id="w1")] == ["a"]
        assert list(await ledger.waits("a", wait_id="w3")) == []
        assert list(await ledger.waits(wait_id="none")) == []

    async def test_waits_that_are_due(self, ledger: Ledger) -> None:
        await _fresh(ledger, "a", waiting("w1", wake_at=50), waiting("w2", wake_at=51), waiting("w3"))
        await _fresh(ledger, "b", waiting("w4", wake_at=7))
        due = [(row.session, row.wait_id) for row in await ledger.waits(due_at=50)]
        assert sorted(due) == [("a", "w1"), ("b", "w4")]
        assert [row.wait_id for row in await ledger.waits("a", due_at=51)] == ["w1", "w2"]
        assert [row.wait_id for row in await ledger.waits(wait_id="w2", due_at=51)] == ["w2"]
        assert list(await ledger.waits(wait_id="w2", due_at=50)) == []

    async def test_an_unknown_session(self, ledger: Ledger) -> None:
        assert list(await ledger.heads("none")) == []
        assert list(await ledger.read("none")) == []
        assert list(await ledger.waits("none")) == []
        await _refused(ledger.append("none", owned(run()), epoch=1), NotFound)
        await _refused(ledger.decide("none", outside(said("hello")), expected=0), NotFound)

    # Together

    async def test_a_refused_append_does_not_disturb_its_group(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        good = [ledger.append("s", owned(said(str(number))), epoch=1) for number in range(10)]
        bad = [ledger.append("s", owned(said("no"), epoch=7), epoch=7) for _ in range(5)]
        ends = await asyncio.gather(*good[:5], *bad, *good[5:], return_exceptions=True)
        assert [type(end).__name__ for end in ends[5:10]] == ["Fenced"] * 5
        assert [record.seq for end in (*ends[:5], *ends[10:]) for record in _records(end)] == list(range(3, 13))
        assert len(await ledger.read("s")) == 12

    async def test_concurrent_appends_keep_their_order(self, ledger: Ledger) -> None:
        await _fresh(ledger)

        async def tell(number: int) -> None:
            for count in range(5):
                await ledger.append("s", owned(said(f"{number}:{count}")), epoch=1)

        await asyncio.gather(*map(tell, range(8)))
        events = [stored.record.event for stored in await ledger.read("s", after=2)]
        texts = [event.text for event in events if isinstance(event, UserMessage)]
        assert len(texts) == 40
        for number in range(8):
            assert [text for text in texts if text.startswith(f"{number}:")] == [f"{number}:{n}" for n in range(5)]

    async def test_the_version_changes_with_every_commit(self, ledger: Ledger) -> None:
        seen = {await ledger.version()}
        await _fresh(ledger)
        seen.add(await ledger.version())
        await ledger.decide("s", outside(said("hello")), expected=2)
        seen.add(await ledger.version())
        assert len(seen) == 3
        assert await ledger.version() in seen, "reading changes nothing"

    async def test_the_version_changes_with_others_commits(self, ledger: Ledger, tmp_path: Path) -> None:
        await _fresh(ledger)
        async with self.second(tmp_path) as other:
            before = await ledger.version()
            await other.decide("s", outside(said("hello")), expected=2)
            assert await ledger.version() != before

    async def test_two_see_the_same(self, ledger: Ledger, tmp_path: Path) -> None:
        async with self.second(tmp_path) as other:
            await _fresh(ledger)
            await other.claim("s", OTHER, expected_epoch=1, at=2)
            await _refused(ledger.append("s", owned(run()), epoch=1), Fenced)
            await other.append("s", owned(run(2), epoch=2), epoch=2)
            assert list(await ledger.read("s")) == list(await other.read("s"))
            assert list(await ledger.heads()) == list(await other.heads())

    async def test_what_was_committed_is_there_when_opened_again(self, ledger: Ledger, tmp_path: Path) -> None:
        whole = await _fresh(ledger, "s", waiting("w"))
        async with self.second(tmp_path) as again:
            assert list(await again.read("s")) == list(whole)
            assert [row.wait_id for row in await again.waits()] == ["w"]

    # Moving

    async def test_a_sealed_session_takes_nothing_but_an_erasure(self, ledger: Ledger) -> None:
        await _fresh(ledger, "s", waiting("w", wake_at=50), RunEnded(status="waiting"))
        await ledger.decide("s", outside(said("hello")), expected=4)
        await ledger.decide("s", outside(_SEALED), expected=5)
        head = await _head(ledger, "s")
        assert (head.status, head.owner, head.woken) == ("sealed", None, False)
        assert list(await ledger.waits()) == list(await ledger.waits(wait_id="w")) == []
        assert list(await ledger.waits("s")) == list(await ledger.waits(due_at=99)) == []
        assert list(await ledger.heads(ready_at=99)) == []
        await _refused(ledger.claim("s", ME, expected_epoch=1, at=2), Sealed)
        await _refused(ledger.append("s", owned(run()), epoch=1), Sealed)
        await _refused(ledger.decide("s", outside(said("more")), expected=6), Sealed)
        await ledger.decide("s", outside(BlobErased(actor="op", reason="asked", whole=True)), expected=6)
        assert (await _head(ledger, "s")).status == "sealed"

    async def test_what_is_driven_cant_be_sealed(self, ledger: Ledger) -> None:
        await _fresh(ledger)
        await _refused(ledger.decide("s", outside(_SEALED), expected=2), Busy)

    async def test_an_erasure_wakes_nobody(self, ledger: Ledger) -> None:
        await _fresh(ledger, "s", RunEnded(status="finished"))
        await ledger.decide("s", outside(BlobErased(actor="op", reason="asked")), expected=3)
        assert ((await _head(ledger, "s")).woken, (await _head(ledger, "s")).status) == (False, "finished")
        await ledger.decide("s", outside(BlobErased(actor="op", reason="asked", whole=True)), expected=4)
        assert ((await _head(ledger, "s")).woken, (await _head(ledger, "s")).status) == (False, "erased")

    async def test_a_log_taken_in_stands_as_if_it_had_been_appended(self, ledger: Ledger, tmp_path: Path) -> None:
        if not isinstance(ledger, Adopts):
            pytest.skip("takes no logs in")
        await _fresh(ledger, "s", waiting("w1", wake_at=50), waiting("w2", wake_at=60), waiting("w3"))
        await ledger.decide("s", outside(WaitClosed(wait_id="w3", how="submitted", actor="x"), at=1500), expected=5)
        await ledger.append("s", owned(polled("w2", wake_at=70), RunEnded(status="failed")), epoch=1)
        await ledger.claim("s", ME, expected_epoch=1, at=2000)
        await ledger.append("s", owned(run(), RunEnded(status="waiting"), epoch=2, at=2000), epoch=2)
        await ledger.decide("s", outside(said("hello"), at=3000), expected=10)
        drafts = await _as_drafts(ledger, "s")
        (tmp_path / "other").mkdir(exist_ok=True)
        other = await self.opened(tmp_path / "other")
        try:
            assert isinstance(other, Adopts)
            head = await other.adopt("s", drafts)
            assert msgspec.structs.replace(head, change=0) == msgspec.structs.replace(
                await _head(ledger, "s"), change=0
            )
            assert await _head(other, "s") == head
            assert [row.wake_at for row in await other.waits("s")] == [50, 70]
            assert list(await other.waits("s")) == list(await ledger.waits("s"))
            assert list(await other.raw("s")) == list(await ledger.raw("s"))  # type: ignore[attr-defined]
            await _refused(other.adopt("s", drafts), UsageError)
            await other.claim("s", OTHER, expected_epoch=2, at=4000)
            await other.append("s", owned(run(), epoch=3), epoch=3, folded=11)
            assert len(await other.read("s")) == 12
        finally:
            await other.aclose()

    async def test_one_taken_in_with_its_seal_wakes_and_without_it_does_not(self, ledger: Ledger) -> None:
        if not isinstance(ledger, Adopts):
            pytest.skip("takes no logs in")
        for name, proven in (("moved", True), ("copied", False)):
            log = [*owned(SessionStarted(requester="x"), run()), *outside(said("hello"))]
            log += [*owned(RunEnded(status="waiting")), *outside(_SEALED)] if proven else []
            log += outside(SessionImported(actor="op", reason="", how="imported", proven=proven))
            log += [] if proven else outside(WaitOpened(wait_id="w", kind=WaitKind.COPY, reason="look first"))
            head = await ledger.adopt(name, log)
            assert (head.owner, head.status, head.woken) == (None, "imported", proven)

    # Checkpoints

    async def test_a_checkpoint_holds_while_the_log_is_the_same(self, ledger: Ledger) -> None:
        if not isinstance(ledger, Checkpoints):
            pytest.skip("keeps no checkpoints")
        whole = await _fresh(ledger)
        assert await ledger.load_checkpoint("s") is None
        first = Checkpoint(seq=1, digest=whole[0].digest, body=b"one")
        second = Checkpoint(seq=2, digest=whole[1].digest, body=bytes(range(256)))
        for point in (first, second):
            await ledger.save_checkpoint("s", point)
            assert await ledger.load_checkpoint("s") == point

    async def test_a_checkpoint_of_another_log_is_none(self, ledger: Ledger) -> None:
        if not isinstance(ledger, Checkpoints):
            pytest.skip("keeps no checkpoints")
        whole = await _fresh(ledger)
        for point in (
            Checkpoint(seq=2, digest=whole[0].digest, body=b"of record 1"),
            Checkpoint(seq=9, digest=whole[1].digest, body=b"of a record that is not there"),
        ):
            await ledger.save_checkpoint("s", point)
            assert await ledger.load_checkpoint("s") is None
        assert await ledger.load_checkpoint("none") is None


def _records(end: Any) -> Sequence[Stored]:
    assert not isinstance(end, BaseException), end
    records: Sequence[Stored] = end
    return records
