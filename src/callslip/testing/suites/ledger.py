"""What every ledger must do: one suite, run on each implementation. ::

    class TestMine(LedgerSuite):
        async def opened(self, place: Path) -> Ledger:
            return MyLedger(place / "mine.db")

``opened`` may be called several times for one place; a ledger that lives in one process only says ``shared = False``
and is opened once. For pytest with anyio's plugin; have asserts rewritten with
``pytest.register_assert_rewrite("callslip.testing.suites")`` in a conftest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from callslip.core.event import Event, Stored, genesis, link
from callslip.core.events.call_parked import CallParked
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.stop_requested import StopRequested
from callslip.core.events.user_message import UserMessage
from callslip.errors import Fenced, Moved, UsageError
from callslip.ports.ledger import Ledger
from callslip.testing.suites.ledger_drafts import (
    ME,
    OTHER,
    fresh,
    head_of,
    outside,
    owned,
    refused,
    run,
    said,
    waiting,
)
from callslip.testing.suites.ledger_moving import MovingSuite
from callslip.testing.suites.ledger_waits import WaitsSuite


@pytest.mark.anyio
class LedgerSuite(WaitsSuite, MovingSuite):
    """Subclass it, and say how to open one."""

    # Claims

    async def test_a_claim_makes_the_session(self, ledger: Ledger) -> None:
        head = await ledger.claim("s", ME, expected_epoch=0, at=7)
        assert (head.session, head.seq, head.epoch, head.owner) == ("s", 0, 1, ME)
        assert (head.digest, head.status, head.woken, head.updated_at) == (genesis("s"), "running", False, 7)
        assert list(await ledger.heads("s")) == [head]
        assert list(await ledger.read("s")) == []

    async def test_a_claim_raises_the_epoch(self, ledger: Ledger) -> None:
        await fresh(ledger)
        head = await ledger.claim("s", OTHER, expected_epoch=1, at=9)
        assert (head.epoch, head.owner, head.seq) == (2, OTHER, 2)

    async def test_of_two_claims_one_wins(self, ledger: Ledger) -> None:
        await ledger.claim("s", ME, expected_epoch=0, at=1)
        claims = [ledger.claim("s", owner, expected_epoch=1, at=2) for owner in (ME, OTHER)]
        ends = await asyncio.gather(*claims, return_exceptions=True)
        assert sorted(type(end).__name__ for end in ends) == ["Head", "Moved"]
        assert (await head_of(ledger, "s")).epoch == 2

    async def test_of_two_first_claims_one_wins(self, ledger: Ledger) -> None:
        claims = [ledger.claim("s", owner, expected_epoch=0, at=1) for owner in (ME, OTHER)]
        ends = await asyncio.gather(*claims, return_exceptions=True)
        assert sorted(type(end).__name__ for end in ends) == ["Head", "Moved"]

    async def test_a_claim_of_a_session_that_is_not_there(self, ledger: Ledger) -> None:
        await refused(ledger.claim("s", ME, expected_epoch=3, at=1), Moved)
        assert list(await ledger.heads()) == []

    # The owner

    async def test_a_stale_owner_is_refused(self, ledger: Ledger) -> None:
        await fresh(ledger)
        await ledger.claim("s", OTHER, expected_epoch=1, at=2)
        before = await head_of(ledger, "s")
        await refused(ledger.append("s", owned(run()), epoch=1), Fenced)
        assert await head_of(ledger, "s") == before
        assert len(await ledger.append("s", owned(run(2), epoch=2), epoch=2)) == 1

    async def test_an_owner_who_let_go_is_refused(self, ledger: Ledger) -> None:
        await fresh(ledger, "s", RunEnded(status="finished"))
        head = await head_of(ledger, "s")
        assert (head.owner, head.status, head.epoch) == (None, "finished", 1)
        await refused(ledger.append("s", owned(run()), epoch=1), Fenced)

    async def test_drafts_of_another_epoch_are_refused(self, ledger: Ledger) -> None:
        await fresh(ledger)
        await refused(ledger.append("s", owned(run(), epoch=2), epoch=1), UsageError)
        await refused(ledger.append("s", outside(said("me too")), epoch=1), UsageError)
        assert (await head_of(ledger, "s")).seq == 2

    async def test_all_of_an_append_or_nothing(self, ledger: Ledger) -> None:
        await fresh(ledger)
        mixed = [*owned(waiting("w1")), *owned(run(), epoch=9)]
        await refused(ledger.append("s", mixed, epoch=1), UsageError)
        assert list(await ledger.waits()) == []
        assert len(await ledger.read("s")) == 2

    async def test_what_the_owner_has_not_folded_moves_it(self, ledger: Ledger) -> None:
        await fresh(ledger)
        await ledger.decide("s", outside(said("wait")), expected=2)
        await refused(ledger.append("s", owned(run()), epoch=1, folded=0), Moved)
        assert (await ledger.append("s", owned(run()), epoch=1, folded=3))[0].seq == 4
        assert (await ledger.append("s", owned(run()), epoch=1))[0].seq == 5, "without folded nothing is asked"

    # Outsiders

    async def test_an_outsider_needs_the_position(self, ledger: Ledger) -> None:
        await fresh(ledger)
        for wrong in (1, 3):
            await refused(ledger.decide("s", outside(said("hello")), expected=wrong), Moved)
        (stored,) = await ledger.decide("s", outside(said("hello")), expected=2)
        assert stored.seq == 3
        head = await head_of(ledger, "s")
        assert (head.outsider_seq, head.epoch, head.owner) == (3, 1, ME), "without taking the epoch"

    async def test_of_two_outsiders_one_wins(self, ledger: Ledger) -> None:
        await fresh(ledger)
        tells = [ledger.decide("s", outside(said(text)), expected=2) for text in "ab"]
        ends = await asyncio.gather(*tells, return_exceptions=True)
        assert sum(isinstance(end, Moved) for end in ends) == 1
        assert (await head_of(ledger, "s")).seq == 3

    async def test_an_outsider_appends_only_what_outsiders_may(self, ledger: Ledger) -> None:
        await fresh(ledger)
        forbidden: list[Event] = [
            run(),
            RunEnded(status="finished"),
            waiting("w"),
            CallParked(call_id="c", reason="r", code="x"),
        ]
        for event in forbidden:
            await refused(ledger.decide("s", outside(said("first"), event), expected=2), UsageError)
        await refused(ledger.decide("s", owned(said("as an owner")), expected=2), UsageError)
        assert (await head_of(ledger, "s")).seq == 2

    async def test_an_outsider_wakes_a_session(self, ledger: Ledger) -> None:
        await fresh(ledger)
        assert not (await head_of(ledger, "s")).woken
        await ledger.decide("s", outside(StopRequested(actor="me")), expected=2)
        assert (await head_of(ledger, "s")).woken
        await ledger.append("s", owned(RunEnded(status="stopped")), epoch=1, folded=3)
        assert not (await head_of(ledger, "s")).woken, "the run that ended has read it"
        await ledger.decide("s", outside(said("again")), expected=4)
        assert (await head_of(ledger, "s")).woken
        assert not (await ledger.claim("s", OTHER, expected_epoch=1, at=3)).woken

    # Reading

    async def test_the_chain_binds_what_is_stored(self, ledger: Ledger) -> None:
        texts = [one.text for one in owned(SessionStarted(requester="tester"), run(), *map(said, "abc"))]
        await fresh(ledger, "s", *map(said, "abc"))
        digest = genesis("s")
        for stored, text in zip(await ledger.read("s"), texts, strict=True):
            digest = link(digest, text)
            assert stored.digest == digest
        assert (await head_of(ledger, "s")).digest == digest

    async def test_each_record_says_how_many_bytes_it_takes(self, ledger: Ledger) -> None:
        made = [*await fresh(ledger, "s", said("ü" * 50)), *await ledger.decide("s", outside(said("x")), expected=3)]
        sizes = [len(text) for _, _, text in await ledger.raw("s")]  # type: ignore[attr-defined]
        assert [one.size for one in made] == sizes
        assert [one.size for one in await ledger.read("s")] == sizes

    async def test_reading_a_part(self, ledger: Ledger) -> None:
        whole = await fresh(ledger, "s", *map(said, "abcdef"))
        assert list(await ledger.read("s")) == list(whole)
        assert list(await ledger.read("s", after=3)) == list(whole[3:])
        assert list(await ledger.read("s", after=2, limit=3)) == list(whole[2:5])
        assert list(await ledger.read("s", limit=100)) == list(whole)
        assert list(await ledger.read("s", after=8)) == []
        assert list(await ledger.read("s", after=0, limit=0)) == []

    async def test_what_was_appended_is_what_is_read(self, ledger: Ledger) -> None:
        awkward = ["", "\x00\x1f", "“ü”\U0001f600", "\\u0000", "x" * 3_000_000]
        given = await fresh(ledger, "s", *map(said, awkward))
        assert list(await ledger.read("s")) == list(given)

    async def test_sessions_do_not_touch_each_other(self, ledger: Ledger) -> None:
        one = await fresh(ledger, "one", said("1"))
        two = await fresh(ledger, "two", said("2"), said("2"))
        await ledger.decide("one", outside(said("more")), expected=3)
        assert (await ledger.append("two", owned(run()), epoch=1, folded=0))[0].seq == 5
        assert one[0].digest != two[0].digest, "the same words in another session are another chain"
        assert {head.session: head.seq for head in await ledger.heads()} == {"one": 4, "two": 5}

    async def test_heads_are_latest_first(self, ledger: Ledger) -> None:
        for at, name in enumerate("abc", start=1):
            await ledger.claim(name, ME, expected_epoch=0, at=at)
        await ledger.append("a", owned(SessionStarted(requester="x"), at=9), epoch=1)
        assert [head.session for head in await ledger.heads()] == ["a", "c", "b"]

    # Together

    async def test_a_refused_append_does_not_disturb_its_group(self, ledger: Ledger) -> None:
        await fresh(ledger)
        good = [ledger.append("s", owned(said(str(number))), epoch=1) for number in range(10)]
        bad = [ledger.append("s", owned(said("no"), epoch=7), epoch=7) for _ in range(5)]
        ends = await asyncio.gather(*good[:5], *bad, *good[5:], return_exceptions=True)
        assert [type(end).__name__ for end in ends[5:10]] == ["Fenced"] * 5
        assert [record.seq for end in (*ends[:5], *ends[10:]) for record in _records(end)] == list(range(3, 13))
        assert len(await ledger.read("s")) == 12

    async def test_concurrent_appends_keep_their_order(self, ledger: Ledger) -> None:
        await fresh(ledger)

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
        await fresh(ledger)
        seen.add(await ledger.version())
        await ledger.decide("s", outside(said("hello")), expected=2)
        seen.add(await ledger.version())
        assert len(seen) == 3
        assert await ledger.version() in seen, "reading changes nothing"

    async def test_the_version_changes_with_others_commits(self, ledger: Ledger, tmp_path: Path) -> None:
        await fresh(ledger)
        async with self.second(tmp_path) as other:
            before = await ledger.version()
            await other.decide("s", outside(said("hello")), expected=2)
            assert await ledger.version() != before

    async def test_two_see_the_same(self, ledger: Ledger, tmp_path: Path) -> None:
        async with self.second(tmp_path) as other:
            await fresh(ledger)
            await other.claim("s", OTHER, expected_epoch=1, at=2)
            await refused(ledger.append("s", owned(run()), epoch=1), Fenced)
            await other.append("s", owned(run(2), epoch=2), epoch=2)
            assert list(await ledger.read("s")) == list(await other.read("s"))
            assert list(await ledger.heads()) == list(await other.heads())

    async def test_what_was_committed_is_there_when_opened_again(self, ledger: Ledger, tmp_path: Path) -> None:
        whole = await fresh(ledger, "s", waiting("w"))
        async with self.second(tmp_path) as again:
            assert list(await again.read("s")) == list(whole)
            assert [row.wait_id for row in await again.waits()] == ["w"]


def _records(end: Any) -> Sequence[Stored]:
    assert not isinstance(end, BaseException), end
    records: Sequence[Stored] = end
    return records
