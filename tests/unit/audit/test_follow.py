"""Following the log: completely, once, in any number of processes, and never in anybody's way."""

import asyncio
import json
import os
import threading

import anyio
import anyio.to_thread
import pytest

from callslip.audit import catch_up as module
from callslip.audit.book import FILE, Book
from callslip.clocks.system import SystemClock
from callslip.core import canon
from callslip.core.event import draft
from callslip.core.events.blob_erased import BlobErased
from callslip.core.events.session_imported import SessionImported
from callslip.core.events.user_message import UserMessage
from callslip.core.payload import Payload, by_reference, inline
from callslip.core.result import Status
from callslip.errors import LedgerUnavailable
from callslip.testing.log_builder import LogBuilder

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("OBSV-01")
async def test_who_what_when_why_and_what_came_of_it(scene, paid):
    log = paid()
    await scene.log(log)
    await scene.catch_up()
    assert scene.kinds() == ["session_started", "user_message", "tool_dispatch", "function_response"]
    started, said, t1, t2 = scene.entries
    assert (started.actor, started.seq) == ("tester", 1)
    assert (said.output, said.output_size) == ("sha256:" + canon.digest(b"Pay 12 euros"), 12)
    assert (t1.tool, t1.version, t1.attempt, t1.rules) == ("pay", "v1", 1, ("r",))
    assert (t1.requester, t1.process, t1.message, t1.at) == ("tester", "h:1", (said.seq,), 1_000_000)
    assert t1.arguments_digest == canon.digest(b'{"n":0}')
    assert scene.details()[2] == {"arguments": {"n": 0}}
    assert (t2.status, t2.effect, t2.tool, t2.call, t2.duration_ms) == ("success", "done", "pay", t1.call, 7)
    assert t2.output == "sha256:" + canon.digest(b'"ok"')
    assert [entry.digest for entry in scene.entries] == [
        log.records[entry.seq - 1].digest.hex() for entry in scene.entries
    ]
    assert (await scene.verify()).ok


async def test_only_what_is_new_is_told_by_whoever_comes_next(scene, paid):
    log, other = paid(), paid("other")
    await scene.log(log)
    follower = await scene.catch_up()
    await follower.catch_up()
    assert len(scene.entries) == 4
    await scene.log(log.step("t", step="1.2").dispatch(), other)
    await follower.catch_up()
    await scene.log(log.settle())
    await scene.catch_up()  # a follower that has seen nothing of it
    await follower.catch_up()
    assert scene.kinds()[4:] == ["tool_dispatch", "function_response"]
    assert len(scene.kinds("other")) == 4
    assert scene.entries[-1].tool == "t", "what was dispatched before is still known"
    assert (await scene.verify()).ok


async def test_it_costs_the_log_no_commit_and_the_book_one_sync(scene, paid, monkeypatch):
    await scene.log(paid(), paid("b"), paid("c"))
    await scene.catch_up()
    await scene.log(paid("d"), paid("e"))
    synced, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")) or sync(fd))
    before = scene.ledger.commits
    await scene.catch_up()
    assert synced == [str(scene.path)]
    assert scene.ledger.commits == before


async def test_many_followers_at_once_tell_everything_once(scene, paid):
    logs = [paid(f"s{number}") for number in range(6)]
    followers = [scene.follower(clock=SystemClock()) for _ in range(3)]
    for log in logs:
        async with anyio.create_task_group() as group:
            group.start_soon(scene.log, log)
            for follower in followers:
                group.start_soon(follower.catch_up)
    await scene.catch_up()
    assert [follower.failure() for follower in followers] == [""] * 3
    assert len(scene.entries) == 24
    assert (await scene.verify()).ok


async def test_arguments_in_a_blob_are_read_and_put_in_up_to_a_size(scene):
    small, big = canon.canonical({"text": "x" * 6000}), canon.canonical({"text": "x" * 70_000})
    log = LogBuilder().user().step("a", "b", "c")
    for position, text in enumerate((small, big, canon.canonical("gone"))):
        log.dispatch(position, arguments=by_reference(text), arguments_digest=canon.digest(text))
    await scene.blobs.put(small)
    await scene.blobs.put(big)
    await scene.log(log)
    await scene.catch_up()
    first, second, third = [one["arguments"] for one in scene.details()[-3:]]
    assert first == {"text": "x" * 6000}
    assert second == {"$blob": "sha256:" + canon.digest(big), "$size": len(big)}
    assert third["$missing"] == "not_found"
    assert scene.entries[-3].arguments_blob == "sha256:" + canon.digest(small)
    assert (await scene.verify()).ok


async def test_encrypted_payloads_are_named_and_not_read(scene):
    sealed = Payload(blob="sealed:" + "a" * 64, size=9)
    await scene.log(LogBuilder().user().step("t").dispatch(arguments=sealed))
    await scene.catch_up()
    assert scene.details()[-1] == {"arguments": {"$blob": sealed.blob, "$size": 9}}


@pytest.mark.requirement("RSLT-05")
async def test_secrets_reach_no_entry(scene):
    scene.secrets = ["correct-horse-battery"]
    text = canon.canonical({"password": "correct-horse-battery", "note": "AKIA" + "A" * 16})
    log = LogBuilder().user().step("t").dispatch(arguments=inline(text), arguments_digest=canon.digest(text))
    log.settle(status=Status.FATAL_ERROR, error_message="no correct-horse-battery", error_code="correct-horse-battery")
    await scene.log(log)
    await scene.catch_up()
    written = scene.path.read_text()
    assert "horse" not in written
    assert "AKIA" not in written
    assert scene.details()[-2] == {"arguments": {"password": "[redacted]", "note": "[redacted]"}}
    assert (scene.entries[-1].said, scene.entries[-1].code) == ("no [redacted]", "[redacted]")
    assert (await scene.verify()).ok
    scene.secrets = []
    assert (await scene.verify()).ok, "whoever verifies need not hold the secrets"
    scene.secrets = ["password", "another-secret"]
    assert (await scene.verify()).ok, "or may hold others"


async def test_whoever_verifies_may_hold_secrets_that_the_writer_did_not(scene):
    text = canon.canonical({"password": "correct-horse-battery"})
    log = LogBuilder().user().step("t").dispatch(arguments=inline(text), arguments_digest=canon.digest(text))
    await scene.log(log.settle(status=Status.FATAL_ERROR, error_message="no correct-horse-battery"))
    await scene.catch_up()
    scene.secrets = ["correct-horse-battery"]
    assert (await scene.verify()).ok


async def test_a_payload_that_is_lost_says_nothing_against_what_was_read_from_it(scene):
    text = canon.canonical({"text": "x" * 6000})
    address = await scene.blobs.put(text)
    await scene.log(LogBuilder().user().step("t").dispatch(arguments=by_reference(text)))
    await scene.catch_up()
    del scene.blobs._data[address]
    assert (await scene.verify()).ok


@pytest.mark.requirement("LEDG-08")
async def test_reads_of_payloads_are_entries_and_durable_at_once(scene, paid):
    await scene.log(paid())
    follower = scene.follower()
    await follower.read_of_payload("anna", "s", "sha256:aa")
    one = scene.entries[0]
    assert (one.kind, one.actor, one.session, one.output, one.seq) == ("payload_read", "anna", "s", "sha256:aa", 0)
    assert one.at == scene.clock.now()
    await follower.catch_up()
    await follower.read_of_payload("ben", "s", "sha256:bb")
    assert len(scene.entries) == 6
    assert (await scene.verify()).ok


async def test_a_read_that_cant_be_written_is_refused(scene, monkeypatch):
    follower = scene.follower()
    monkeypatch.setattr(Book, "append", raising(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        await follower.read_of_payload("anna", "s", "sha256:aa")
    monkeypatch.undo()
    (scene.audit / FILE).mkdir()
    with pytest.raises(LedgerUnavailable, match="can't be read or written"):
        await follower.read_of_payload("anna", "s", "sha256:aa")


def before(log, many):
    """The log as it was after so many records."""
    earlier = LogBuilder(log.session)
    earlier.records, earlier.texts = log.records[:many], log.texts[:many]
    earlier._digest, earlier._step = log.records[many - 1].digest, "1.1"
    earlier.epoch = max(one.record.epoch for one in earlier.records)
    return earlier


def raising(error):
    def fail(*args, **kwargs):
        raise error

    return fail


class TestFailing:
    async def test_it_never_raises_and_says_since_when_and_why(self, scene, paid, monkeypatch):
        follower = await scene.catch_up()
        assert (follower.failing_since(), follower.failure()) == (None, "")
        await scene.log(paid())
        monkeypatch.setattr(Book, "_write", raising(OSError(28, "No space left on device")))
        began = scene.clock.now()
        await follower.catch_up()
        scene.clock.advance(90)
        await follower.catch_up()
        assert follower.failing_since() == began
        assert "No space left on device" in follower.failure()
        monkeypatch.undo()
        await follower.catch_up()
        assert (follower.failing_since(), follower.failure()) == (None, "")
        assert len(scene.entries) == 4
        assert (await scene.verify()).ok

    async def test_a_clock_that_is_set_back_shortens_nothing(self, scene, paid, monkeypatch):
        follower = await scene.catch_up()
        await scene.log(paid())
        monkeypatch.setattr(Book, "_write", raising(OSError(28, "No space left on device")))
        await follower.catch_up()
        scene.clock.advance(90)
        real = scene.clock.now
        scene.clock.now = lambda: real() - 86_400_000
        assert scene.clock.now() - follower.failing_since() == 90_000

    async def test_a_new_process_does_not_begin_to_count_anew(self, scene, paid, monkeypatch):
        log = paid()
        await scene.log(log)
        await scene.catch_up()
        log.now = scene.clock.now()
        await scene.log(log.step("t", step="1.2"))  # has nothing to tell, but was not followed
        scene.clock.advance(3600)
        log.now = scene.clock.now()
        await scene.log(log.dispatch())
        monkeypatch.setattr(Book, "_write", raising(OSError(28, "No space left on device")))
        follower = scene.follower()
        await follower.catch_up()
        assert scene.clock.now() - follower.failing_since() == 3_600_000

    async def test_where_nothing_can_be_known_it_has_been_for_ever(self, scene, paid):
        await scene.log(paid())
        scene.audit.write_text("no folder")
        follower = scene.follower()
        await follower.catch_up()
        assert follower.failing_since() == 0
        assert "File exists" in follower.failure()

    async def test_before_anybody_has_looked_it_may_have_been_for_ever(self, scene):
        follower = scene.follower()
        assert (follower.failing_since(), follower.failure()) == (0, "It has not been looked at yet.")
        await follower.catch_up()
        assert (follower.failing_since(), follower.failure()) == (None, "")

    async def test_a_bug_is_a_failure_too(self, scene, paid, monkeypatch):
        await scene.log(paid())
        monkeypatch.setattr(module, "tell", raising(KeyError("x")))
        follower = scene.follower()
        await follower.catch_up()
        assert "KeyError" in follower.failure()

    async def test_another_process_that_holds_the_book_for_long(self, scene, paid):
        await scene.log(paid())
        other = Book(scene.audit)
        assert other.take()
        follower = scene.follower()
        async with anyio.create_task_group() as group:
            group.start_soon(follower.catch_up)
            while "Another process" not in follower.failure():
                await anyio.sleep(0.001)
                scene.clock.advance(1)
        assert "Another process" in follower.failure()
        other.give_back()
        await follower.catch_up()
        assert follower.failing_since() is None
        assert len(scene.entries) == 4

    async def test_a_cancelled_catch_up_gives_the_book_back(self, scene, paid, monkeypatch):
        await scene.log(paid())
        inside, go_on = threading.Event(), threading.Event()
        ready = Book.ready

        def slow(book):
            inside.set()
            go_on.wait()
            return ready(book)

        monkeypatch.setattr(Book, "ready", slow)
        task = asyncio.ensure_future(scene.follower().catch_up())
        await anyio.to_thread.run_sync(inside.wait)
        task.cancel()
        for _ in range(10):
            await anyio.sleep(0)
        other = Book(scene.audit)
        taken = other.take()
        go_on.set()
        assert not taken, "its thread still works on the book"
        with pytest.raises(asyncio.CancelledError):
            await task
        monkeypatch.undo()
        assert other.take()
        other.give_back()
        await scene.catch_up()
        assert len(scene.entries) == 4


class TestBrokenLogs:
    async def test_one_that_cant_be_read_holds_up_no_other(self, scene, paid):
        log, other = paid("bad"), paid("good")
        await scene.log(log)
        await scene.catch_up()
        await scene.log(log.step("t", step="1.2").dispatch(), other)
        good = scene.sql("select text from records where seq = 9")[0][0]
        scene.sql("update records set text = cast('nonsense' as blob) where seq = 9")
        follower = await scene.catch_up()
        assert (follower.failing_since(), list(follower.unread)) == (None, ["bad"])
        assert len(scene.kinds("good")) == 4
        assert "log" in await scene.problems()
        scene.sql("update records set text = ? where seq = 9", good)
        follower = await scene.catch_up()  # a new process tries again
        assert scene.kinds("bad")[-1] == "tool_dispatch"
        assert (await scene.verify()).ok

    async def test_a_log_that_was_cut_is_no_news_and_no_silence(self, scene, paid):
        log = paid()
        await scene.log(log, paid("other"))
        await scene.catch_up()
        scene.sql("delete from records where no = 1 and seq > 3")
        scene.sql("update sessions set seq = 3, digest = ?, change = 99 where no = 1", log.records[2].digest)
        follower = scene.follower()
        await follower.catch_up()
        assert "put back to an earlier state" in follower.failure()
        since = follower.failing_since()
        scene.clock.advance(60)
        await scene.log(paid("new"))
        await follower.catch_up()
        assert follower.failing_since() == since, "it stays so, whatever else is told meanwhile"
        assert len(scene.entries) == 12
        other = scene.follower()
        await other.catch_up()
        assert other.failing_since() is not None

    async def test_a_log_that_was_rewritten_is_not_told_over(self, scene, paid):
        log = paid()
        await scene.log(log)
        await scene.catch_up()
        scene.rechain_log(lambda seq, text: text.replace(b'"n":0', b'"n":9'))
        scene.sql("update sessions set change = 99")
        follower = scene.follower()
        await follower.catch_up()
        assert "altered" in follower.failure()

    async def test_one_that_says_itself_that_it_was_put_back_is_told_on(self, scene, paid):
        log = paid()
        await scene.log(log, paid("other"))
        await scene.catch_up()
        # The ledger's file is put back to what it was before the dispatch, and the tool that did so says so.
        restored = before(log, 6)
        scene.lose_ledger()
        await scene.log(restored)
        back = SessionImported(actor="op", reason="disk broke", how="restored", prefix_seq=6)
        await scene.log(restored.add(back, outsider=True))
        follower = await scene.catch_up()
        assert follower.failing_since() is None
        assert scene.kinds() == [
            "session_started", "user_message", "tool_dispatch", "function_response", "session_imported"
        ]  # fmt: skip
        await scene.log(restored.add(UserMessage(text="again"), outsider=True))
        await follower.catch_up()
        assert scene.kinds()[-1] == "user_message"
        report = await scene.verify()
        assert [problem.message for problem in report.problems] == [
            "4 entries are about session 'other', which the log does not have"
        ]
        (notice,) = report.notices
        assert notice.startswith("Session 's' was put back to record 6 (by op, unsigned). What it had after that,")
        assert notice.endswith("records 7 to 8, is told by the audit alone.")

    async def test_one_that_was_altered_first_and_says_so_afterwards_is_not_believed(self, scene, paid):
        log = paid()
        await scene.log(log)
        await scene.catch_up()
        scene.rechain_log(lambda seq, text: text.replace(b'"n":0', b'"n":9'))
        head = (await scene.ledger.heads("s"))[0]
        back = SessionImported(actor="op", reason="r", how="restored", prefix_seq=8, prefix_digest=head.digest.hex())
        await scene.ledger.decide("s", [draft(back, at=1, by="op", epoch=0, run="")], expected=8)
        follower = scene.follower()
        await follower.catch_up()
        assert "altered" in follower.failure()

    async def test_put_back_twice(self, scene, paid):
        log = paid()
        await scene.log(log)
        await scene.catch_up()
        for number in (1, 2):
            again = before(log, 6)
            scene.lose_ledger()
            again.add(SessionImported(actor="op", reason=f"{number}", how="restored"), outsider=True)
            await scene.log(again.add(UserMessage(text=f"{number}"), outsider=True))
            await scene.catch_up()
        assert scene.kinds()[-4:] == ["session_imported", "user_message"] * 2
        report = await scene.verify()
        assert report.problems == []
        assert len(report.notices) == 2

    async def test_put_back_to_a_state_that_had_been_put_back(self, scene, paid):
        log = paid()
        await scene.log(log)
        await scene.catch_up()
        again = before(log, 6).add(SessionImported(actor="op", reason="1", how="restored"), outsider=True).crash()
        scene.lose_ledger()
        await scene.log(again.user("lost"))
        await scene.catch_up()
        assert scene.entries[3].seq == 8, "where the first log told of an outcome, this one has a run"
        third = before(again, 8).add(SessionImported(actor="op", reason="2", how="restored"), outsider=True)
        scene.lose_ledger()
        await scene.log(third)
        await scene.catch_up()
        assert scene.kinds()[-3:] == ["session_imported", "user_message", "session_imported"]
        assert await scene.problems() == []

    async def test_what_was_put_back_once_is_not_altered_unseen_ever_after(self, scene, paid):
        again = before(paid(), 6).add(SessionImported(actor="op", reason="1", how="restored"), outsider=True)
        await scene.log(again.user("one").user("two"))
        await scene.catch_up()
        scene.rechain_log(lambda seq, text: text.replace(b'"one"', b'"six"'))
        scene.sql("update sessions set change = 99")
        follower = scene.follower()
        await follower.catch_up()
        assert "altered" in follower.failure()

    async def test_an_older_ledger_that_has_overtaken_the_one_that_was_followed(self, scene, paid):
        log = paid()
        await scene.log(paid("other"), log)
        await scene.catch_up()
        (head,) = await scene.ledger.heads("s")
        again = before(log, 6).add(SessionImported(actor="op", reason="r", how="restored"), outsider=True)
        scene.lose_ledger()
        await scene.log(paid("new"), again)
        while (await scene.ledger.heads("s"))[0].change <= head.change:
            await scene.log(again.add(UserMessage(text="more"), outsider=True))
        await scene.catch_up()
        assert len(scene.kinds("new")) == 4

    async def test_an_older_ledger_is_followed_from_its_beginning(self, scene, paid):
        log = paid()
        await scene.log(log, *[paid(f"s{number}") for number in range(5)])
        await scene.catch_up()
        scene.lose_ledger()
        await scene.log(log, paid("new"))  # changes that are smaller than those that were followed
        await scene.catch_up()
        assert len(scene.kinds("new")) == 4


async def test_a_log_of_many_pages_in_several_batches(scene, monkeypatch):
    monkeypatch.setattr(module, "_PAGE", 7)
    monkeypatch.setattr(module, "_BATCH", 5)
    log = LogBuilder().user()
    for number in range(10):
        log.step("t", step=f"1.{number}").dispatch().settle()
    await scene.log(log)
    follower = await scene.catch_up()
    assert scene.kinds().count("tool_dispatch") == 10
    assert [entry.seq for entry in scene.entries] == sorted({entry.seq for entry in scene.entries})
    await scene.log(log.step("t", step="1.11").dispatch())
    await follower.catch_up()
    assert scene.kinds().count("tool_dispatch") == 11
    assert (await scene.verify()).ok


@pytest.mark.requirement("LEDG-08")
async def test_what_is_erased_in_the_log_is_erased_here_and_the_chain_verifies(scene):
    text, kept = canon.canonical({"iban": "DE02" * 2000}), canon.canonical({"n": "x" * 5000})
    log = LogBuilder().user().step("a", "b")
    for position, one in enumerate((text, kept)):
        await scene.blobs.put(one)
        log.dispatch(position, arguments=by_reference(one), arguments_digest=canon.digest(one)).settle(position)
    await scene.log(log)
    await scene.catch_up(every=1)
    address = "sha256:" + canon.digest(text)
    await scene.log(log.add(BlobErased(actor="op", reason="asked", addresses=(address,)), outsider=True))
    del scene.blobs._data[address]
    await scene.catch_up()
    assert b"DE02" not in scene.path.read_bytes()
    assert scene.details()[2] == {}
    assert scene.details()[4] == {"arguments": {"n": "x" * 5000}}
    assert scene.entries[2].arguments_digest == canon.digest(text)
    report = await scene.verify()
    assert (report.problems, report.anchors) == ([], 1)
    json.loads(scene.lines()[2])
    scene.forget_index()
    assert (await scene.catch_up()).failing_since() is None


async def test_erased_before_it_was_told(scene):
    text = canon.canonical({"iban": "DE02" * 2000})
    address = await scene.blobs.put(text)
    log = LogBuilder().user().step("a").dispatch(arguments=by_reference(text)).settle()
    log.add(BlobErased(actor="op", reason="asked", addresses=(address,)), outsider=True)
    await scene.log(log)
    await scene.catch_up()  # the file itself is still there
    assert b"DE02" not in scene.path.read_bytes()
    assert (await scene.verify()).ok
