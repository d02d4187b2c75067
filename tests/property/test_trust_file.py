"""No byte of a signed trust file can be another one unseen: only a last line that loses its end is as if not written."""

import pytest
from hypothesis import given, strategies as st

from callslip.core.grant import Grant
from callslip.core.principal import Role
from callslip.core.standing import Accepted, Delegated, Granted, GrantRevoked, PrincipalRevoked, Standing
from callslip.errors import TrustBroken
from callslip.testing.clock import FakeClock
from callslip.testing.people import Person
from callslip.trust.file import FileTrust

pytestmark = pytest.mark.requirement("GATE-09")

FAR = 2_000_000_000_000


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """A file with a statement of each kind, and the standing after each of them."""
    folder = tmp_path_factory.mktemp("state")
    folder.chmod(0o700)
    anna, bob = Person("anna", Role.OPERATOR, Role.APPROVER), Person("bob", Role.APPROVER)
    trust = FileTrust(folder, clock=FakeClock())
    grant = Grant(
        id="g1", tool="pay", tool_version="v", executor="e", requester="anna", rules=("r",),
        equal={"to": 'Zoë "x"', "n": [1, 2.5, None]}, at_most={"amount": 100},
    )  # fmt: skip
    stands = [Standing()]
    anna.enrol(trust)
    stands.append(trust.standing())
    bob.enrol(trust, by=anna)
    stands.append(trust.standing())
    for body, by in (
        (Granted(grant=grant), bob),
        (Delegated(to="anna", until=FAR, tools=("pay",)), bob),
        (Accepted(project="/p", files={"a.py": "0" * 64}), anna),
        (GrantRevoked(id="g1", reason="enough"), anna),
        (PrincipalRevoked(name="bob", reason="left"), anna),
    ):
        trust.state(body, by.identity)
        stands.append(trust.standing())
    return folder, (folder / "trust.log").read_bytes(), stands


def found(folder, text):
    (folder / "trust.log").write_bytes(text)
    return FileTrust(folder, clock=FakeClock()).standing()


def test_control_the_file_as_it_is(signed):
    folder, text, stands = signed
    assert found(folder, text) == stands[-1]
    assert stands[-1].seq == 7


@given(data=st.data())
def test_any_byte_that_becomes_another(signed, data):
    folder, text, stands = signed
    place = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != text[place]))
    changed = text[:place] + bytes([byte]) + text[place + 1 :]
    if place == len(text) - 1:
        assert found(folder, changed) == stands[-2]  # the last line has lost its end: it was never written
        return
    with pytest.raises(TrustBroken):
        found(folder, changed)


def test_every_single_bit_of_every_statement(signed):
    folder, text, _ = signed
    unseen = []
    for place in range(len(text) - 1):
        changed = text[:place] + bytes([text[place] ^ (1 << place % 8)]) + text[place + 1 :]
        try:
            found(folder, changed)
        except TrustBroken:
            continue
        unseen.append(place)
    assert unseen == []


@given(data=st.data())
def test_any_piece_taken_out_or_put_in(signed, data):
    folder, text, stands = signed
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start, min(start + 40, len(text))))
    piece = data.draw(st.binary(max_size=8) | st.sampled_from([b"\n", b"{}\n", b" ", text[:50]]))
    changed = text[:start] + piece + text[end:]
    try:
        standing = found(folder, changed)
    except TrustBroken:
        return
    whole = changed[: changed.rfind(b"\n") + 1]
    assert text.startswith(whole)  # what is believed is what was written
    assert standing == stands[whole.count(b"\n")]


@given(cut=st.integers(0, 10_000))
def test_any_cut_is_what_was_written_before_it(signed, cut):
    folder, text, stands = signed
    kept = text[: cut % (len(text) + 1)]
    assert found(folder, kept) == stands[kept.count(b"\n")]
