"""The line of all processes: who is in it, who is next, and what becomes of it when its file does not serve (PARA-03)."""

import sqlite3

import pytest

from callslip.authorities.table import Table, now
from callslip.core.claim import Claim, Kind
from callslip.errors import LedgerUnavailable
from callslip.machine_file import Busy
from callslip.ports.authority import Capacity, Holder
from callslip.ports.ledger import Owner

pytestmark = pytest.mark.requirement("PARA-03")

HOLDER = Holder(session="s", call_id="c", tool="t")
ME = Owner(id="own_1", host="h", boot="b", process=1)
OTHER = Owner(id="own_2", host="h", boot="b", process=2)


def claim(name, kind="named"):
    return Claim(text=name, kind=Kind(kind), shared=False, ids=(name,))


@pytest.fixture
def opened(tmp_path):
    tables = []

    def open_one(patience=0, **capacities):
        tables.append(Table(tmp_path / "t.db", capacities, patience=patience))
        return tables[-1]

    yield open_one
    for table in tables:
        table.close()


def test_a_place_is_never_numbered_twice(opened):
    table = opened()
    first = table.enter(ME, HOLDER, [claim("a")]).number
    table.leave([first])
    assert table.enter(ME, HOLDER, [claim("a")]).number > first


def test_whoever_leaves_twice_takes_nothing_from_others(opened):
    table = opened()
    first = table.enter(ME, HOLDER, [claim("a")])
    table.leave([first.number])
    second = table.enter(OTHER, HOLDER, [claim("a")])
    table.leave([first.number])
    assert table.look(second.number).granted
    assert [ticket.number for ticket in table.line()] == [second.number]


def test_a_busy_file_is_waited_for_no_longer_than_is_said(opened, tmp_path):
    table, other = opened(), sqlite3.connect(tmp_path / "t.db", isolation_level=None)
    ticket = table.enter(ME, HOLDER, [claim("a")])
    other.execute("begin immediate")
    for work in (
        lambda: table.enter(ME, HOLDER, [claim("b")]),
        lambda: table.leave([ticket.number]),
        lambda: table.drop([ME]),
        table.decide,
    ):
        with pytest.raises(Busy):
            work()
    assert table.look(ticket.number).granted, "who only looks waits for nobody"
    other.execute("rollback")
    other.close()
    table.leave([ticket.number])
    assert table.line() == []


def test_the_dead_are_dropped_with_all_that_they_held_or_waited_for(opened):
    table = opened()
    table.enter(OTHER, HOLDER, [claim("a")])
    mine = table.enter(ME, HOLDER, [claim("a")])
    table.enter(OTHER, HOLDER, [claim("a")])
    table.drop([OTHER])
    assert [(ticket.number, ticket.granted) for ticket in table.line()] == [(mine.number, True)]


def test_one_of_all_looks_after_the_dead(opened):
    one, other = opened(), opened()
    one.enter(ME, HOLDER, [claim("a")])
    one.enter(OTHER, HOLDER, [claim("a")])
    assert one.sweepable(3600) == [ME, OTHER]
    assert other.sweepable(3600) == []
    assert other.sweepable(0) == [ME, OTHER]


def test_a_place_says_how_many_wait_before_it(opened):
    table = opened()
    numbers = [table.enter(ME, HOLDER, [claim("a")]).number for _ in range(4)]
    assert [table.look(number).earlier for number in numbers] == [0, 0, 1, 2]


def test_when_time_alone_makes_a_place_everybody_knows(opened):
    """Also when the one who left is gone, and nobody else comes."""
    capacities = {"both": Capacity(at_once=1, calls=1, per=1000.0)}
    one, other = opened(**capacities), opened(**capacities)
    first = one.enter(ME, HOLDER, [claim("both", "slot")])
    assert first.granted
    second = other.enter(OTHER, HOLDER, [claim("both", "slot")])
    assert other.look(second.number).due is None, "it waits for the first"
    one.leave([first.number])
    due = other.look(second.number).due
    assert due is not None
    assert 900 < due - now() <= 1000
    other.decide()
    assert not other.look(second.number).granted, "not before its time"
    other._db.execute("update bucket set at = at - 1000")
    other.decide()
    assert not other.look(second.number).granted, "the time that was named has not come"
    other._db.execute("update watch set due = due - 1000")
    other.decide()
    assert other.look(second.number).granted


def test_where_the_kernel_tells_no_boot_a_clock_that_began_anew_empties_the_file(opened):
    table = opened()
    table.enter(ME, HOLDER, [claim("a")])
    table._db.execute("insert into bucket values ('x', 0, 0)")
    table._db.execute("update watch set swept = ?", (now() + 1000,))
    table = opened()
    assert table.line() == []
    assert table._db.execute("select count(*) from bucket").fetchone() == (0,)
    assert table.sweepable(0) == []


def test_rows_that_make_no_sense_are_no_crash(opened):
    table = opened()
    table.enter(ME, HOLDER, [claim("a")])
    table._db.execute("update ticket set claims = 'x', owner = 'x'")
    with pytest.raises(LedgerUnavailable, match="can't be used"):
        table.line()
    with pytest.raises(LedgerUnavailable, match="can't be used"):
        table.sweepable(0)


@pytest.mark.parametrize("again", [False, True])
def test_a_file_that_was_deleted_meanwhile_is_not_used(opened, tmp_path, again):
    """Whoever comes next would not see what is held in it."""
    table = opened()
    ticket = table.enter(ME, HOLDER, [claim("a")])
    (tmp_path / "t.db").unlink()
    if again:
        (tmp_path / "t.db-wal").unlink(missing_ok=True)
        (tmp_path / "t.db-shm").unlink(missing_ok=True)
        assert opened().enter(OTHER, HOLDER, [claim("a")]).granted
    with pytest.raises(LedgerUnavailable, match="was deleted"):
        table.enter(ME, HOLDER, [claim("b")])
    with pytest.raises(LedgerUnavailable, match="was deleted"):
        table.look(ticket.number)
    table.leave([ticket.number])


def test_a_place_that_is_gone_is_told(opened):
    table = opened()
    ticket = table.enter(ME, HOLDER, [claim("a")])
    table._db.execute("delete from ticket")
    with pytest.raises(LedgerUnavailable, match="is gone"):
        table.look(ticket.number)


def test_the_log_of_changes_does_not_grow_for_ever(opened, tmp_path):
    """While somebody looks all the time."""
    table, looks = opened(), opened()
    holds = table.enter(ME, HOLDER, [claim("a")])
    waits = looks.enter(OTHER, HOLDER, [claim("a")])
    for _ in range(2000):
        table.leave([table.enter(ME, HOLDER, [claim("b" * 500)]).number])
        looks.look(waits.number)
        looks.line()
    assert (tmp_path / "t.db-wal").stat().st_size < 6_000_000
    assert (tmp_path / "t.db").stat().st_size < 200_000
    table.leave([holds.number])
    assert looks.look(waits.number).granted
