"""Erasures that have begun are found again."""

from __future__ import annotations

import pytest

from callslip.blobs.erasures import ErasureFiles
from callslip.core.events.blob_erased import BlobErased
from callslip.errors import LedgerUnavailable, StateRefused
from callslip.ports.erasures import Begun

pytestmark = pytest.mark.requirement("LEDG-08")


def begun(number: int = 1) -> Begun:
    event = BlobErased(actor="op", reason="asked", whole=True)
    return Begun(id=f"erase_{number:04x}", session="s", event=event, expected=7, keys=(1, 2), remove=("sealed:aa",))


def test_begun_found_and_done(tmp_path):
    files = ErasureFiles(tmp_path / "erasures")
    assert list(files.pending()) == []
    files.begin(begun(1))
    files.begin(begun(2))
    assert list(ErasureFiles(tmp_path / "erasures").pending()) == [begun(1), begun(2)]
    modes = {path.stat().st_mode & 0o077 for path in (tmp_path / "erasures").iterdir()}
    assert modes == {0}
    files.done(begun(1))
    files.done(begun(1))
    assert list(files.pending()) == [begun(2)]


def test_half_written_ones_never_were(tmp_path):
    files = ErasureFiles(tmp_path)
    (tmp_path / ".erase_0001").write_text("{")
    assert list(files.pending()) == []


@pytest.mark.parametrize("text", ["{", '{"id":"erase_0009"}'])
def test_what_cant_be_read_is_not_acted_upon(tmp_path, text):
    (tmp_path / "erase_0001").write_text(text)
    with pytest.raises(StateRefused, match="Nothing was erased by it"):
        ErasureFiles(tmp_path).pending()


def test_one_under_another_name(tmp_path):
    files = ErasureFiles(tmp_path)
    files.begin(begun())
    (tmp_path / "erase_0001").rename(tmp_path / "erase_0002")
    with pytest.raises(StateRefused, match="named after another"):
        files.pending()


def test_no_room(tmp_path):
    (tmp_path / "erasures").write_text("")
    with pytest.raises(LedgerUnavailable, match="Nothing was erased"):
        ErasureFiles(tmp_path / "erasures").begin(begun())
