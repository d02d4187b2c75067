"""Effect and key in one transaction."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from callslip import outbox
from callslip.errors import UsageError

pytestmark = pytest.mark.requirement("RECO-06")


@pytest.fixture
def database(tmp_path):
    connection = sqlite3.connect(tmp_path / "db")
    connection.execute("create table seats (seat text)")
    yield connection
    connection.close()


def book(connection, seat, key):
    with outbox.once(connection, key) as entry:
        if not entry.done:
            connection.execute("insert into seats values (?)", (seat,))
            entry.record({"seat": seat})
    return entry.result


def seats(connection):
    return [row[0] for row in connection.execute("select seat from seats")]


def test_the_same_key_takes_effect_once(database):
    assert book(database, "1A", "k1") == {"seat": "1A"}
    assert book(database, "1A", "k1") == {"seat": "1A"}
    assert book(database, "1B", "k2") == {"seat": "1B"}
    assert seats(database) == ["1A", "1B"]


def test_a_failure_leaves_neither_effect_nor_key(database):
    with pytest.raises(ZeroDivisionError), outbox.once(database, "k") as entry:
        database.execute("insert into seats values ('1A')")
        entry.record(1 / 0)
    assert seats(database) == []
    assert not outbox.lookup(database, "k").done


def test_the_probe_reads_what_happened(database):
    assert not outbox.lookup(database, "k1").done
    book(database, "1A", "k1")
    found = outbox.lookup(database, "k1")
    assert (found.done, found.result) == (True, {"seat": "1A"})


def test_forgetting_to_record_writes_nothing(database):
    with pytest.raises(UsageError, match=r"entry\.record"), outbox.once(database, "k"):
        database.execute("insert into seats values ('1A')")
    assert seats(database) == []


def test_recording_twice_or_inside_another_transaction_is_a_mistake(database):
    book(database, "1A", "k")
    with pytest.raises(UsageError, match="already"), outbox.once(database, "k") as entry:
        entry.record(1)
    database.execute("begin")
    with pytest.raises(UsageError, match="transaction of its own"), outbox.once(database, "k2"):
        pass
    database.rollback()


def test_two_writers_at_once_have_one_effect(tmp_path, database):
    database.commit()

    def run():
        connection = sqlite3.connect(tmp_path / "db", timeout=30)
        book(connection, "1A", "k")
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seats(database) == ["1A"]
