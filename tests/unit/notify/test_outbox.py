"""What is still to be told, and how far the log was read."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat

import pytest

from callslip.errors import StateRefused
from callslip.notify.backoff import GIVE_UP
from callslip.notify.notice import Notice, NoticeKind
from callslip.notify.outbox import FILE, Outbox, Standing, set_aside

NOW = 1_700_000_000_000
HOUR = 3_600_000


@pytest.fixture
def path(tmp_path):
    return tmp_path / FILE


@pytest.fixture
def outbox(path):
    made = Outbox(path)
    made.begin(0, {})
    made.know({"a": "1", "b": "1"}, [], now=NOW)
    yield made
    made.close()


def rows_of(path, select):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(select).fetchall()


def queue(outbox, *ids, place="a", now=NOW):
    outbox.take_in("s", 1, None, [(place, one, b"body of " + one.encode()) for one in ids], now=now)


def due(outbox, place="a", now=NOW):
    found = outbox.due(place, now=now)
    return found.parcel.id if found is not None else None


def fail(outbox, now=NOW, pause=0, own_pause=0, place="a"):
    found = outbox.due(place, now=now)
    return outbox.failed(place, found.no, "trouble", now=now, pause=pause, own_pause=own_pause)


def test_the_file_is_its_owners_alone(path):
    old = os.umask(0)
    try:
        Outbox(path).close()
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_was_queued_is_there_after_a_restart(path, outbox):
    queue(outbox, "n1")
    outbox.take_in("s", 7, 40, [], now=NOW)
    outbox.close()
    again = Outbox(path)
    assert (again.change(), again.seen("s"), again.seen("t"), due(again)) == (40, 7, 0, "n1")
    again.close()


def test_the_same_notice_is_queued_once_also_after_it_was_told(outbox):
    queue(outbox, "n1", "n1")
    outbox.delivered("a", outbox.due("a", now=NOW).no, now=NOW)
    queue(outbox, "n1")
    assert due(outbox) is None
    queue(outbox, "n1", place="b")
    assert due(outbox, "b") == "n1"


def test_queue_and_position_move_together(outbox):
    def broken():
        yield ("a", "n1", b"x")
        raise ValueError

    with pytest.raises(ValueError):
        outbox.take_in("s", 9, 9, broken(), now=NOW)
    assert (due(outbox), outbox.seen("s"), outbox.change()) == (None, 0, 0)


def test_what_was_tried_least_comes_first(outbox):
    queue(outbox, "never_taken", "n2")
    assert due(outbox) == "never_taken"
    fail(outbox)
    assert due(outbox) == "n2"
    fail(outbox)
    assert due(outbox) == "never_taken"


def test_pauses_of_the_endpoint_and_of_the_notice(outbox):
    queue(outbox, "n1", "n2")
    fail(outbox, pause=2000, own_pause=9000)
    assert due(outbox, now=NOW + 1999) is None
    assert due(outbox, now=NOW + 2000) == "n2"
    outbox.delivered("a", outbox.due("a", now=NOW + 2000).no, now=NOW + 2000)
    assert due(outbox, now=NOW + 8999) is None
    assert due(outbox, now=NOW + 9000) == "n1"


def test_a_clock_set_back_a_day_makes_things_due_and_gives_nothing_up(outbox):
    queue(outbox, "n1")
    fail(outbox, pause=HOUR, own_pause=HOUR)
    assert due(outbox, now=NOW + 1) is None
    assert due(outbox, now=NOW - GIVE_UP) == "n1"
    assert fail(outbox, now=NOW - GIVE_UP) == 0


def test_after_a_day_everything_that_old_is_given_up(outbox):
    queue(outbox, "n1", "n2")
    queue(outbox, "n3", now=NOW + HOUR)
    assert fail(outbox, now=NOW + GIVE_UP - 1) == 0
    assert fail(outbox, now=NOW + GIVE_UP) == 2
    assert due(outbox, now=NOW + GIVE_UP) == "n3"
    assert outbox.standing("a") == Standing(waiting=1, given_up=2, failures=2, gone=False, trouble="trouble")


def test_a_success_ends_the_trouble(outbox):
    queue(outbox, "n1", "n2")
    fail(outbox, pause=1)
    outbox.delivered("a", outbox.due("a", now=NOW + 1).no, now=NOW + 1)
    assert outbox.standing("a") == Standing(waiting=1, given_up=0, failures=0, gone=False, trouble="")


def test_what_was_told_or_given_up_keeps_no_text(path, outbox):
    queue(outbox, "told", "lost", place="b")
    outbox.delivered("b", outbox.due("b", now=NOW).no, now=NOW)
    fail(outbox, now=NOW + GIVE_UP, place="b")
    rows = rows_of(path, "select state, body from notice order by no")
    assert rows == [("delivered", b""), ("given_up", b"")]


def test_what_was_told_is_forgotten_after_two_days(path, outbox):
    queue(outbox, "n1")
    outbox.delivered("a", outbox.due("a", now=NOW).no, now=NOW)
    queue(outbox, "n2", now=NOW + 2 * GIVE_UP + 1)
    outbox.delivered("a", outbox.due("a", now=NOW + 2 * GIVE_UP + 1).no, now=NOW + 2 * GIVE_UP + 1)
    assert rows_of(path, "select id from notice") == [("n2",)]


class TestEndpoints:
    def test_one_that_is_gone_hears_no_more_until_its_settings_change(self, outbox):
        queue(outbox, "n1", "n2")
        assert outbox.gone("a") == 2
        queue(outbox, "n3")
        assert due(outbox) is None
        assert (outbox.standing("a").gone, outbox.standing("a").waiting) == (True, 0)
        assert outbox.fresh({"a": "1", "b": "2"}) == set()
        outbox.know({"a": "1", "b": "1"}, [], now=NOW)
        assert outbox.standing("a").gone
        assert outbox.fresh({"a": "2", "b": "1"}) == {"a"}
        outbox.know({"a": "2", "b": "1"}, [("a", "n4", b"x")], now=NOW)
        assert not outbox.standing("a").gone
        assert due(outbox) == "n4"

    def test_new_settings_of_a_living_one_change_nothing_of_what_waits(self, outbox):
        queue(outbox, "n1")
        fail(outbox, pause=5000)
        assert outbox.fresh({"a": "2", "b": "1"}) == set()
        outbox.know({"a": "2", "b": "1"}, [], now=NOW)
        assert due(outbox, now=NOW + 5000) == "n1"
        assert outbox.standing("a").failures == 1

    def test_one_that_is_not_configured_any_more_is_forgotten(self, outbox):
        queue(outbox, "n1")
        outbox.know({"b": "1"}, [], now=NOW)
        queue(outbox, "n2")
        assert outbox.standing("a") is None
        assert outbox.fresh({"a": "1", "b": "1"}) == {"a"}
        outbox.know({"a": "1", "b": "1"}, [], now=NOW)
        assert due(outbox) is None


def test_alarms_wait_until_they_are_taken(path, outbox):
    alarm = Notice(id="n1", kind=NoticeKind.LOG_BROKEN, session="s", at=NOW, sentence="x", details={"record": 3})
    elsewhere = Outbox(path)  # another process
    elsewhere.alarm(alarm)
    elsewhere.alarm(alarm)
    elsewhere.close()
    ((number, taken),) = outbox.alarms()
    assert taken == alarm
    outbox.take_alarms(number, [("a", "n1", b"x")], now=NOW)
    assert (outbox.alarms(), due(outbox)) == ([], "n1")


def test_beginning_again_forgets_old_positions(outbox):
    outbox.take_in("s", 5, 9, [], now=NOW)
    outbox.begin(3, {"t": 2})
    assert (outbox.change(), outbox.seen("s"), outbox.seen("t")) == (3, 0, 2)


def test_a_file_of_a_newer_callslip_is_refused(path):
    Outbox(path).close()
    database = sqlite3.connect(path)
    database.execute("pragma user_version = 2")
    database.close()
    with pytest.raises(StateRefused, match="format 2"):
        Outbox(path)


def test_a_damaged_file_is_refused_and_can_be_put_aside(path):
    path.write_bytes(b"no database at all" * 100)
    path.chmod(0o600)
    with pytest.raises(sqlite3.DatabaseError):
        Outbox(path)
    assert set_aside(path).read_bytes().startswith(b"no database")
    Outbox(path).close()


def test_without_a_folder_it_is_kept_in_memory():
    outbox = Outbox(None)
    outbox.know({"a": "1"}, [("a", "n1", b"x")], now=NOW)
    assert due(outbox) == "n1"
    outbox.close()
