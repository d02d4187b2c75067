"""Telling, as a whole: endpoints that fail, hang or leave, several processes, and an end without loss."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import sqlite3
import stat
import subprocess
import sys

import pytest

from callslip.errors import ConfigError, LogBroken, ModelUnavailable, StateRefused, TrustBroken
from callslip.notify import notifier as notifier_module
from callslip.notify.delivery import TIMEOUT
from callslip.notify.endpoint import CommandEndpoint, LogEndpoint, WebhookEndpoint
from callslip.notify.notifier import run_notifier
from callslip.notify.verify import verify
from callslip.testing.clock import FakeClock
from callslip.testing.webhook_server import Answers, Hangs, WebhookServer

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("RESI-07")]

HOUR = 3600


def types(server):
    return [json.loads(got.body)["type"] for got in server.requests]


def ids(server):
    return [got.headers["webhook-id"] for got in server.requests]


@pytest.mark.requirement("APPR-01")
async def test_a_call_that_waits_is_told_signed_to_a_webhook(desk):
    with WebhookServer() as server:
        notifier = desk.notifier(desk.webhook(server.url))
        await notifier.look()
        await desk.ask("inv-17")
        await notifier.look()
    (got,) = server.requests
    said = json.loads(got.body)
    assert verify(desk.secret, got.headers, got.body, desk.clock.now() / 1000) == said["id"]
    assert (said["type"], said["data"]["session"], said["data"]["wait"]) == ("approval_waiting", "inv-17", "wait_1")
    assert "arguments" not in said["data"]


async def test_a_command_is_told_too(desk, tmp_path):
    out = tmp_path / "out"
    code = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read())"
    notifier = desk.notifier(CommandEndpoint(argv=(sys.executable, "-c", code, str(out))))
    await notifier.look()
    await desk.fail("a")
    await notifier.look()
    assert json.loads(out.read_text())["type"] == "session_failed"


def poisoned(server):
    """Let it refuse one kind of notice for ever."""
    record = server.answer

    def answer(got):
        record(got)
        return Answers(400 if b"approval_waiting" in got.body else 200)

    server.answer = answer


class Most:
    """Chance that always draws the longest pause."""

    def uniform(self, a, b):
        return b


class TestFailures:
    async def test_what_failed_is_tried_again_under_the_same_id_until_it_is_taken(self, desk):
        with WebhookServer([Answers(500), Answers(503), Answers(400)]) as server:
            notifier = desk.notifier(desk.webhook(server.url))
            await desk.ask("a")
            await notifier.look()
            assert len(server.requests) == 1
            await notifier.look()
            assert len(server.requests) == 1  # its pause has not passed
            for _ in range(3):
                desk.clock.advance(HOUR)
                await notifier.look()
            desk.clock.advance(HOUR)
            await notifier.look()
        assert len(server.requests) == 4
        assert len(set(ids(server))) == 1
        assert len({got.body for got in server.requests}) == 1
        assert desk.told == [
            "webhook 127.0.0.1 was not told: it answered 500. It is tried again for a day",
            "webhook 127.0.0.1 takes notices again",
        ]

    async def test_it_is_tried_again_after_a_restart_too(self, desk):
        with WebhookServer([Answers(500)]) as server:
            endpoint = desk.webhook(server.url)
            await desk.ask("a")
            await desk.notifier(endpoint).look()
            again = await desk.again(endpoint)
            await again.look()
            assert len(server.requests) == 1  # a restart shortens no pause
            desk.clock.advance(HOUR)
            await again.look()
        assert len(set(ids(server))) == 1
        assert len(server.requests) == 2

    async def test_a_notice_whose_delivery_was_not_noted_is_told_again_with_its_id(self, desk):
        """The process died between the answer and its commit: at least once, recognisably."""
        with WebhookServer() as server:
            endpoint = desk.webhook(server.url)
            await desk.ask("a")
            first = desk.notifier(endpoint)
            await first._take_in()
            outbox = first._open.outbox
            outbox.delivered = lambda *place, **time: 1 / 0
            await first.look()
            await (await desk.again(endpoint)).look()
        assert len(server.requests) == 2
        assert len(set(ids(server))) == 1

    async def test_pauses_grow_and_end_at_an_hour(self, desk):
        with WebhookServer([Answers(500)] * 40) as server:
            notifier = desk.notifier(desk.webhook(server.url), chance=Most())
            await desk.ask("a")
            pauses, tries = [], 0
            await notifier.look()
            while len(pauses) < 14:
                waited = 0
                tries = len(server.requests)
                while len(server.requests) == tries:
                    desk.clock.advance(1)
                    waited += 1
                    if waited in {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600}:
                        await notifier.look()
                pauses.append(waited)
        assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600, 3600]

    async def test_an_endpoint_that_is_down_is_tried_ever_less_whatever_there_is_to_tell(self, desk):
        with WebhookServer([Answers(500)] * 40) as server:
            notifier = desk.notifier(desk.webhook(server.url), chance=Most())
            for number in range(40):
                await desk.ask(f"s{number}")
            tried = []
            for second in range(31):
                before = len(server.requests)
                await notifier.look()
                tried += [second] * (len(server.requests) - before)
                desk.clock.advance(1)
        assert tried == [0, 2, 6, 14, 30]
        assert len(set(ids(server))) == 5

    async def test_and_so_is_a_notice_that_is_never_taken(self, desk):
        with WebhookServer() as server:
            poisoned(server)
            notifier = desk.notifier(desk.webhook(server.url), chance=Most())
            await desk.ask("a")
            tried = []
            for second in range(31):
                before = types(server).count("approval_waiting")
                await notifier.look()
                tried += [second] * (types(server).count("approval_waiting") - before)
                desk.clock.advance(1)
                await desk.fail(f"s{second}")
        assert tried == [0, 2, 6, 14, 30]

    async def test_after_a_day_it_is_given_up_and_that_is_said(self, desk):
        with WebhookServer([Answers(500)] * 400) as server:
            notifier = desk.notifier(desk.webhook(server.url))
            await desk.ask("a")
            for _ in range(30):
                await notifier.look()
                desk.clock.advance(HOUR)
            tried = len(server.requests)
            standing = (await notifier.standing())["webhook 127.0.0.1"]
            assert (standing.waiting, standing.given_up) == (0, 1)
            desk.clock.advance(HOUR)
            await notifier.look()
            assert len(server.requests) == tried
        assert 24 <= tried <= 26
        assert len(desk.told) == 2
        assert "1 notice will not reach it: it answered 500" in desk.told[1]

    async def test_retry_after_is_respected(self, desk):
        with WebhookServer([Answers(429, headers={"retry-after": "7200"})]) as server:
            notifier = desk.notifier(desk.webhook(server.url))
            await desk.ask("a")
            await desk.fail("a")
            await notifier.look()
            desk.clock.advance(2 * HOUR - 1)
            await notifier.look()
            assert len(server.requests) == 1  # neither this notice nor another one
            desk.clock.advance(1)
            await notifier.look()
            assert len(server.requests) > 1

    async def test_a_notice_that_is_never_taken_keeps_no_other_back(self, desk):
        with WebhookServer() as server:
            poisoned(server)
            notifier = desk.notifier(desk.webhook(server.url))
            await desk.ask("a")
            await notifier.look()
            for number in range(5):
                await desk.fail(f"s{number}")
                desk.clock.advance(HOUR)
                await notifier.look()
        assert types(server).count("session_failed") == 5

    async def test_410_ends_it_until_the_settings_change(self, desk):
        with WebhookServer([Answers(410)]) as server:
            notifier = desk.notifier(desk.webhook(server.url))
            await desk.ask("a")
            await desk.ask("b")
            await notifier.look()
            await desk.fail("a")
            desk.clock.advance(30 * HOUR)
            await notifier.look()
            await (await desk.again(desk.webhook(server.url))).look()
            assert len(server.requests) == 1
            assert (await desk.made[-1].standing())["webhook 127.0.0.1"].gone
            assert "answered 410" in desk.told[0]
            assert "2 notices will not reach it" in desk.told[0]
            await (await desk.again(desk.webhook(server.url, name="anew"))).look()
            assert sorted(types(server)[1:]) == ["approval_waiting", "approval_waiting"]  # what waits now


class TestOneThatHangs:
    async def test_it_is_left_after_ten_seconds_and_tried_again(self, desk):
        with WebhookServer([Hangs()]) as server:
            notifier = desk.notifier(desk.webhook(server.url))
            await desk.ask("a")
            looking = asyncio.create_task(notifier.look())
            await asyncio.to_thread(server.wait_for, 1)
            desk.clock.advance(TIMEOUT)
            await looking
            assert desk.told == [
                "webhook 127.0.0.1 was not told: no answer within 10 seconds. It is tried again for a day"
            ]
            desk.clock.advance(HOUR)
            await notifier.look()
        assert len(set(ids(server))) == 1
        assert len(server.requests) == 2

    async def test_it_holds_up_no_other_endpoint_and_has_one_request_at_a_time(self, desk):
        with WebhookServer([Hangs()] * 9) as hanging, WebhookServer() as well:
            clock = Impatient(desk.clock)
            notifier = desk.notifier(desk.webhook(hanging.url), desk.webhook(well.url), clock=clock)
            stop = asyncio.Event()
            serving = asyncio.create_task(notifier.serve(stop))
            for number in range(5):
                await desk.ask(f"s{number}")
                await asyncio.to_thread(well.wait_for, number + 1)
            assert len(hanging.wait_for(1)) == 1
            assert len(asyncio.all_tasks()) < 15  # nothing piles up behind it, look after look
            stop.set()
            clock.let_go()
            await serving
        assert len(hanging.requests) == 1

    async def test_a_session_is_written_while_it_hangs(self, desk):
        with WebhookServer([Hangs()]) as server:
            notifier = desk.notifier(desk.webhook(server.url))
            await desk.ask("a")
            looking = asyncio.create_task(notifier.look())
            await asyncio.to_thread(server.wait_for, 1)
            await desk.fail("a")
            assert not looking.done()
            desk.clock.advance(TIMEOUT)
            await looking


class Impatient:
    """Pauses of up to a second pass at once; longer ones, deadlines among them, last until it is let go."""

    def __init__(self, clock):
        self._clock, self._gone = clock, asyncio.Event()
        self.now, self.monotonic = clock.now, clock.monotonic

    def let_go(self):
        self._gone.set()

    async def sleep(self, seconds):
        if seconds <= 1:
            await asyncio.sleep(0.001)
        else:
            await self._gone.wait()


async def until(condition):
    for _ in range(5000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to be")


class TestServing:
    async def test_until_it_is_stopped_and_with_what_came_last(self, desk, log_endpoint, lines):
        stop, clock = asyncio.Event(), FakeClock()
        serving = asyncio.create_task(
            run_notifier(desk.ledger, [log_endpoint], clock=clock, folder=desk.folder, clean=str, stop=stop)
        )
        await until(lambda: clock.sleepers)
        await desk.ask("a")
        clock.advance(1)  # once: were it to go by itself, it might go past the time that an answer may take
        await until(lines)
        await desk.ask("b")
        stop.set()
        await serving
        assert [line["data"]["session"] for line in lines()] == ["a", "b"]

    async def test_without_endpoints_it_does_nothing(self, desk):
        stop = asyncio.Event()
        stop.set()
        await run_notifier(desk.ledger, [], clock=desk.clock, folder=desk.folder, clean=str, stop=stop)
        await desk.notifier().look()
        await desk.notifier().report(LogBroken("x"), "s")
        assert await desk.notifier(LogEndpoint()).standing() == {}
        assert list(desk.folder.iterdir()) == []

    async def test_in_memory_too(self, desk, log_endpoint, lines):
        notifier = desk.notifier(log_endpoint, folder=None)
        await desk.ask("a")
        await notifier.look()
        assert len(lines()) == 1

    async def test_cancelling_it_ends_its_deliveries(self, desk):
        with WebhookServer([Hangs()]) as server:
            notifier = desk.notifier(desk.webhook(server.url))
            await desk.ask("a")
            before = asyncio.all_tasks()
            serving = asyncio.create_task(notifier.serve(asyncio.Event()))
            await asyncio.to_thread(server.wait_for, 1)
            serving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await serving
            assert asyncio.all_tasks() == before


class TestSeveralProcesses:
    async def test_one_tells_and_the_next_takes_over(self, desk, log_endpoint, lines):
        first, second = desk.notifier(log_endpoint), desk.notifier(log_endpoint)
        await first.look()
        await desk.fail("a")
        await second.look()
        assert lines() == []
        await first.look()
        await first.aclose()
        await desk.fail("b")
        await second.look()
        assert [line["data"]["session"] for line in lines()] == ["a", "b"]

    async def test_the_lock_is_the_kernels(self, desk, log_endpoint, lines):
        """A process that is killed gives it back by dying."""
        await desk.fail("a")
        fd = os.open(desk.folder / "notify.lock", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        notifier = desk.notifier(log_endpoint)
        await desk.ask("a")
        await notifier.look()
        assert lines() == []
        os.close(fd)
        await notifier.look()
        assert len(lines()) == 1

    async def test_every_file_is_its_owners_alone(self, desk, log_endpoint):
        old = os.umask(0)
        try:
            await desk.notifier(log_endpoint).look()
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in desk.folder.iterdir()}
        finally:
            os.umask(old)
        assert {"notify.db", "notify.lock"} <= modes.keys()
        assert set(modes.values()) == {0o600}


class TestReports:
    async def test_an_error_that_closes_something_is_told_by_whoever_tells(self, desk, log_endpoint, lines):
        telling, other = desk.notifier(log_endpoint), desk.notifier(log_endpoint)
        await telling.look()
        await other.report(LogBroken("Record 3 was altered.", seq=3), "s")
        await other.report(TrustBroken("The trust file was altered."))
        await telling.look()
        assert [(line["type"], line["data"]["session"]) for line in lines()] == [
            ("log_broken", "s"),
            ("trust_broken", ""),
        ]

    async def test_many_at_once_open_one_outbox(self, desk, log_endpoint, lines, monkeypatch):
        opened = []
        real = notifier_module.Outbox
        monkeypatch.setattr(notifier_module, "Outbox", lambda path: opened.append(path) or real(path))
        notifier = desk.notifier(log_endpoint)
        errors = [LogBroken("Record 3 was altered.", seq=3)] * 5
        await asyncio.gather(*(notifier.report(error, f"s{n}") for n, error in enumerate(errors)), notifier.look())
        await notifier.look()
        assert len(opened) == 1
        assert len(lines()) == 5

    async def test_the_same_error_once_a_day(self, desk, log_endpoint, lines):
        notifier = desk.notifier(log_endpoint)
        for _ in range(5):
            await notifier.report(LogBroken("Record 3 was altered.", seq=3), "s")
            await notifier.look()
        assert len(lines()) == 1
        desk.clock.advance(24 * HOUR)
        await notifier.report(LogBroken("Record 3 was altered.", seq=3), "s")
        await notifier.look()
        assert len(lines()) == 2

    async def test_other_errors_are_not(self, desk, log_endpoint, lines):
        notifier = desk.notifier(log_endpoint)
        await notifier.report(ModelUnavailable("down"), "s")
        await notifier.look()
        assert lines() == []


class TestTheOutbox:
    async def test_a_damaged_one_is_put_aside_and_what_waits_is_told_again(self, desk, log_endpoint, lines):
        await desk.ask("a")
        await desk.notifier(log_endpoint).look()
        await desk.made[0].aclose()
        (desk.folder / "notify.db").write_bytes(b"not a database" * 500)
        await (await desk.again(log_endpoint)).look()
        assert [line["type"] for line in lines()] == ["approval_waiting"] * 2
        assert len({line["id"] for line in lines()}) == 1
        assert desk.told == ["notify.db was damaged and is now notify.db.damaged. What waits is told again"]

    async def test_damage_while_it_runs(self, desk, log_endpoint, lines):
        await desk.ask("a")
        notifier = desk.notifier(log_endpoint)
        await notifier.look()
        notifier._open.outbox.seen = corrupt
        await desk.fail("a")
        await notifier.look()
        await notifier.look()
        await desk.fail("b")
        await notifier.look()
        assert (desk.folder / "notify.db.damaged").exists()
        assert lines()[-1]["data"]["session"] == "b"

    async def test_one_of_a_newer_callslip_is_left_alone(self, desk, log_endpoint, lines):
        await desk.notifier(log_endpoint).look()
        await desk.made[0].aclose()
        database = sqlite3.connect(desk.folder / "notify.db")
        database.execute("pragma user_version = 9")
        database.close()
        await desk.ask("a")
        later = await desk.again(log_endpoint)
        await later.look()
        await later.look()
        assert lines() == []
        assert len(desk.told) == 1
        assert "format 9" in desk.told[0]
        with pytest.raises(StateRefused):
            await later.standing()

    async def test_one_that_is_locked_now_is_not_taken_for_damaged(self, desk, log_endpoint, lines, monkeypatch):
        await desk.notifier(log_endpoint).look()
        later = await desk.again(log_endpoint)
        await desk.ask("a")
        with monkeypatch.context() as patched:
            patched.setattr(notifier_module, "Outbox", locked)
            await later.look()
        await later.look()
        assert len(lines()) == 1
        assert sorted(path.name for path in desk.folder.iterdir() if "damaged" in path.name) == []

    async def test_a_disk_that_is_full_is_said_once_and_passes(self, desk, log_endpoint, lines):
        notifier = desk.notifier(log_endpoint)
        await notifier.look()
        await desk.ask("a")
        outbox = notifier._open.outbox
        real, outbox.take_in = outbox.take_in, full
        await notifier.look()
        await notifier.look()
        assert len(desk.told) == 1
        outbox.take_in = real
        await notifier.look()
        assert len(lines()) == 1


def corrupt(*_):
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    raise error


def locked(path):
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    raise error


def full(*_, **__):
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise error


class TestWhatIsSaid:
    async def test_a_listener_that_breaks_stops_nothing(self, desk):
        with WebhookServer([Answers(500)]) as server:
            notifier = desk.notifier(desk.webhook(server.url), tell=lambda said: 1 / 0)
            await desk.ask("a")
            await notifier.look()
            desk.clock.advance(HOUR)
            await notifier.look()
            assert len(server.requests) == 2

    async def test_it_holds_no_secrets_and_nothing_that_misleads(self, desk, tmp_path):
        with WebhookServer([Answers(500)]) as server:
            endpoint = desk.webhook(server.url + "?token=hunter2-hunter2", name="ops\u202e hunter2-hunter2")
            await desk.ask("a")
            await desk.notifier(endpoint).look()
        (said,) = desk.told
        assert said.startswith("ops\\u202e [redacted] was not told")


class TestTheStart:
    async def test_what_could_never_work_is_refused(self, desk):
        with pytest.raises(ConfigError):
            desk.notifier(WebhookEndpoint(url="http://a.example/", secret_env="HOOK_SIGNING"))
        with pytest.raises(ConfigError, match="no secrets"):
            desk.notifier(WebhookEndpoint(url="https://a.example/", secret_env="NOT_SET"))

    def test_no_http_client_is_loaded_without_a_webhook(self):
        code = (
            "import sys, callslip.notify.notifier, callslip.notify.verify; "
            "sys.exit('httpx2' in sys.modules or 'httpcore2' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
