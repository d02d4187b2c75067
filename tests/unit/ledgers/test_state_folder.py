"""The state folder: its owner's alone, outside everything a tool may write, or nothing starts."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from callslip import Runtime, tool
from callslip.errors import ConfigError, StateRefused
from callslip.ledgers import state_folder
from callslip.ledgers.state_folder import installation_key, open_state

pytestmark = pytest.mark.requirement("GATE-09")


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path):
    return open_state(tmp_path / "state")


class TestModes:
    def test_it_is_made_for_its_owner_alone_whatever_the_umask(self, tmp_path):
        before = os.umask(0)
        try:
            folder = open_state(tmp_path / "deep" / "state")
            installation_key(folder)
        finally:
            os.umask(before)
        assert [mode(path) for path in (folder, folder / "owners", folder / "blobs")] == [0o700] * 3
        assert mode(folder / "installation.key") == 0o600

    @pytest.mark.anyio
    async def test_everything_in_it_is_its_owners_alone(self, tmp_path):
        @tool(risk="read")
        async def read() -> str:
            """Read."""
            return "x" * 10_000

        before = os.umask(0)
        try:
            async with Runtime(tools=[read], state=tmp_path / "state") as runtime:
                await runtime.dispatch([{"name": "read", "input": {}}], session="s", step="1")
                found = {path: mode(path) for path in (tmp_path / "state").rglob("*")}
        finally:
            os.umask(before)
        assert {path.suffix for path in found} >= {".db", ".key", ".lock"}
        assert not [(path.name, oct(bits)) for path, bits in found.items() if bits & 0o077]

    @pytest.mark.parametrize("name", ["", "owners", "blobs", "installation.key"])
    @pytest.mark.parametrize("bit", [0o040, 0o020, 0o010, 0o004, 0o002, 0o001])
    def test_any_bit_for_others_refuses_the_start_and_says_how_to_mend_it(self, folder, name, bit):
        installation_key(folder)
        path = folder / name
        path.chmod(mode(path) | bit)
        with pytest.raises(StateRefused, match=r"open to others .*Nothing was started.* Run: chmod [67]00"):
            open_state(folder)

    def test_what_is_no_state_folder_is_left_as_it_is(self, tmp_path):
        """Least of all is anybody told to change the mode of /tmp."""
        (tmp_path / "file").touch()
        (tmp_path / "open").mkdir()
        (tmp_path / "open").chmod(0o1777)
        with pytest.raises(
            ConfigError, match=r"file is no state folder: it is a file\. Nothing was done\. Name another"
        ):
            open_state(tmp_path / "file")
        with pytest.raises(StateRefused, match=r"open is no state folder\. Nothing was done\. Name another") as refused:
            open_state(tmp_path / "open")
        assert "chmod" not in str(refused.value)
        assert list((tmp_path / "open").iterdir()) == []

    def test_the_ledger_too(self, folder):
        (folder / "ledger.db").touch(mode=0o600)
        open_state(folder)
        (folder / "ledger.db").chmod(0o640)
        with pytest.raises(StateRefused, match=r"ledger\.db is open to others \(mode 0640\)"):
            open_state(folder)

    @pytest.mark.parametrize("bits", [0o600, 0o640], ids=oct)
    def test_what_another_process_takes_away_again_stops_nothing_and_the_rest_is_checked(
        self, folder, monkeypatch, bits
    ):
        """Its key, under another name for as long as it is being written, is in the list and not there any more."""
        fresh, ledger = folder / ".key.0a1b2c3d", folder / "ledger.db"
        fresh.touch(mode=0o600)
        ledger.touch(mode=bits)
        list_it = Path.iterdir

        def gone_once_listed(of):
            names = sorted(list_it(of))
            assert names[0] == fresh
            fresh.unlink()
            yield from names

        monkeypatch.setattr(Path, "iterdir", gone_once_listed)
        if bits == 0o600:
            assert open_state(folder) == folder
        else:
            with pytest.raises(StateRefused, match=r"ledger\.db is open to others \(mode 0640\)"):
                open_state(folder)
        assert not fresh.exists()

    def test_another_owner(self, folder, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(StateRefused, match=r"belongs to user .* Run as its owner"):
            open_state(folder)


class TestPlace:
    @pytest.mark.parametrize("inside", [".", "state", "deep/er/state"])
    def test_never_inside_what_tools_may_write(self, tmp_path, inside):
        with pytest.raises(StateRefused, match=r"a tool could forge the log. Nothing was started"):
            open_state(tmp_path / "work" / inside, writable_roots=[tmp_path / "other", tmp_path / "work"])
        assert list(tmp_path.iterdir()) == []

    def test_not_through_a_link_either(self, tmp_path):
        (tmp_path / "work").mkdir()
        (tmp_path / "elsewhere").symlink_to(tmp_path / "work")
        with pytest.raises(StateRefused, match="tools may write"):
            open_state(tmp_path / "elsewhere" / "state", writable_roots=[tmp_path / "work"])

    def test_beside_it_is_fine_even_with_a_like_name(self, tmp_path):
        (tmp_path / "work").mkdir()
        open_state(tmp_path / "work-state", writable_roots=[tmp_path / "work"])

    @pytest.mark.anyio
    async def test_a_runtime_does_not_start(self, tmp_path):
        runtime = Runtime(state=tmp_path / "work" / "state", workspace=tmp_path / "work")
        with pytest.raises(StateRefused):
            await runtime.sessions()

    @pytest.mark.parametrize("what", ["folder", "entry"])
    def test_a_link_is_refused(self, tmp_path, what):
        real = open_state(tmp_path / "real")
        if what == "folder":
            (tmp_path / "link").symlink_to(real)
            real = tmp_path / "link"
        else:
            (real / "ledger.db").symlink_to(tmp_path / "x")
        with pytest.raises(StateRefused, match="is a symbolic link"):
            open_state(real)

    def test_where_nothing_can_be_made(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(StateRefused, match=r"can't be made .*Name another with --state"):
            open_state(tmp_path / "file" / "state")


class TestTheKey:
    def test_it_is_made_once(self, folder):
        key = installation_key(folder)
        assert len(key) == 32
        assert installation_key(folder) == key
        assert [path.name for path in folder.iterdir() if "key" in path.name] == ["installation.key"]

    def test_another_folder_has_another(self, folder, tmp_path):
        assert installation_key(folder) != installation_key(open_state(tmp_path / "other"))

    def test_many_at_once_get_the_same(self, folder):
        found, barrier = [], threading.Barrier(8)

        def ask():
            barrier.wait()
            found.append(installation_key(folder))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert len(set(found)) == 1

    @pytest.mark.parametrize("damage", [b"", b"short", b"x" * 33])
    def test_a_damaged_one_refuses_the_start(self, folder, damage):
        (folder / "installation.key").write_bytes(damage)
        with pytest.raises(StateRefused, match=r"is damaged. Nothing was started"):
            installation_key(folder)

    def test_a_crash_on_the_way_leaves_none_or_a_whole_one(self, folder, monkeypatch):
        def die(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(state_folder.os, "link", die)
        with pytest.raises(KeyboardInterrupt):
            installation_key(folder)
        assert not (folder / "installation.key").exists()
        monkeypatch.undo()
        assert len(installation_key(folder)) == 32
