"""What every ledger must do about waits, and about what is to go on."""

from __future__ import annotations

import asyncio

import pytest

from callslip.core.events.run_ended import RunEnded
from callslip.core.events.session_started import SessionStarted
from callslip.core.events.wait_closed import WaitClosed
from callslip.errors import Fenced, Moved, NotFound
from callslip.ports.ledger import Ledger
from callslip.testing.suites.ledger_drafts import (
    ME,
    OTHER,
    fresh,
    head_of,
    outside,
    owned,
    polled,
    refused,
    run,
    said,
    waiting,
)
from callslip.testing.suites.ledger_opened import OpenedLedger


@pytest.mark.anyio
class WaitsSuite(OpenedLedger):
    """Waits, what is due, and what changed. Part of ``LedgerSuite``."""

    # Waits

    async def test_a_wait_is_a_row_of_the_same_commit(self, ledger: Ledger) -> None:
        await fresh(ledger)
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
        await fresh(ledger)
        closed = WaitClosed(wait_id="w", how="elapsed", actor="clock")
        await ledger.append("s", owned(waiting("w"), closed), epoch=1)
        assert list(await ledger.waits()) == []

    async def test_a_job_that_was_asked_after_wakes_its_session_later(self, ledger: Ledger) -> None:
        over = WaitClosed(wait_id="w1", how="settled", actor="callslip")
        await fresh(ledger, "s", waiting("w1", wake_at=50), waiting("w2", wake_at=50))
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
        await fresh(ledger, "a")
        await fresh(ledger, "b")
        await ledger.append("b", owned(waiting("w1"), at=5), epoch=1)
        await ledger.append("a", owned(waiting("w1"), at=9), epoch=1)
        assert [(row.session, row.opened_at) for row in await ledger.waits()] == [("b", 5), ("a", 9)]
        assert [row.session for row in await ledger.waits("a")] == ["a"]

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
            given.append((await head_of(ledger, "a")).change)
        assert given == sorted(set(given))
        assert (await head_of(ledger, "b")).change == given[1], "a session that nothing happened to keeps its number"

    async def test_a_refused_append_changes_no_number(self, ledger: Ledger) -> None:
        await fresh(ledger)
        before = await head_of(ledger, "s")
        await refused(ledger.append("s", owned(run(), epoch=7), epoch=7), Fenced)
        await refused(ledger.decide("s", outside(said("hello")), expected=1), Moved)
        assert await head_of(ledger, "s") == before

    async def test_sessions_of_one_commit_change_one_after_the_other(self, ledger: Ledger) -> None:
        await asyncio.gather(*[ledger.claim(name, ME, expected_epoch=0, at=1) for name in "abcde"])
        heads = await ledger.heads(changed_after=0)
        assert len({head.change for head in heads}) == 5

    async def test_a_follower_sees_what_changed_since_in_order(self, ledger: Ledger) -> None:
        for name in "abc":
            await fresh(ledger, name)
        everything = await ledger.heads(changed_after=0)
        assert [head.session for head in everything] == ["a", "b", "c"]
        seen = everything[-1].change
        assert list(await ledger.heads(changed_after=seen)) == []
        await ledger.decide("b", outside(said("hello")), expected=2)
        await ledger.append("a", owned(run()), epoch=1)
        news = await ledger.heads(changed_after=seen)
        assert [head.session for head in news] == ["b", "a"]
        assert [await head_of(ledger, head.session) for head in news] == list(news)
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
            await fresh(ledger, name, *events, RunEnded(status="waiting"))
        await fresh(ledger, "owned")
        await ledger.decide("woken", outside(said("hello")), expected=3)
        assert [head.session for head in await ledger.heads(ready_at=49)] == ["owned", "woken"]
        ready = await ledger.heads(ready_at=50)
        assert [head.session for head in ready] == ["due", "owned", "woken"]
        assert [await head_of(ledger, head.session) for head in ready] == list(ready)
        assert [head.session for head in await ledger.heads(ready_at=99)] == ["due", "later", "owned", "woken"]
        assert [head.session for head in await ledger.heads("due", ready_at=50)] == ["due"]
        assert list(await ledger.heads("later", ready_at=50)) == []
        assert [head.session for head in await ledger.heads(ready_at=50, changed_after=ready[0].change)] == [
            "owned",
            "woken",
        ]

    async def test_one_that_was_due_or_woken_is_so_no_more(self, ledger: Ledger) -> None:
        await fresh(ledger, "s", waiting("w", wake_at=50), RunEnded(status="waiting"))
        await ledger.decide("s", outside(said("hello")), expected=4)
        assert len(await ledger.heads(ready_at=0)) == len(await ledger.heads(ready_at=50)) == 1
        await ledger.claim("s", OTHER, expected_epoch=1, at=2)
        ended = owned(WaitClosed(wait_id="w", how="elapsed", actor="clock"), RunEnded(status="waiting"), epoch=2)
        await ledger.append("s", ended, epoch=2, folded=5)
        assert list(await ledger.heads(ready_at=99)) == []

    async def test_a_wait_is_found_by_its_id(self, ledger: Ledger) -> None:
        await fresh(ledger, "a", waiting("w1"), waiting("w2"))
        await fresh(ledger, "b", waiting("w3"))
        assert [(row.session, row.wait_id) for row in await ledger.waits(wait_id="w2")] == [("a", "w2")]
        assert [row.session for row in await ledger.waits("a", wait_id="w1")] == ["a"]
        assert list(await ledger.waits("a", wait_id="w3")) == []
        assert list(await ledger.waits(wait_id="none")) == []

    async def test_waits_that_are_due(self, ledger: Ledger) -> None:
        await fresh(ledger, "a", waiting("w1", wake_at=50), waiting("w2", wake_at=51), waiting("w3"))
        await fresh(ledger, "b", waiting("w4", wake_at=7))
        due = [(row.session, row.wait_id) for row in await ledger.waits(due_at=50)]
        assert sorted(due) == [("a", "w1"), ("b", "w4")]
        assert [row.wait_id for row in await ledger.waits("a", due_at=51)] == ["w1", "w2"]
        assert [row.wait_id for row in await ledger.waits(wait_id="w2", due_at=51)] == ["w2"]
        assert list(await ledger.waits(wait_id="w2", due_at=50)) == []

    async def test_an_unknown_session(self, ledger: Ledger) -> None:
        assert list(await ledger.heads("none")) == []
        assert list(await ledger.read("none")) == []
        assert list(await ledger.waits("none")) == []
        await refused(ledger.append("none", owned(run()), epoch=1), NotFound)
        await refused(ledger.decide("none", outside(said("hello")), expected=0), NotFound)
