"""What another process of the same user can write into the trust file, and that none of it is believed.

Each attack stands beside its control: the same thing done by somebody who may, or the file left alone.
"""

import json
import os

import msgspec
import pytest

from callslip.core import standing as core
from callslip.core.principal import Principal, Role
from callslip.core.standing import Accepted, Enrolled, Granted, PrincipalRevoked
from callslip.errors import ConfigError, NotAuthorised, StateRefused, TrustBroken
from callslip.ledgers.state_folder import open_state
from callslip.testing.people import Person
from callslip.trust.account import account

pytestmark = [pytest.mark.requirement("APPR-08"), pytest.mark.requirement("GATE-09")]


def refused(installation, seq, says=""):
    """A new process and one that states something are refused alike, and the file stays as it is."""
    before = installation.path.read_bytes()
    for attempt in (
        lambda: installation.opened().standing(),
        lambda: installation.opened().state(Granted(grant=installation.grant("g9")), installation.anna.identity),
    ):
        with pytest.raises(TrustBroken, match=rf"^Statement {seq} of the trust file can't be true: .*{says}"):
            attempt()
    assert installation.path.read_bytes() == before


def believed(installation):
    return installation.opened().standing()


def test_control_the_file_as_it_was_written(installation):
    standing = believed(installation)
    assert (standing.seq, list(standing.principals), standing.revoked) == (5, ["anna", "bob"], {"carl"})
    assert standing.grants["g1"].at_most == {"amount": 100}


@pytest.mark.parametrize("place", range(5))
def test_a_line_edited_by_hand(installation, place):
    lines = installation.lines
    lines[place] = lines[place].replace(b'"at":17', b'"at":16')
    installation.lines = lines
    refused(installation, place + 1, "signature is not")


def test_a_grant_edited_by_hand(installation):
    lines = installation.lines
    lines[3] = lines[3].replace(b'"amount":100', b'"amount":999')
    installation.lines = lines
    refused(installation, 4, "signature is not that of 'bob'")


def test_a_grant_edited_with_its_chain_made_to_fit(installation):
    lines = installation.lines
    installation.lines = lines[:3]
    installation.forge(Granted(grant=installation.grant(at_most={"amount": 999})), by="bob")
    refused(installation, 4, "signature is not that of 'bob'")


def test_a_line_put_in_unsigned_after_the_enrolment(installation):
    before = installation.path.read_bytes()
    installation.forge(Granted(grant=installation.grant("g2")), by="bob")
    refused(installation, 6, "signature is not that of 'bob'")
    installation.path.write_bytes(before)
    installation.forge(Granted(grant=installation.grant("g2")), by="bob", key=installation.bob.key)
    assert "g2" in believed(installation).grants


def test_an_unsigned_line_of_the_account(installation):
    installation.forge(Accepted(project="/p", files={}), by=account().name)
    refused(installation, 6, "is not enrolled")


def test_a_line_put_in_between(installation):
    installation.forge(Granted(grant=installation.grant("g2")), by="bob", key=installation.bob.key, after=4)
    refused(installation, 6, "it does not follow statement 5")


def test_lines_in_another_order(installation):
    one, two, three, four, five = installation.lines
    installation.lines = [one, two, three, five, four]
    refused(installation, 4, "it does not follow statement 3")


def test_a_line_out_of_the_middle(installation):
    one, two, three, _, five = installation.lines
    installation.lines = [one, two, three, five]
    refused(installation, 4, "it does not follow statement 3")


def test_a_line_twice(installation):
    installation.lines = [*installation.lines, installation.lines[-1]]
    refused(installation, 6, "it does not follow statement 5")


def test_a_second_root(installation):
    mallory = Person("mallory", Role.OPERATOR, Role.APPROVER)
    before = installation.path.read_bytes()
    installation.forge(Enrolled(principal=mallory.principal), by="mallory", key=mallory.key)
    refused(installation, 6, "'mallory' is not enrolled")
    installation.path.write_bytes(before)
    mallory.enrol(installation.opened(), by=installation.anna)
    standing = believed(installation)
    assert "mallory" in standing.principals
    assert standing.root == installation.anna.key.key


def test_a_second_root_that_speaks_for_the_first(installation):
    mallory = Person("mallory", Role.OPERATOR)
    installation.forge(Enrolled(principal=mallory.principal), by="anna", key=mallory.key)
    refused(installation, 6, "signature is not that of 'anna'")


def test_a_statement_of_another_installation(installation, tmp_path):
    other = type(installation)(tmp_path / "other")
    other.anna, other.bob, other.carl = installation.anna, installation.bob, installation.carl
    other.clock.advance(60)
    other.fill()
    assert believed(other).grants.keys() == {"g1"}
    installation.lines = [*installation.lines[:3], other.lines[3], installation.lines[4]]
    refused(installation, 4, "it does not follow statement 3")


def test_a_signature_taken_off(installation):
    lines = installation.lines
    bare = msgspec.structs.replace(msgspec.json.decode(lines[3], type=core.Statement), signature="")
    lines[3] = core.encode(bare) + b"\n"
    installation.lines = lines
    refused(installation, 4, "signature is not")


def test_a_signature_spelled_in_another_way(installation):
    lines = installation.lines
    signature = json.loads(lines[4])["signature"]
    lines[4] = lines[4].replace(signature.encode(), signature.upper().encode())
    assert lines != installation.lines
    installation.lines = lines
    refused(installation, 5, "signature is not")


def test_an_enrolment_by_an_approver(installation):
    friend = Person("friend", Role.OPERATOR)
    with pytest.raises(NotAuthorised, match="'bob' is no operator"):
        friend.enrol(installation.opened(), by=installation.bob)
    before = installation.path.read_bytes()
    installation.forge(Enrolled(principal=friend.principal), by="bob", key=installation.bob.key)
    refused(installation, 6, "'bob' is no operator")
    installation.path.write_bytes(before)
    friend.enrol(installation.opened(), by=installation.anna)
    assert "friend" in believed(installation).principals


def test_a_grant_by_an_operator_who_is_no_approver(installation):
    dora = Person("dora", Role.OPERATOR)
    dora.enrol(installation.opened(), by=installation.anna)
    installation.forge(Granted(grant=installation.grant("g2")), by="dora", key=dora.key)
    refused(installation, 7, "'dora' is no approver")


def test_a_revoked_principal(installation):
    with pytest.raises(NotAuthorised, match="'carl' was revoked"):
        Person("friend", Role.VIEWER).enrol(installation.opened(), by=installation.carl)
    friend = Enrolled(principal=Person("friend", Role.VIEWER).principal)
    installation.forge(friend, by="carl", key=installation.carl.key)
    refused(installation, 6, "'carl' was revoked")
    installation.lines = installation.lines[:4]  # control: before the revocation carl may
    installation.forge(friend, by="carl", key=installation.carl.key)
    assert "friend" in believed(installation).principals


def test_a_revoked_key_under_another_name(installation):
    again = Principal(name="karl", roles=(Role.OPERATOR,), key=installation.carl.key.key)
    installation.forge(Enrolled(principal=again), by="anna", key=installation.anna.key)
    refused(installation, 6, "its key has been enrolled before")


def test_the_root_is_not_revoked(installation):
    Person("eve", Role.OPERATOR).enrol(installation.opened(), by=installation.anna)
    installation.forge(PrincipalRevoked(name="anna"), by="anna", key=installation.anna.key)
    refused(installation, 7, "the root can't be revoked")


def test_a_signature_while_nobody_is_enrolled(bare):
    bare.forge(Accepted(project="/p", files={}), by=account().name)
    assert believed(bare).accepted == {"/p": {}}
    bare.lines = []
    bare.forge(Accepted(project="/p", files={}), by=account().name, key=bare.anna.key)
    refused(bare, 1, "nobody's key is enrolled")


SPELLINGS = {
    "a key twice": lambda line: line.replace(b'{"at":', b'{"at":1,"at":'),
    "a field nobody knows": lambda line: line.replace(b',"v":1', b',"v":1,"x":1'),
    "a field nobody knows, in the grant": lambda line: line.replace(b'"tool":"pay"', b'"note":"x","tool":"pay"'),
    "a space": lambda line: line.replace(b'{"at":', b'{ "at":'),
    "an escape": lambda line: line.replace(b'"bob"', b'"\\u0062ob"'),
    "another order": lambda line: line.replace(b',"v":1', b"").replace(b'{"at":', b'{"v":1,"at":'),
    "a carriage return": lambda line: line.replace(b"}\n", b"}\r\n"),
    "a number in another spelling": lambda line: line.replace(b'"amount":100', b'"amount":1e2'),
    "an empty line": lambda line: b"\n",
    "no JSON": lambda line: b"hello\n",
    "no UTF-8": lambda line: line.replace(b"shop", b"sh\xffp"),
    "another kind": lambda line: line.replace(b'"type":"granted"', b'"type":"granted2"'),
    "deep": lambda line: line.replace(b'"shop"', b"[" * 100_000 + b"]" * 100_000),
}


@pytest.mark.parametrize("how", SPELLINGS)
def test_another_spelling_of_the_same(installation, how):
    lines = installation.lines
    changed = SPELLINGS[how](lines[3])
    assert changed != lines[3]
    installation.lines = [*lines[:3], changed, lines[4]]
    refused(installation, 4, "it can't be read|is not spelled the one way")


def test_a_newer_version(installation):
    lines = installation.lines
    installation.lines = [*lines[:4], lines[4].replace(b'"v":1}', b'"v":2}')]
    refused(installation, 5, "of version 2, and this Callslip knows version 1")


class TestPutInItsPlace:
    """A whole folder, or a file, of somebody else's."""

    def test_by_a_root_of_its_own(self, installation, monkeypatch):
        root = installation.anna.key.key
        installation.path.unlink()
        mallory = Person("mallory", Role.OPERATOR, Role.APPROVER)
        mallory.enrol(installation.opened())
        assert believed(installation).root == mallory.key.key  # the file alone can't show it
        monkeypatch.setenv("CALLSLIP_ROOT", root)
        with pytest.raises(TrustBroken, match=f"root of .* is {mallory.key.key}, and CALLSLIP_ROOT says .* {root}"):
            believed(installation)
        with pytest.raises(TrustBroken, match="CALLSLIP_ROOT"):
            installation.opened().state(Granted(grant=installation.grant()), mallory.identity)

    def test_control_the_right_root(self, installation, monkeypatch):
        monkeypatch.setenv("CALLSLIP_ROOT", installation.anna.key.key.upper())
        assert believed(installation).seq == 5
        installation.opened().state(Granted(grant=installation.grant("g2")), installation.anna.identity)

    def test_by_nothing(self, installation, monkeypatch):
        monkeypatch.setenv("CALLSLIP_ROOT", installation.anna.key.key)
        installation.path.unlink()
        with pytest.raises(TrustBroken, match="is nobody: no key is enrolled"):
            believed(installation)

    def test_the_named_root_may_still_enrol(self, bare, monkeypatch):
        monkeypatch.setenv("CALLSLIP_ROOT", bare.anna.key.key)
        with pytest.raises(TrustBroken):
            bare.bob.identity and Person("bob", Role.OPERATOR).enrol(bare.opened())
        assert not bare.path.exists() or bare.path.read_bytes() == b""
        bare.anna.enrol(bare.opened())
        assert believed(bare).root == bare.anna.key.key

    @pytest.mark.parametrize("text", ["x", "0" * 63, "anna"])
    def test_a_root_that_is_none(self, bare, monkeypatch, text):
        monkeypatch.setenv("CALLSLIP_ROOT", text)
        with pytest.raises(ConfigError, match="no public key"):
            bare.opened()

    def test_whoever_remembers_a_position_sees_it(self, installation):
        before = believed(installation)
        assert believed(installation).follows(before.seq, before.digest)
        installation.lines = installation.lines[:4]
        assert believed(installation).revoked == set()  # the file alone can't show that its end is missing
        assert not believed(installation).follows(before.seq, before.digest)


class TestWhoHasReadIt:
    """A process that has read a line notices that it is gone or another."""

    @pytest.mark.parametrize(
        ("change", "seq"),
        [
            (lambda lines: lines[:4], 5),
            (lambda lines: [*lines[:4], lines[4].replace(b'"left"', b'"Left"')], 5),
            (lambda lines: [lines[0].replace(b"anna", b"Anna", 1), *lines[1:]], 1),
            (lambda lines: [], 1),
            (lambda lines: [*lines[:4], lines[4][:-1]], 5),
        ],
    )
    def test_it_goes_on_refusing(self, installation, change, seq):
        trust = installation.opened()
        assert trust.standing().seq == 5
        lines = installation.lines
        installation.lines = change(lines)
        for _ in range(2):
            with pytest.raises(TrustBroken, match=f"Statement {seq} of .* not what this process has read"):
                trust.standing()
        with pytest.raises(TrustBroken):
            trust.state(Granted(grant=installation.grant("g2")), installation.anna.identity)
        installation.lines = lines  # control: put back as it was
        assert trust.standing().seq == 5

    def test_gone(self, installation):
        trust = installation.opened()
        trust.standing()
        text = installation.path.read_bytes()
        installation.path.unlink()
        with pytest.raises(TrustBroken, match="is gone, and this process has read 5 statements"):
            trust.standing()
        with pytest.raises(TrustBroken):
            trust.state(Granted(grant=installation.grant("g2")), installation.anna.identity)
        installation.path.touch(0o600)
        installation.path.write_bytes(text)
        assert trust.standing().seq == 5

    def test_an_edit_of_the_same_size_with_the_old_times(self, installation):
        trust = installation.opened()
        trust.standing()
        info = installation.path.stat()
        lines = installation.lines
        installation.lines = [*lines[:3], lines[3].replace(b'"amount":100', b'"amount":999'), lines[4]]
        os.utime(installation.path, ns=(info.st_atime_ns, info.st_mtime_ns))
        with pytest.raises(TrustBroken):
            trust.standing()


class TestModes:
    @pytest.mark.parametrize("mode", [0o620, 0o602, 0o640, 0o604, 0o644])
    def test_a_file_open_to_others(self, installation, mode):
        installation.path.chmod(mode)
        with pytest.raises(StateRefused, match=r"trust\.log is open to others .* chmod 600"):
            believed(installation)
        with pytest.raises(StateRefused):
            installation.opened().state(Granted(grant=installation.grant("g2")), installation.anna.identity)
        installation.path.chmod(0o600)
        assert believed(installation).seq == 5

    @pytest.mark.parametrize("mode", [0o770, 0o720, 0o702, 0o750])
    def test_a_folder_open_to_others(self, installation, mode):
        installation.folder.chmod(mode)
        for attempt in (lambda: believed(installation), lambda: open_state(installation.folder)):
            with pytest.raises(StateRefused, match=r"is open to others .* chmod 700"):
                attempt()
        installation.folder.chmod(0o700)
        assert believed(installation).seq == 5
        assert open_state(installation.folder)

    def test_a_file_of_somebody_elses(self, installation, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(StateRefused, match="belongs to user"):
            believed(installation)

    def test_a_link(self, installation, tmp_path):
        installation.path.rename(tmp_path / "elsewhere")
        installation.path.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StateRefused, match="is a symbolic link"):
            believed(installation)

    @pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
    def test_what_is_no_file(self, bare, make):
        make(bare.path, 0o600)
        with pytest.raises(StateRefused, match="is no plain file"):
            believed(bare)
