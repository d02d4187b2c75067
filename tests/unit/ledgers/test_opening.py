"""A new state folder that two processes open at once."""

import contextlib
import sqlite3

import pytest

from callslip.ledgers.connection import connect, open_ledger
from callslip.machine_file import to_wal

pytestmark = pytest.mark.requirement("LEDG-01")


class Refused:
    """A connection that lets the other one end once it has been refused."""

    def __init__(self, connection, end):
        self.connection, self.end, self.times = connection, end, 0

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def execute(self, *args):
        try:
            return self.connection.execute(*args)
        except sqlite3.OperationalError:
            self.times += 1
            self.end()
            raise


@pytest.fixture
def other(tmp_path):
    """Another process, in the transaction that makes the file."""
    with contextlib.closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as connection:
        connection.execute("begin immediate")
        yield connection


def test_the_one_that_comes_second_waits_for_the_first(tmp_path, other):
    made = []

    def refused(path):
        made.append(Refused(connect(path), lambda: other.execute("rollback")))
        return made[-1]

    with contextlib.closing(open_ledger(tmp_path / "new.db", refused)) as opened:
        assert opened.execute("pragma journal_mode").fetchone() == ("wal",)
    assert made[0].times == 1


def test_but_not_for_ever(tmp_path, other):
    with (
        contextlib.closing(sqlite3.connect(tmp_path / "new.db")) as second,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        to_wal(second, 0)
