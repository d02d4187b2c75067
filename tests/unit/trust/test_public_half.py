"""What is handed over to whoever enrols."""

import json
import os

import msgspec
import pytest

from callslip.errors import NotAuthorised, NotFound, UsageError
from callslip.testing.people import Person
from callslip.trust.account import account
from callslip.trust.public_half import public_half, read_public

pytestmark = pytest.mark.requirement("APPR-08")


@pytest.fixture
def handed(tmp_path):
    bob = Person("bob", uid=1234)
    path = tmp_path / "bob.pub"
    path.write_bytes(public_half(bob.identity, host="there"))
    return bob, path


def test_it_says_whose_it_is_and_where_it_was_made(handed):
    bob, path = handed
    half = read_public(path)
    assert (half.name, half.key, half.uid, half.host) == ("bob", bob.key.key, 1234, "there")
    assert bob.key._key.encode().hex() not in path.read_text()


@pytest.mark.parametrize("change", [{"name": "eve"}, {"uid": 1}, {"host": "x"}, {"key": "ab" * 32}, {"signature": ""}])
def test_altered_on_the_way(handed, change):
    _, path = handed
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UsageError, match="was altered"):
        read_public(path)


def test_a_key_that_is_not_ones_own(handed):
    bob, path = handed
    eve = Person("eve")

    class Pretends:
        key = bob.key.key
        sign = eve.key.sign

    path.write_bytes(public_half(msgspec.structs.replace(eve.identity, signer=Pretends()), host="x"))
    with pytest.raises(UsageError, match="was altered"):
        read_public(path)


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff", b"[" * 70_000, b'{"v":2}'])
def test_something_else(tmp_path, text):
    (tmp_path / "x").write_bytes(text)
    with pytest.raises(UsageError, match="is no public half"):
        read_public(tmp_path / "x")


def test_nothing_there(tmp_path):
    with pytest.raises(NotFound):
        read_public(tmp_path / "none")
    os.mkdir(tmp_path / "folder")
    with pytest.raises(UsageError):
        read_public(tmp_path / "folder")


def test_there_is_none_of_an_account():
    with pytest.raises(NotAuthorised):
        public_half(account(), host="x")
