"""The trust file on a disk: durable, one line at a time, whatever crashes and whoever else writes."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from callslip.core import standing as core
from callslip.core.standing import Accepted, Granted, GrantRevoked, Standing
from callslip.errors import CommitUnknown, LedgerUnavailable, TrustBroken
from callslip.trust import chain, file as trust_file
from callslip.trust.account import account

pytestmark = pytest.mark.requirement("GATE-09")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


class TestTheFile:
    def test_reading_makes_none(self, bare):
        assert bare.opened().standing() == Standing()
        assert list(bare.folder.iterdir()) == []

    def test_no_folder_at_all(self, tmp_path, bare):
        trust = trust_file.FileTrust(tmp_path / "none" / "here", clock=bare.clock)
        assert trust.standing() == Standing()
        with pytest.raises(LedgerUnavailable, match=r"can't be written .*Nothing was stated"):
            trust.state(Accepted(project="/p", files={}), account())

    def test_it_is_its_owners_alone_whatever_the_umask(self, bare):
        before = os.umask(0)
        try:
            bare.anna.enrol(bare.opened())
        finally:
            os.umask(before)
        assert mode(bare.path) == 0o600

    def test_a_line_is_a_statement_and_is_what_was_hashed(self, installation):
        lines = installation.lines
        standing = installation.opened().standing()
        assert len(lines) == 5
        assert [core.canon.digest(line[:-1]) for line in lines] == list(standing.digests)
        assert standing.digest == standing.digests[-1]

    def test_file_and_folder_are_durable_before_it_returns(self, bare, monkeypatch):
        synced = []
        real = os.fsync

        def fsync(fd):
            synced.append((stat.S_ISDIR(os.fstat(fd).st_mode), bare.path.stat().st_size))
            real(fd)

        monkeypatch.setattr(os, "fsync", fsync)
        bare.anna.enrol(bare.opened())
        first = bare.path.stat().st_size
        assert synced == [(False, first), (True, first)]
        bare.bob.enrol(bare.opened(), by=bare.anna)
        assert synced[2:] == [(False, bare.path.stat().st_size)]


class TestReadingAgain:
    def test_an_unchanged_file_is_not_even_read(self, installation, monkeypatch):
        trust = installation.opened()
        one = trust.standing()
        monkeypatch.setattr(os, "pread", None)
        assert trust.standing() is one

    def test_a_line_is_verified_once(self, installation, monkeypatch):
        trust = installation.opened()
        trust.standing()
        verified = []
        real = chain.verified
        monkeypatch.setattr(chain, "verified", lambda *words: verified.append(words) or real(*words))
        other = installation.opened()
        other.state(Granted(grant=installation.grant("g2")), installation.bob.identity)
        verified.clear()
        assert "g2" in trust.standing().grants
        assert len(verified) == 1

    def test_the_same_content_in_another_file_is_the_same(self, installation):
        trust = installation.opened()
        before = trust.standing()
        copy = installation.folder / "copy"
        copy.touch(0o600)
        copy.write_bytes(installation.path.read_bytes())
        copy.replace(installation.path)
        assert trust.standing() == before


class TestCrashes:
    @pytest.mark.parametrize("left", [b"{", b'{"at":1', b"\0\0\0\0", b"\xff", b'{"at":1}', b"x" * 5000])
    def test_half_a_line_says_nothing_and_is_cut_off_by_the_next(self, installation, left):
        whole = installation.path.read_bytes()
        installation.path.write_bytes(whole + left)
        trust = installation.opened()
        assert trust.standing().seq == 5
        assert installation.path.read_bytes() == whole + left
        trust.state(Granted(grant=installation.grant("g2")), installation.bob.identity)
        assert installation.path.read_bytes().startswith(whole + b'{"at":17')
        assert installation.path.read_bytes().endswith(b"}\n")
        assert installation.opened().standing().seq == trust.standing().seq == 6

    def test_at_every_byte_of_the_last_line(self, installation):
        whole = installation.path.read_bytes()
        last = len(installation.lines[-1])
        for cut in range(1, last + 1):
            installation.path.write_bytes(whole[:-cut])
            standing = installation.opened().standing()
            assert (standing.seq, standing.revoked) == (4, frozenset())
        installation.path.write_bytes(whole)
        assert installation.opened().standing().seq == 5

    def test_half_of_the_very_first_line(self, bare):
        bare.lines = [b'{"at":1']
        assert bare.opened().standing() == Standing()
        bare.anna.enrol(bare.opened())
        assert bare.opened().standing().seq == 1

    def test_a_line_that_becomes_whole_while_it_is_watched(self, installation):
        *before, last = installation.lines
        installation.lines = [*before, last[:100]]
        trust = installation.opened()
        assert trust.standing().seq == 4
        installation.lines = [*before, last]
        assert trust.standing().seq == 5

    def test_half_a_line_in_the_middle_is_no_crash(self, installation):
        lines = installation.lines
        installation.lines = [*lines[:3], lines[3][:100] + b"\n", lines[4]]
        with pytest.raises(TrustBroken, match="Statement 4"):
            installation.opened().standing()


class TestTheDiskRefuses:
    @pytest.fixture
    def states(self, installation):
        trust = installation.opened()
        return lambda: trust.state(Granted(grant=installation.grant("g2")), installation.bob.identity)

    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
    @pytest.mark.parametrize("call", ["pwrite", "fsync"])
    def test_nothing_was_written(self, installation, states, monkeypatch, call, code):
        whole = installation.path.read_bytes()
        real = getattr(os, call)
        failed = []

        def refuse(*words):
            if failed:
                return real(*words)
            failed.append(words)
            if call == "pwrite":
                real(words[0], words[1][:50], words[2])
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, call, refuse)
        with pytest.raises(LedgerUnavailable, match=rf"{os.strerror(code)}.*Nothing was stated"):
            states()
        assert installation.path.read_bytes() == whole
        states()
        assert installation.opened().standing().seq == 6

    def test_a_short_write_goes_on(self, installation, states, monkeypatch):
        real = os.pwrite
        monkeypatch.setattr(os, "pwrite", lambda fd, text, at: real(fd, text[:7], at))
        states()
        assert installation.opened().standing().seq == 6

    def test_it_can_not_even_be_taken_back(self, installation, states, monkeypatch):
        def refuse(*_):
            raise OSError(errno.EIO, "input/output error")

        monkeypatch.setattr(os, "fsync", refuse)
        with pytest.raises(CommitUnknown, match="is not known"):
            states()
        monkeypatch.undo()
        assert installation.opened().standing().seq == 5

    def test_it_can_not_be_read(self, installation, monkeypatch):
        def refuse(*_):
            raise OSError(errno.EIO, "input/output error")

        trust = installation.opened()
        monkeypatch.setattr(os, "pread", refuse)
        with pytest.raises(LedgerUnavailable, match=r"can't be read \(input/output error\). Nothing was executed"):
            trust.standing()
        monkeypatch.undo()
        assert trust.standing().seq == 5


PROGRAM = """
import sys
from pathlib import Path
from callslip.core.grant import Grant
from callslip.core.principal import Role
from callslip.core.standing import Granted, GrantRevoked
from callslip.clocks.system import SystemClock
from callslip.ports.trust import Identity
from callslip.trust.file import FileTrust
from callslip.trust.keys import PrivateKey

folder, seed, me, number = sys.argv[1:]
trust = FileTrust(Path(folder), clock=SystemClock())
bob = Identity(name="bob", uid=0, signer=PrivateKey(bytes.fromhex(seed)))
for at in range(int(number)):
    name = f"{me}-{at}"
    trust.state(Granted(grant=Grant(id=name, tool="t", tool_version="v", executor="e", requester="r", rules=(), equal={})), bob)
    assert name in trust.standing().grants
    if at % 2:
        trust.state(GrantRevoked(id=name, reason="x"), bob)
"""


def test_many_processes_state_at_once_and_nothing_is_lost(installation):
    """Each of them also crashes into the others' half lines: there are none to be seen."""
    seed = installation.bob.key._key.encode().hex()
    words = [sys.executable, "-c", PROGRAM, str(installation.folder), seed]
    running = [subprocess.Popen([*words, str(me), "10"], stderr=subprocess.PIPE, text=True) for me in range(6)]
    trust = installation.opened()
    while any(process.poll() is None for process in running):
        trust.standing()
    assert [process.communicate()[1] for process in running] == [""] * 6
    standing = installation.opened().standing()
    assert standing == trust.standing()
    assert standing.seq == 5 + 6 * 15
    assert set(standing.grants) == {"g1"} | {f"{me}-{at}" for me in range(6) for at in range(0, 10, 2)}


def test_a_file_that_is_replaced_while_its_lock_is_waited_for(installation, monkeypatch):
    """Who waited holds the lock of a file that nobody will find any more: they look again."""
    real, swapped = trust_file.fcntl.flock, []

    def flock(fd, how):
        if not swapped:
            copy = installation.folder / "copy"
            copy.touch(0o600)
            copy.write_bytes(installation.path.read_bytes())
            copy.replace(installation.path)
            swapped.append(True)
        real(fd, how)

    monkeypatch.setattr(trust_file.fcntl, "flock", flock)
    installation.opened().state(GrantRevoked(id="g1"), installation.bob.identity)
    assert installation.opened().standing().grants == {}
