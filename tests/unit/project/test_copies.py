import stat

import pytest
import zstandard

from callslip.project import copies
from callslip.project.copies import keep, kept
from callslip.project.files import digest

A, B = b"x = 1\n" * 100, b""


@pytest.fixture
def state(tmp_path):
    keep(tmp_path, [A, B], needed=[digest(A), digest(B)])
    return tmp_path


def file_of(state, data):
    return state / "accepted" / f"{digest(data)}.zst"


def test_they_come_back_and_are_their_owners_alone(state):
    assert kept(state, digest(A)) == A
    assert kept(state, digest(B)) == B
    assert kept(state, "0" * 64) is None
    assert kept(state / "nowhere", digest(A)) is None
    assert stat.S_IMODE((state / "accepted").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (state / "accepted").iterdir()} == {0o600}


def test_what_is_not_needed_goes(state):
    keep(state, [b"new"], needed=[digest(A), digest(b"new")])
    assert [kept(state, digest(data)) for data in (A, B, b"new")] == [A, None, b"new"]


@pytest.mark.parametrize("forged", [b"", b"no zstd", zstandard.compress(b"something else"), zstandard.compress(A)[:-3]])
def test_a_copy_that_is_not_what_it_says_is_none_and_is_made_again(state, forged):
    file_of(state, A).write_bytes(forged)
    assert kept(state, digest(A)) is None
    keep(state, [A], needed=[digest(A)])
    assert kept(state, digest(A)) == A


def test_a_copy_that_unpacks_to_no_end(state, monkeypatch):
    monkeypatch.setattr(copies, "LARGEST", 1000)
    file_of(state, A).write_bytes(zstandard.compress(b"\0" * 10_000_000))
    assert kept(state, digest(A)) is None
