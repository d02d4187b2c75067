"""Keys of sessions, and the boxes that they open."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from callslip.blobs import box
from callslip.blobs.key_files import KeyFiles
from callslip.blobs.vault import KeyVault, MemoryKeys
from callslip.errors import Erased, LedgerUnavailable, LogBroken, StateRefused, UsageError
from callslip.ports.vault import Keyring, Vault

pytestmark = pytest.mark.requirement("LEDG-08")


@pytest.fixture(params=["files", "memory"])
def place(request, tmp_path):
    return KeyFiles(tmp_path / "keys") if request.param == "files" else MemoryKeys()


@pytest.fixture
def vault(place):
    made = KeyVault(place, encrypts=True)
    port: Vault = made
    ring: Keyring = made
    assert port is ring
    return made


class TestBoxes:
    @pytest.mark.parametrize("data", [b"", b"x", b"the same " * 100_000, os.urandom(70_000)])
    def test_what_was_put_in_comes_out(self, vault, data):
        assert vault.open(vault.seal("s", data)) == data

    def test_nothing_of_it_shows(self, vault):
        boxed = vault.seal("s", b"Ada owes five pounds")
        assert b"Ada" not in boxed
        assert b"s" not in boxed[: 1 + box.WHOSE_BYTES] or box.whose("s").find(b"s") >= 0

    def test_the_same_again_is_the_same_box_and_elsewhere_another(self, vault):
        assert vault.seal("s", b"one") == vault.seal("s", b"one")
        assert vault.seal("s", b"one") != vault.seal("s", b"two")
        assert vault.seal("s", b"one") != vault.seal("t", b"one")
        assert vault.seal("s", b"one") != KeyVault(MemoryKeys(), encrypts=True).seal("s", b"one")

    @pytest.mark.parametrize("where", [0, 3, 18, 25, 50, -1])
    def test_altered_anywhere_it_does_not_open(self, vault, where):
        boxed = bytearray(vault.seal("s", b"precious" * 10))
        boxed[where] ^= 1
        with pytest.raises(LogBroken):
            vault.open(bytes(boxed))

    @pytest.mark.parametrize("junk", [b"", b"\x01", b"\xa7" * 60, b"\x01" + bytes(10)])
    def test_what_is_no_box(self, vault, junk):
        with pytest.raises(LogBroken):
            vault.open(junk)

    def test_one_that_would_unpack_to_the_whole_memory_is_not_unpacked(self, monkeypatch):
        monkeypatch.setattr(box, "MOST", 1000)
        boxed = box.seal(bytes(32), bytes(16), 1, bytes(1001))
        with pytest.raises(LogBroken, match="more than 1000 bytes"):
            box.open_box(bytes(32), boxed)
        assert box.open_box(bytes(32), box.seal(bytes(32), bytes(16), 1, bytes(1000))) == bytes(1000)

    def test_by_keys_that_are_brought(self, vault):
        boxed = vault.seal("s", b"one")
        keys = vault.keys("s")
        elsewhere = KeyVault(MemoryKeys(), encrypts=False)
        assert elsewhere.open(boxed, keys) == b"one"
        with pytest.raises(LogBroken, match="altered, or its key is another"):
            elsewhere.open(boxed, {1: bytes(range(32))})
        with pytest.raises(LogBroken, match="is gone, and it was not destroyed"):
            elsewhere.open(boxed)


class TestTags:
    def test_equal_for_equal_texts_and_keyed(self, vault):
        assert vault.tag("s", "a") == vault.tag("s", "a")
        assert len({vault.tag("s", "a"), vault.tag("s", "b"), vault.tag("t", "a")}) == 3

    def test_a_new_key_does_not_change_them_while_the_old_one_lives(self, vault):
        tag = vault.tag("s", "a")
        before = vault.renew("s")
        assert vault.tag("s", "a") == tag
        vault.destroy("s", before)
        assert vault.tag("s", "a") != tag


class TestLives:
    def test_whether_it_protects(self, place):
        off = KeyVault(place, encrypts=False)
        assert not off.protects("s")
        assert off.keys("s") == {}
        on = KeyVault(place, encrypts=True)
        assert on.protects("s")
        on.seal("s", b"x")
        assert off.protects("s"), "once protected, always protected"
        assert not off.protects("t")

    def test_destroyed_is_not_lost(self, vault):
        boxed = vault.seal("s", b"x")
        vault.destroy("s", vault.renew("s"))
        with pytest.raises(Erased):
            vault.open(boxed)
        assert vault.keys("s")[1] == b""
        assert len(vault.keys("s")[2]) == 32
        assert vault.open(vault.seal("s", b"x")) == b"x", "and it goes on under another"

    def test_a_new_key_counts_at_once_and_the_old_ones_still_open(self, vault):
        boxed = vault.seal("s", b"x")
        assert vault.renew("s") == (1,)
        assert vault.seal("s", b"x") != boxed
        assert vault.open(boxed) == b"x"

    def test_even_the_only_key_may_be_destroyed(self, vault):
        boxed = vault.seal("s", b"x")
        vault.destroy("s", [1])
        with pytest.raises(Erased):
            vault.open(boxed)
        assert vault.open(vault.seal("s", b"y")) == b"y"

    def test_keys_of_elsewhere_are_taken_once(self, vault):
        keys = {1: b"", 2: os.urandom(32)}
        vault.take("s", keys)
        vault.take("s", keys)
        assert vault.keys("s") == keys
        for other in ({1: os.urandom(32)}, {1: b"", 2: os.urandom(32)}, {1: b""}):
            with pytest.raises(UsageError, match="other keys of a session"):
                vault.take("s", other)


class TestKeyFiles:
    def key(self, tmp_path, vault):
        vault.seal("s", b"x")
        (path,) = (tmp_path / "keys").glob("*/*")
        return path

    @pytest.fixture
    def vault(self, tmp_path):
        return KeyVault(KeyFiles(tmp_path / "keys"), encrypts=True)

    def test_they_are_their_owners_alone(self, tmp_path, vault):
        path = self.key(tmp_path, vault)
        assert path.stat().st_mode & 0o777 == 0o600
        assert {folder.stat().st_mode & 0o777 for folder in path.parents[:2]} == {0o700}
        assert b"s" not in os.fsencode(path.parent.name) or path.parent.name == box.whose("s").hex()

    def test_another_process_has_the_same_key(self, tmp_path, vault):
        boxed = vault.seal("s", b"x")
        assert KeyVault(KeyFiles(tmp_path / "keys"), encrypts=False).open(boxed) == b"x"

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
    def test_one_that_others_can_read_is_refused(self, tmp_path, vault, mode):
        self.key(tmp_path, vault).chmod(mode)
        with pytest.raises(StateRefused, match="not yours alone"):
            vault.seal("s", b"x")

    def test_a_link_is_refused(self, tmp_path, vault):
        path = self.key(tmp_path, vault)
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StateRefused):
            vault.seal("s", b"x")

    @pytest.mark.parametrize("content", [b"short", bytes(33)])
    def test_a_damaged_one_is_refused(self, tmp_path, vault, content):
        self.key(tmp_path, vault).write_bytes(content)
        with pytest.raises(StateRefused, match="damaged"):
            vault.seal("s", b"x")

    def test_a_destruction_that_was_broken_off_is_one(self, tmp_path, vault):
        boxed = vault.seal("s", b"x")
        self.key(tmp_path, vault).write_bytes(bytes(32))
        with pytest.raises(Erased):
            vault.open(boxed)

    def test_destroyed_it_is_written_over_and_empty(self, tmp_path, vault):
        path = self.key(tmp_path, vault)
        vault.destroy("s", [1])
        assert path.read_bytes() == b""
        with pytest.raises(LedgerUnavailable, match="can't be destroyed"):
            vault.destroy("s", [7])

    def test_no_room_for_a_key(self, tmp_path):
        (tmp_path / "keys").write_text("a file where the folder should be")
        with pytest.raises((LedgerUnavailable, StateRefused)):
            KeyVault(KeyFiles(tmp_path / "keys"), encrypts=True).seal("s", b"x")

    def test_two_that_begin_at_once_have_one_key(self, tmp_path):
        one, two = (KeyVault(KeyFiles(tmp_path / "keys"), encrypts=True) for _ in range(2))
        first = one._place.read

        def late(of):  # between the look and the making, the other one was quicker
            found = first(of)
            two.seal("s", b"x")
            return found

        one._place.read = late
        assert one.seal("s", b"x") == two.seal("s", b"x")


def test_whoever_does_not_encrypt_does_not_load_the_library():
    code = "import sys; from callslip import Runtime; import callslip.blobs.vault; assert 'nacl.bindings' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
