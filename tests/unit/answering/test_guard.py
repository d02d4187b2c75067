"""What is turned away before anything is looked at."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from callslip.answering import token as tokens
from callslip.answering.faults import Refused
from callslip.answering.guard import Bound, Guard, _split
from callslip.answering.token import TOKEN_FILE, token
from callslip.errors import StateRefused
from callslip.testing.clock import FakeClock

pytestmark = pytest.mark.requirement("APPR-08")

LOOPBACK = Bound("127.0.0.1", "127.0.0.1", 8765)


@pytest.fixture
def made(tmp_path):
    with token(tmp_path) as one:
        yield one


def refusal(made, *pairs, bound=LOOPBACK, guard=None, usual=True):
    """The status that a request with these headers is refused with; ``None``: it may pass."""
    pairs = [(name.lower(), value) for name, value in pairs]
    names = {name for name, _ in pairs}
    if usual:
        default = {"host": "127.0.0.1:8765", "authorization": f"Bearer {made.reveal()}"}
        pairs += [pair for pair in default.items() if pair[0] not in names]
    headers = [(name.encode(), value.encode("latin-1")) for name, value in pairs]
    request = Request({"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers})
    try:
        (guard or Guard(made, bound, FakeClock())).check(request)
    except Refused as refused:
        return refused.status
    return None


class TestHost:
    @pytest.mark.parametrize(
        "host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765", "127.0.0.9:8765"]
    )
    def test_ours(self, made, host):
        assert refusal(made, ("Host", host)) is None

    @pytest.mark.parametrize(
        "host",
        [
            "evil.com:8765", "evil.com", "127.0.0.1", "127.0.0.1:80", "localhost:8766", "localhost.evil.com:8765",
            "127.0.0.1.evil.com:8765", "10.0.0.1:8765", "", ":8765", "127.0.0.1:8765@evil.com", "localhost:", "localhost:x",
            "localhost:٨٧٦٥".encode().decode("latin-1"), "0x7f000001:8765", "2130706433:8765",
        ],
    )  # fmt: skip
    def test_not_ours(self, made, host):
        assert refusal(made, ("Host", host)) == 403
        assert refusal(made) is None

    def test_none_or_two(self, made):
        assert refusal(made, ("authorization", f"Bearer {made.reveal()}"), usual=False) == 403
        assert refusal(made, ("Host", "127.0.0.1:8765"), ("Host", "evil.com:8765")) == 403

    def test_a_name_it_was_given(self, made):
        bound = Bound("desk.example", "192.0.2.7", 8765)
        for host, status in (("desk.example", None), ("Desk.Example", None), ("192.0.2.7", None), ("192.0.2.8", 403)):
            assert refusal(made, ("Host", f"{host}:8765"), bound=bound) == status

    def test_listening_everywhere_any_address_is_ours_and_no_name(self, made):
        bound = Bound("0.0.0.0", "0.0.0.0", 8765)
        for host, status in (("192.0.2.7", None), ("[2001:db8::1]", None), ("evil.com", 403), ("localhost", None)):
            assert refusal(made, ("Host", f"{host}:8765"), bound=bound) == status

    @pytest.mark.parametrize(
        ("host", "parts"),
        [("a:1", ("a", 1)), ("[::1]:2", ("::1", 2)), ("[::1]", ("::1", 80)), ("a", ("a", 80)), ("a:x", ("a", None))],
    )
    def test_in_parts(self, host, parts):
        assert _split(host) == parts


class TestOrigin:
    @pytest.mark.parametrize(
        "origin", ["http://evil.com", "null", "http://127.0.0.1", "https://127.0.0.1:8765", "http://localhost:8765", ""]
    )
    def test_another(self, made, origin):
        assert refusal(made, ("Origin", origin)) == 403
        assert refusal(made, ("Origin", "http://127.0.0.1:8765")) is None


class TestToken:
    def test_wrong(self, made):
        right = made.reveal()
        for said in ("", "Bearer", "Bearer ", "Bearer x", f"Bearer {right}x", f"Bearer {right[:-1]}", right, f"Basic {right}",
                     f"Bearer {right.swapcase()}", "Bearer ünïcode"):  # fmt: skip
            assert refusal(made, ("Authorization", said)) == 401, said
        assert refusal(made, ("Authorization", f"bearer {right}")) is None
        assert refusal(made, ("Host", "127.0.0.1:8765"), usual=False) == 401
        assert refusal(made, ("Authorization", "Bearer x"), ("Authorization", f"Bearer {right}")) == 401

    def test_too_many_failures_and_a_right_one_still_passes(self, made):
        clock = FakeClock()
        guard = Guard(made, LOOPBACK, clock)
        wrong = ("Authorization", "Bearer x")
        assert [refusal(made, wrong, guard=guard) for _ in range(12)] == [401] * 10 + [429] * 2
        assert refusal(made, guard=guard) is None
        clock.advance(59)
        assert refusal(made, wrong, guard=guard) == 429
        clock.advance(1)
        assert refusal(made, wrong, guard=guard) == 401

    def test_its_file(self, tmp_path):
        with token(tmp_path) as one:
            path = tmp_path / TOKEN_FILE
            assert path.stat().st_mode & 0o777 == 0o600
            assert path.read_text() == one.reveal() + "\n"
            assert len(one.reveal()) >= 40
            assert one.reveal() not in repr(one) + str(one)
        assert path.read_text() == ""

    def test_new_at_every_start_and_shared_while_one_runs(self, tmp_path):
        with token(tmp_path) as first:
            with token(tmp_path) as second:
                assert second.reveal() == first.reveal()
            assert (tmp_path / TOKEN_FILE).read_text().strip() == first.reveal()  # the first one still uses it
        with token(tmp_path) as later:
            assert later.reveal() != first.reveal()

    @pytest.mark.parametrize("mode", [0o644, 0o660, 0o601])
    def test_a_file_that_is_open_to_others(self, tmp_path, mode):
        path = tmp_path / TOKEN_FILE
        path.touch(0o600)
        path.chmod(mode)
        with pytest.raises(StateRefused, match="open to others"), token(tmp_path):
            raise AssertionError
        path.chmod(0o600)
        with token(tmp_path):
            pass

    def test_a_link(self, tmp_path):
        (tmp_path / "other").touch(0o600)
        (tmp_path / TOKEN_FILE).symlink_to(tmp_path / "other")
        with pytest.raises(StateRefused), token(tmp_path):
            raise AssertionError
        assert (tmp_path / "other").read_text() == ""

    def test_something_else(self, tmp_path):
        (tmp_path / TOKEN_FILE).mkdir()
        with pytest.raises(StateRefused), token(tmp_path):
            raise AssertionError

    def test_none_in_it(self, tmp_path, monkeypatch):
        """Somebody holds the lock and has written nothing."""
        with token(tmp_path):
            monkeypatch.setattr(tokens, "_alone", lambda fd: False)
            (tmp_path / TOKEN_FILE).write_text("")
            with pytest.raises(StateRefused, match="holds no token"), token(tmp_path):
                raise AssertionError
