"""State folders of earlier formats: migrated when they are opened, and read as they are where that can't be."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import sqlite3

import pytest

from callslip.core.events.run_ended import RunEnded
from callslip.errors import LedgerUnavailable
from callslip.ledgers.connection import connect, load_statements, look_at, migrations, open_ledger
from callslip.ledgers.sqlite import SqliteLedger
from callslip.ledgers.sqlite_reader import SqliteReader
from callslip.ports.ledger import Checkpoint
from callslip.testing.suites.ledger_drafts import ME, OTHER, outside, owned, run, said, waiting

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("LEDG-01")]

OLDEST = 1
NEWEST = len(list(migrations()))
TABLES = ("sessions", "records", "waits", "checkpoints")


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def fill(ledger):
    """Three sessions: one driven, one that waits with a checkpoint, one woken."""
    for name in ("driven", "waits", "woken"):
        await ledger.claim(name, ME, expected_epoch=0, at=1)
        await ledger.append(name, owned(run(), said(name)), epoch=1)
    log = await ledger.append("waits", owned(waiting("w", wake_at=50), RunEnded(status="waiting")), epoch=1)
    await ledger.save_checkpoint("waits", Checkpoint(seq=4, digest=log[-1].digest, body=b"folded"))
    await ledger.append("woken", owned(RunEnded(status="finished")), epoch=1)
    await ledger.decide("woken", outside(said("hello")), expected=3)


async def seen(ledger):
    """All there is to read, but the numbers of the changes, which older formats don't have."""
    heads = sorted(await ledger.heads(), key=lambda head: head.session)
    return {
        "heads": [[getattr(head, name) for name in head.__struct_fields__ if name != "change"] for head in heads],
        "logs": [list(await ledger.read(head.session)) for head in heads],
        "waits": list(await ledger.waits()),
        "checkpoints": [await ledger.load_checkpoint(head.session) for head in heads],
    }


def as_format(path, today, number):
    """A file as the program of that format wrote it, with what is in today's."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as old:
        for script in itertools.islice(migrations(), number):
            old.executescript(script)
        old.execute("attach ? as today", (str(today),))
        for table in TABLES:
            columns = ", ".join(row[1] for row in old.execute(f"pragma main.table_info({table})"))
            old.execute(f"insert into main.{table} ({columns}) select {columns} from today.{table}")
        old.execute(f"pragma user_version = {number}")


@pytest.fixture
async def old(tmp_path):
    """The path of a file of format 1, and what is in it."""
    ledger = SqliteLedger(tmp_path / "today.db")
    await fill(ledger)
    there = await seen(ledger)
    await ledger.aclose()
    as_format(tmp_path / "ledger.db", tmp_path / "today.db", OLDEST)
    return tmp_path / "ledger.db", there


async def test_the_oldest_format_is_migrated_and_everything_is_there(old):
    path, there = old
    ledger = SqliteLedger(path)
    assert await seen(ledger) == there
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma user_version").fetchone() == (NEWEST,)
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    changes = [head.change for head in await ledger.heads(changed_after=0)]
    assert len(changes) == len(set(changes)) == 3, "a follower that begins sees each of them"
    assert [head.session for head in await ledger.heads(ready_at=50)] == ["driven", "waits", "woken"]
    claimed = await ledger.claim("waits", OTHER, expected_epoch=1, at=9)
    assert claimed.change > max(changes)
    await ledger.append("waits", owned(run(2), epoch=2), epoch=2)
    assert [head.session for head in await ledger.heads(changed_after=max(changes))] == ["waits"]
    await ledger.aclose()


async def test_a_migrated_file_has_the_structure_of_a_new_one(old, tmp_path):
    path, _ = old
    await SqliteLedger(path).aclose()
    structures = []
    for file in (path, tmp_path / "today.db"):
        with contextlib.closing(sqlite3.connect(file)) as connection:
            structures.append(sorted(connection.execute("select type, name, tbl_name, sql from sqlite_master")))
    assert structures[0] == structures[1]


async def test_of_several_that_open_it_at_once_each_finds_it_migrated(old):
    path, there = old
    ledgers = await asyncio.gather(*[asyncio.to_thread(SqliteLedger, path) for _ in range(4)])
    for ledger in ledgers:
        assert await seen(ledger) == there
        await ledger.aclose()


async def test_a_migration_that_breaks_off_leaves_the_old_format(old):
    path, there = old

    class Broken(sqlite3.Connection):
        def execute(self, sql, *parameters):
            if "create index waits_by_id" in sql:
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *parameters)

    with pytest.raises(LedgerUnavailable):
        open_ledger(path, lambda path: sqlite3.connect(path, isolation_level=None, factory=Broken))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma user_version").fetchone() == (OLDEST,)
        assert "change" not in [row[1] for row in connection.execute("pragma table_info(sessions)")]
    ledger = SqliteLedger(path)
    assert await seen(ledger) == there
    await ledger.aclose()


async def test_one_that_can_only_be_looked_at_is_read_as_it_is(old):
    path, there = old
    before = path.read_bytes()
    reader = SqliteReader(path)
    assert await seen(reader) == there
    (head,) = await reader.heads("woken")
    assert await reader.heads("woken", changed_after=head.change - 1) == [head]
    assert [head.session for head in await reader.heads(ready_at=50)] == ["driven", "waits", "woken"]
    assert [row.session for row in await reader.waits(wait_id="w")] == ["waits"]
    with pytest.raises(LedgerUnavailable, match="reading only"):
        await reader.claim("waits", OTHER, expected_epoch=1, at=9)
    await reader.aclose()
    assert path.read_bytes() == before


@pytest.mark.parametrize("number", range(OLDEST, NEWEST))
def test_each_earlier_format_can_be_looked_at(tmp_path, number):
    """Whoever adds a migration says how a file without it is read."""
    open_ledger(tmp_path / "today.db", connect).close()
    as_format(tmp_path / "ledger.db", tmp_path / "today.db", number)
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.executescript(look_at(number))
        for statement in load_statements().values():
            if statement.startswith("select"):
                marks = max(map(int, re.findall(r"\?(\d)", statement)), default=statement.count("?"))
                connection.execute(f"explain {statement}", [None] * marks)
