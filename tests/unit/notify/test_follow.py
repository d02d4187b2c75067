"""What is taken in from the log: everything new, once; of the past, only what still waits."""

from __future__ import annotations

import pytest

from callslip.core.events.user_message import UserMessage
from callslip.core.events.wait_closed import WaitClosed
from callslip.errors import LedgerUnavailable, LogBroken
from callslip.ledgers.memory import MemoryLedger
from callslip.ledgers.sqlite import SqliteLedger
from callslip.notify import follow
from callslip.notify.endpoint import LogEndpoint
from callslip.notify.notice import NoticeKind, notice_id

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RESI-07")]

DAY = 24 * 3600


def kinds(lines):
    return [(line["data"]["session"], line["type"]) for line in lines()]


class TestAFirstStart:
    async def test_tells_what_waits_and_not_what_was(self, desk, log_endpoint, lines):
        await desk.fail("old")
        await desk.ask("old", "wait_closed")
        await desk.write("old", WaitClosed(wait_id="wait_closed", how="approved", actor="ada"))
        await desk.ask("waiting", "wait_open")
        await desk.notifier(log_endpoint).look()
        assert kinds(lines) == [("waiting", "approval_waiting")]
        assert lines()[0]["data"]["tool"] == "pay"
        await desk.fail("old")
        await desk.fail("new")
        await desk.made[0].look()
        assert kinds(lines)[1:] == [("old", "session_failed"), ("new", "session_failed")]

    async def test_an_endpoint_that_is_added_later_hears_what_waits(self, desk, log_endpoint, lines, tmp_path):
        first = LogEndpoint(path=str(tmp_path / "first.jsonl"))
        await desk.notifier(first).look()
        await desk.ask("a")
        await desk.fail("a")
        await desk.made[0].look()
        later = await desk.again(first, log_endpoint)
        await later.look()
        assert kinds(lines) == [("a", "approval_waiting")]
        assert len((tmp_path / "first.jsonl").read_text().splitlines()) == 2

    async def test_a_wait_has_one_id_whether_it_is_found_waiting_or_seen_to_open(
        self, desk, log_endpoint, lines, tmp_path
    ):
        other = LogEndpoint(path=str(tmp_path / "other.jsonl"))
        await desk.notifier(other).look()
        stored = await desk.ask("a")
        await desk.made[0].look()
        await (await desk.again(other, log_endpoint)).look()
        assert (tmp_path / "other.jsonl").read_bytes() == (tmp_path / "notices.jsonl").read_bytes()
        assert lines()[0]["id"] == notice_id("a", stored[-1].seq, "approval_waiting")


class TestWhatIsNew:
    async def test_is_told_once_over_looks_and_restarts(self, desk, log_endpoint, lines):
        notifier = desk.notifier(log_endpoint)
        await notifier.look()
        await desk.ask("a")
        await notifier.look()
        await notifier.look()
        await (await desk.again(log_endpoint)).look()
        assert kinds(lines) == [("a", "approval_waiting")]

    async def test_what_happened_while_nobody_looked_is_told_at_the_next_start(self, desk, log_endpoint, lines):
        await desk.notifier(log_endpoint).look()
        await desk.made[0].aclose()
        await desk.ask("a")
        await desk.write("a", WaitClosed(wait_id="wait_1", how="approved", actor="ada"))
        await (await desk.again(log_endpoint)).look()
        assert kinds(lines) == [("a", "approval_waiting")]

    async def test_but_what_is_older_than_a_day_only_if_it_still_waits(self, desk, log_endpoint, lines, parking):
        """A log that was imported, or that nobody followed for long."""
        await desk.notifier(log_endpoint).look()
        await desk.ask("a", "wait_closed")
        await desk.write("a", WaitClosed(wait_id="wait_closed", how="approved", actor="ada"), *parking())
        await desk.fail("b")
        desk.clock.advance(DAY + 1)
        await desk.made[0].look()
        assert kinds(lines) == [("a", "call_parked")]
        assert lines()[0]["data"]["code"] == "unknown_outcome"

    async def test_a_call_is_found_however_far_back_it_was_proposed(
        self, desk, log_endpoint, lines, monkeypatch, parking
    ):
        monkeypatch.setattr(follow, "BACK", 3)
        await desk.notifier(log_endpoint).look()
        *before, opened = parking()
        await desk.write("a", *before)
        for _ in range(10):
            await desk.write("a", UserMessage(text="well?"), outsider=True)
        await desk.made[0].look()
        await desk.write("a", opened)
        await desk.made[0].look()
        assert [line["data"]["tool"] for line in lines()] == ["send"]

    async def test_a_long_log_is_read_in_pages(self, desk, log_endpoint, lines, monkeypatch):
        monkeypatch.setattr(follow, "PAGE", 4)
        await desk.notifier(log_endpoint).look()
        for number in range(5):
            await desk.fail("a", f"reason {number}")
            await desk.write("a", UserMessage(text="again"), outsider=True)
        await desk.made[0].look()
        assert [line["data"]["reason"] for line in lines()] == [f"reason {number}" for number in range(5)]

    async def test_only_the_kinds_that_were_asked_for(self, desk, log_file, lines):
        endpoint = LogEndpoint(path=str(log_file), only=(NoticeKind.SESSION_FAILED,))
        await desk.notifier(endpoint).look()
        await desk.ask("a")
        await desk.fail("a")
        await desk.made[0].look()
        assert kinds(lines) == [("a", "session_failed")]

    async def test_arguments_go_to_those_who_ask_for_them_without_secrets(self, desk, log_endpoint, lines, tmp_path):
        curious = LogEndpoint(path=str(tmp_path / "curious.jsonl"), include_arguments=True)
        await desk.notifier(log_endpoint, curious).look()
        await desk.ask("a", arguments={"to": "Ada", "password": "hunter2-hunter2"})
        await desk.made[0].look()
        assert "arguments" not in lines()[0]["data"]
        assert b"Ada" not in (tmp_path / "notices.jsonl").read_bytes()
        told = (tmp_path / "curious.jsonl").read_text()
        assert '"arguments":{"password":"[redacted]","to":"Ada"}' in told or '"password":"[redacted]"' in told
        assert "hunter2" not in told


class Faulty(MemoryLedger):
    """A ledger whose log of one session is broken, or which is away."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: str | None = None
        self.away = False
        self.damaged = False

    async def read(self, session, **places):
        if session == self.broken:
            raise LogBroken("Record 2 was altered.", seq=2)
        if self.away:
            raise LedgerUnavailable
        return await super().read(session, **places)

    async def heads(self, session=None, **narrowed):
        if self.damaged:
            raise LogBroken("ledger.db is damaged.")
        return await super().heads(session, **narrowed)


@pytest.fixture
def faulty(desk):
    desk.ledger = Faulty()
    return desk


class TestFaults:
    async def test_a_broken_log_is_an_alarm_and_hides_no_other_session(self, faulty, log_endpoint, lines):
        await faulty.notifier(log_endpoint).look()
        await faulty.ask("bad")
        await faulty.fail("good")
        faulty.ledger.broken = "bad"
        for _ in range(3):
            await faulty.made[0].look()
            await faulty.write("bad", UserMessage(text="?"), outsider=True)
        assert kinds(lines) == [("bad", "log_broken"), ("good", "session_failed")]
        assert lines()[0]["data"]["record"] == 2

    async def test_at_the_first_start_too(self, faulty, log_endpoint, lines):
        await faulty.ask("bad")
        await faulty.ask("good")
        faulty.ledger.broken = "bad"
        await faulty.notifier(log_endpoint).look()
        assert kinds(lines) == [("bad", "log_broken"), ("good", "approval_waiting")]

    async def test_a_log_that_is_away_is_read_later_and_nothing_is_lost(self, faulty, log_endpoint, lines):
        notifier = faulty.notifier(log_endpoint)
        await notifier.look()
        await faulty.fail("a")
        faulty.ledger.away = True
        await notifier.look()
        await notifier.look()
        assert lines() == []
        assert len(faulty.told) == 1
        assert "can't be told now" in faulty.told[0]
        faulty.ledger.away = False
        await notifier.look()
        assert kinds(lines) == [("a", "session_failed")]

    async def test_a_damaged_ledger_is_an_alarm_of_the_installation(self, faulty, log_endpoint, lines):
        notifier = faulty.notifier(log_endpoint)
        await notifier.look()
        faulty.ledger.damaged = True
        for _ in range(4):
            await notifier.look()
        assert kinds(lines) == [("", "log_broken")]

    async def test_a_record_that_can_not_be_told_silences_nobody_else(self, desk, log_endpoint, lines, monkeypatch):
        notifier = desk.notifier(log_endpoint)
        await notifier.look()
        await desk.fail("odd")
        await desk.fail("a")
        told = follow.notices_of
        monkeypatch.setattr(
            follow, "notices_of", lambda session, *rest: 1 / 0 if session == "odd" else told(session, *rest)
        )
        await notifier.look()
        assert kinds(lines) == [("a", "session_failed")]
        assert "session odd can't be told: ZeroDivisionError" in desk.told[0]

    async def test_an_older_copy_of_the_log_is_followed_from_its_end(self, desk, log_endpoint, lines):
        """A backup was put back: what it has is known, and what comes after it is new."""
        for session in ("a", "b", "c"):
            await desk.fail(session)
        await desk.notifier(log_endpoint).look()
        old = await desk.again(log_endpoint)
        desk.ledger, desk._epochs = MemoryLedger(), {}
        await desk.fail("a")
        old._ledger = desk.ledger
        await old.look()
        await desk.fail("a", "afterwards")
        await old.look()
        assert [line["data"]["reason"] for line in lines()] == ["afterwards"]

    async def test_a_session_that_is_shorter_than_it_was_is_told_from_where_it_ends(self, desk, log_endpoint, lines):
        """As before, but other sessions have changed so often since that the log as a whole looks newer."""
        for _ in range(3):
            await desk.fail("a")
        await desk.notifier(log_endpoint).look()
        later = await desk.again(log_endpoint)
        desk.ledger, desk._epochs = MemoryLedger(), {}
        await desk.write("a")
        for number in range(20):
            await desk.write(f"other {number}")
        later._ledger = desk.ledger
        await later.look()
        await desk.fail("a", "afterwards")
        await later.look()
        assert [line["data"]["reason"] for line in lines()] == ["afterwards"]


async def test_the_embedded_ledger_is_followed_alike(desk, log_endpoint, lines, tmp_path):
    desk.ledger = SqliteLedger(desk.folder / "ledger.db")
    try:
        await desk.ask("before")
        notifier = desk.notifier(log_endpoint)
        await notifier.look()
        await desk.fail("after")
        await notifier.look()
        assert kinds(lines) == [("before", "approval_waiting"), ("after", "session_failed")]
    finally:
        await desk.ledger.aclose()
