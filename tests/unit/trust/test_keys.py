"""Keys on a disk: sealed, their owner's alone, and every way in which one is no use told apart."""

import copy
import json
import os
import pickle
import stat
import subprocess
import sys

import pytest

from callslip.errors import NotAuthorised, NotFound, StateRefused, UsageError
from callslip.trust import keys
from callslip.trust.key_file import keys_folder, make_folder, read_key
from callslip.trust.keys import LEAST, PrivateKey, load_key, make_key

pytestmark = pytest.mark.requirement("APPR-08")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "anna.key"


def made(path, passphrase="open sesame"):
    return make_key(path, "anna", passphrase=passphrase, host="here", cost=LEAST)


def altered(path, **changes):
    """The file with other values, and its check sum as it was."""
    value = json.loads(path.read_bytes())
    path.write_text(json.dumps({name: part for name, part in (value | changes).items() if part is not None}))


class TestAtRest:
    @pytest.mark.parametrize("passphrase", ["open sesame", "ünï cødé 🔑", " ", "x" * 5000, None])
    def test_what_was_made_can_be_opened(self, path, passphrase):
        identity = made(path, passphrase)
        again = load_key(path, passphrase)
        assert (again.name, again.uid) == (identity.name, identity.uid) == ("anna", os.getuid())
        assert again.signer.key == identity.signer.key
        assert keys.verified(identity.signer.key, b"text", again.signer.sign(b"text"))

    def test_its_file_is_its_owners_alone_and_hides_the_seed(self, path, monkeypatch):
        seed = bytes(range(32))
        monkeypatch.setattr(keys.utils, "random", lambda size: seed[:size])
        before = os.umask(0)
        try:
            made(path)
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert seed.hex() not in path.read_text()
        value = read_key(path)
        assert (value.locked, value.seed, value.uid, value.host) == (True, "", os.getuid(), "here")
        assert (value.kdf.name, value.kdf.ops, value.kdf.mem) == ("argon2id", *LEAST)

    def test_two_keys_of_one_passphrase_share_nothing(self, tmp_path):
        one, two = (made(tmp_path / f"{name}.key") for name in "ab")
        assert one.signer.key != two.signer.key
        texts = [json.loads((tmp_path / f"{name}.key").read_text()) for name in "ab"]
        assert texts[0]["kdf"]["salt"] != texts[1]["kdf"]["salt"]

    def test_the_usual_cost_is_not_the_tests(self):
        assert keys.USUAL.mem >= 256 << 20
        assert keys.USUAL.ops >= 3

    def test_the_same_characters_in_another_encoding(self, path):
        made(path, "caf\u00e9")
        load_key(path, "cafe\u0301")

    def test_one_that_is_there_is_not_written_over(self, path):
        before = made(path).signer.key
        with pytest.raises(StateRefused, match="is there already"):
            made(path)
        assert load_key(path, "open sesame").signer.key == before
        assert [entry.name for entry in path.parent.iterdir()] == ["anna.key"]

    def test_an_empty_passphrase(self, path):
        with pytest.raises(UsageError, match=r"empty\. No key was made"):
            made(path, "")
        assert not path.exists()


class TestWhatIsNoUse:
    @pytest.mark.parametrize("passphrase", ["", "open Sesame", "open sesame ", "\udcff"])
    def test_a_wrong_passphrase(self, path, passphrase):
        made(path)
        with pytest.raises(NotAuthorised, match=r"passphrase of anna\.key is wrong"):
            load_key(path, passphrase)

    def test_none_where_one_is_needed(self, path):
        made(path)
        with pytest.raises(NotAuthorised, match="CALLSLIP_PASSPHRASE_FILE"):
            load_key(path, None)

    def test_every_flipped_byte_is_damage_and_never_a_wrong_passphrase(self, path):
        made(path)
        whole = path.read_bytes()
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            if path.read_bytes().split() == whole.split():
                continue  # one blank for another says the same
            with pytest.raises(StateRefused, match=r"is damaged|can't be read"):
                load_key(path, "open sesame")
        path.write_bytes(whole)
        load_key(path, "open sesame")

    @pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b"\xff", b"hello", b"[" * 100_000])
    def test_something_else(self, path, text):
        path.touch(0o600)
        path.write_bytes(text)
        with pytest.raises(StateRefused, match="is damaged"):
            load_key(path, "x")

    @pytest.mark.parametrize(
        "changes",
        [
            {"seed": "00" * 32},
            {"sealed": None},
            {"kdf": None},
            {"sealed": "00"},
            {"kdf": {"name": "argon2id", "ops": 1, "mem": 8192, "salt": "00"}},
            {"kdf": {"name": "argon2id", "ops": 10**9, "mem": 8192, "salt": "00" * 16}},
            {"kdf": {"name": "argon2id", "ops": 1, "mem": 1 << 50, "salt": "00" * 16}},
        ],
    )
    def test_what_makes_no_sense_though_its_check_sum_fits(self, path, monkeypatch, changes):
        made(path)
        altered(path, **changes)
        monkeypatch.setattr("callslip.trust.key_file._check", lambda value: value.check)
        with pytest.raises(StateRefused, match="is damaged"):
            load_key(path, "open sesame")

    @pytest.mark.parametrize("passphrase", ["open sesame", None])
    def test_a_public_half_that_is_anothers(self, path, monkeypatch, passphrase):
        made(path, passphrase)
        altered(path, key=PrivateKey.fresh().key)
        monkeypatch.setattr("callslip.trust.key_file._check", lambda value: value.check)
        with pytest.raises(StateRefused, match="two halves"):
            load_key(path, passphrase)

    def test_a_version_of_the_future(self, path):
        made(path)
        altered(path, v=2)
        with pytest.raises(StateRefused, match="is damaged"):
            load_key(path, "open sesame")

    def test_none(self, path):
        with pytest.raises(NotFound, match="There is no key"):
            load_key(path, None)

    def test_no_memory_to_try(self, path, monkeypatch):
        made(path)

        def kdf(*_):
            raise keys.exceptions.RuntimeError("key derivation failed")

        monkeypatch.setattr(keys.pwhash.argon2id, "kdf", kdf)
        with pytest.raises(StateRefused, match="no memory"):
            load_key(path, "open sesame")


class TestWhoElseCanReach:
    @pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o700])
    def test_a_file_open_to_others(self, path, mode):
        made(path, None)
        load_key(path, None)
        path.chmod(mode)
        with pytest.raises(StateRefused, match=r"is open to others \(mode 0\d+\).* chmod 600"):
            load_key(path, None)
        path.chmod(0o400)
        load_key(path, None)

    def test_a_file_of_somebody_elses(self, path, monkeypatch):
        made(path, None)
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(StateRefused, match="belongs to user"):
            load_key(path, None)

    def test_a_link(self, path, tmp_path):
        made(tmp_path / "real.key", None)
        path.symlink_to(tmp_path / "real.key")
        with pytest.raises(StateRefused, match="is a symbolic link"):
            load_key(path, None)
        load_key(tmp_path / "real.key", None)

    @pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
    def test_what_is_no_file(self, path, make):
        make(path, 0o600)
        with pytest.raises(StateRefused, match="is no plain file"):
            load_key(path, None)

    @pytest.mark.parametrize("write", [pickle.dumps, copy.copy, copy.deepcopy])
    def test_a_private_key_is_never_copied_or_written_down(self, write):
        key = PrivateKey.fresh()
        with pytest.raises(TypeError):
            write(key)
        assert repr(key).startswith("<callslip.trust.keys.PrivateKey object")


class TestTheFolder:
    def test_where_it_is(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        assert keys_folder() == tmp_path / "config" / "callslip" / "keys"
        monkeypatch.delenv("XDG_CONFIG_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert keys_folder() == tmp_path / ".config" / "callslip" / "keys"

    def test_never_where_tools_may_write(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "work" / "config"))
        with pytest.raises(StateRefused, match="which tools may write"):
            keys_folder([tmp_path / "work"])
        (tmp_path / "work").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "work")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "link"))
        with pytest.raises(StateRefused, match="which tools may write"):
            keys_folder([tmp_path / "work"])
        keys_folder([tmp_path / "work-beside"])

    def test_it_is_made_for_its_owner_alone_and_refused_otherwise(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        folder = keys_folder()
        make_folder(folder)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        make_folder(folder)
        folder.chmod(0o770)
        for attempt in (keys_folder, lambda: make_folder(folder)):
            with pytest.raises(StateRefused, match="open to others"):
                attempt()

    def test_it_can_not_be_made(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(StateRefused, match="can't be made"):
            make_folder(tmp_path / "file" / "keys")


QUIET = """
import sys
from pathlib import Path
import callslip
from callslip import Runtime, tool
from callslip.build import build_parts
from callslip.cli.main import cli
from callslip.clocks.system import SystemClock
from callslip.trust.file import FileTrust
parts = build_parts(Runtime().settings)
assert parts.trust.standing().advisory
assert FileTrust(Path(sys.argv[1]), clock=SystemClock()).standing().advisory
try:
    cli.main(["--help"])
except SystemExit:
    pass
print([name for name in sys.modules if name.partition(".")[0] == "nacl"])
import callslip.trust.keys
print("nacl" in sys.modules)
"""


def test_the_cryptography_is_loaded_only_to_sign_and_to_verify(tmp_path):
    words = [sys.executable, "-c", QUIET, str(tmp_path)]
    tmp_path.chmod(0o700)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["[]", "True"]
