"""The public ledger suite on both ledgers, and what only the one with a file can show."""

import sqlite3

import pytest

from callslip.blobs.key_files import KeyFiles
from callslip.blobs.vault import KeyVault
from callslip.core.event import genesis, link
from callslip.core.events.run_ended import RunEnded
from callslip.core.events.session_started import SessionStarted
from callslip.errors import LogBroken
from callslip.ledgers.memory import MemoryLedger
from callslip.ledgers.sealed import SealedLedger
from callslip.ledgers.sqlite import SqliteLedger
from callslip.testing.disk import SimulatedDisk
from callslip.testing.suites.ledger import LedgerSuite
from callslip.testing.suites.ledger_drafts import ME, owned, run, said

pytestmark = [pytest.mark.requirement("LEDG-01"), pytest.mark.requirement("LEDG-03")]


class TestMemoryLedger(LedgerSuite):
    shared = False

    async def opened(self, place):
        return MemoryLedger()


class TestSqliteLedger(LedgerSuite):
    async def opened(self, place):
        return SqliteLedger(place / "ledger.db")


class TestSqliteOnASimulatedDisk(LedgerSuite):
    """The connection of the tests is as good as the standard library's."""

    @pytest.fixture(autouse=True)
    def disk(self):
        self.the_disk = SimulatedDisk()
        yield
        self.the_disk.close()

    async def opened(self, place):
        return SqliteLedger(place / "ledger.db", connect=self.the_disk.connect)


@pytest.mark.requirement("LEDG-08")
class TestSealedLedger(LedgerSuite):
    """With every session protected, whoever uses the ledger sees no difference."""

    async def opened(self, place):
        vault = KeyVault(KeyFiles(place / "keys"), encrypts=True)
        return SealedLedger(SqliteLedger(place / "ledger.db"), vault)

    async def test_the_chain_binds_what_is_stored(self, ledger):
        await ledger.claim("s", ME, expected_epoch=0, at=1)
        given = await ledger.append("s", owned(SessionStarted(requester="x"), run(), *map(said, "abc")), epoch=1)
        digest = genesis("s")
        for seq, stored, text in await ledger.raw("s"):
            digest = link(digest, text)
            assert (seq, stored) == (given[seq - 1].seq, digest)
        assert b'"text":""' in text

    async def test_a_log_taken_in_stands_as_if_it_had_been_appended(self, ledger, tmp_path):
        (tmp_path / "other").mkdir()
        (tmp_path / "keys").mkdir(mode=0o700, exist_ok=True)
        (tmp_path / "other" / "keys").symlink_to(tmp_path / "keys")  # a log comes with its keys
        await super().test_a_log_taken_in_stands_as_if_it_had_been_appended(ledger, tmp_path)


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def damaged(tmp_path):
    """A log of ten records, to be altered by a statement, and then opened anew."""
    path = tmp_path / "ledger.db"
    ledger = SqliteLedger(path)
    await ledger.claim("s", ME, expected_epoch=0, at=1)
    texts = [said(str(number)) for number in range(8)]
    await ledger.append("s", owned(SessionStarted(requester="x"), run(), *texts), epoch=1)
    await ledger.aclose()

    def alter(statement, *parameters):
        with sqlite3.connect(path) as connection:
            connection.execute(statement, parameters)
        connection.close()
        return SqliteLedger(path)

    return alter


async def _refusal(ledger, **part):
    try:
        with pytest.raises(LogBroken) as caught:
            await ledger.read("s", **part)
    finally:
        await ledger.aclose()
    return caught.value


@pytest.mark.anyio
@pytest.mark.requirement("LEDG-06")
class TestDamage:
    """Cases 15 and 16 of the recovery table: fail closed, naming the record."""

    async def test_an_altered_text(self, damaged):
        error = await _refusal(damaged("update records set text = replace(text, '4', '5') where seq = 7"))
        assert error.seq == 7
        assert "Record 7" in str(error)

    async def test_an_altered_digest(self, damaged):
        error = await _refusal(damaged("update records set digest = zeroblob(32) where seq = 7"))
        assert error.seq == 7

    async def test_a_tail_that_was_cut_off(self, damaged):
        error = await _refusal(damaged("delete from records where seq > 8"))
        assert error.seq == 10
        assert "missing" in str(error)

    async def test_a_hole(self, damaged):
        assert (await _refusal(damaged("delete from records where seq = 5"))).seq == 5

    async def test_a_record_before_the_part_that_is_read(self, damaged):
        assert (await _refusal(damaged("delete from records where seq = 5"), after=5)).seq == 5

    async def test_a_head_that_was_moved(self, damaged):
        assert (await _refusal(damaged("update sessions set seq = 9"), after=5)).seq == 9

    async def test_the_record_a_part_rests_on(self, damaged):
        """A chain that goes on from an altered digest is another chain."""
        assert (await _refusal(damaged("update records set digest = zeroblob(32) where seq = 5"), after=5)).seq == 6

    async def test_a_whole_log_swapped_for_another_sessions(self, damaged):
        ledger = damaged("update sessions set session = 't'")
        try:
            with pytest.raises(LogBroken) as caught:
                await ledger.read("t")
        finally:
            await ledger.aclose()
        assert caught.value.seq == 1

    async def test_a_newer_format(self, tmp_path, damaged):
        with pytest.raises(LogBroken, match="newer Callslip"):
            damaged("pragma user_version = 99")

    async def test_a_file_that_is_no_database(self, tmp_path):
        (tmp_path / "ledger.db").write_bytes(b"not a database at all, but long enough to be looked at" * 50)
        with pytest.raises(LogBroken):
            SqliteLedger(tmp_path / "ledger.db")


@pytest.mark.anyio
async def test_a_commit_for_many(tmp_path):
    """Appends handed over together share a commit."""
    import asyncio

    ledger = SqliteLedger(tmp_path / "ledger.db")
    await ledger.claim("s", ME, expected_epoch=0, at=1)
    await ledger.append("s", owned(SessionStarted(requester="x")), epoch=1)
    before = ledger.commits
    await asyncio.gather(*(ledger.append("s", owned(said(str(number))), epoch=1) for number in range(32)))
    assert ledger.commits - before == 1
    await ledger.append("s", owned(RunEnded(status="finished")), epoch=1)
    await ledger.aclose()
