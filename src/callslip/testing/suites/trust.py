"""What every implementation of ``Trust`` must do: one suite, run on each. ::

    class TestMine(TrustSuite):
        def opened(self, place: Path, clock: Clock) -> Trust:
            return MyTrust(place, clock=clock)

``opened`` gives, at each call, what another process would have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from callslip.core.grant import Grant
from callslip.core.principal import Principal, Role
from callslip.core.standing import (
    Accepted,
    Body,
    Delegated,
    DelegationEnded,
    Enrolled,
    Granted,
    GrantRevoked,
    PrincipalRevoked,
    Standing,
    message,
)
from callslip.errors import NotAuthorised, UsageError
from callslip.ports.clock import Clock
from callslip.ports.trust import Identity, Trust
from callslip.testing.clock import FakeClock
from callslip.testing.people import Person
from callslip.trust.account import account

OTHER_KEY = "ab" * 32


def grant(name: str = "g1", **changes: Any) -> Granted:
    """A statement of a grant."""
    plain = Grant(
        id=name, tool="pay", tool_version="v1", executor="app:pay", requester="anna", rules=("risk",), equal={"to": "x"}
    )
    return Granted(grant=msgspec.structs.replace(plain, **changes))


def newcomer(name: str = "carl", key: str = OTHER_KEY, *roles: Role) -> Enrolled:
    """A statement of an enrolment."""
    return Enrolled(principal=Principal(name=name, roles=roles or (Role.VIEWER,), key=key))


BODIES: dict[str, tuple[Body, tuple[Role, ...]]] = {
    "enrolled": (newcomer(), (Role.OPERATOR,)),
    "principal_revoked": (PrincipalRevoked(name="zoe"), (Role.OPERATOR,)),
    "accepted": (Accepted(project="/p", files={"a.py": "0" * 64}), (Role.OPERATOR,)),
    "granted": (grant("g2"), (Role.APPROVER,)),
    "grant_revoked": (GrantRevoked(id="g1"), (Role.APPROVER, Role.OPERATOR)),
    "delegated": (Delegated(to="zoe", until=2_000_000_000_000), (Role.APPROVER,)),
}
"""Each kind of statement, and the roles that may make it. (Ending a delegation is its author's own affair.)"""


class TrustSuite:
    """Subclass it, and say how to open one."""

    shared: ClassVar[bool] = True
    """Whether a second one can be opened on the same place."""

    def opened(self, place: Path, clock: Clock) -> Trust:
        """The trust kept at this place."""
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        place = tmp_path / "state"
        place.mkdir(mode=0o700)
        return place

    @pytest.fixture
    def trust(self, place: Path, clock: FakeClock) -> Trust:
        return self.opened(place, clock)

    @pytest.fixture
    def anna(self) -> Person:
        return Person("anna", Role.OPERATOR, Role.APPROVER)

    @pytest.fixture
    def enrolled(self, trust: Trust, anna: Person) -> Trust:
        anna.enrol(trust)
        return trust

    def test_nothing_holds_at_first(self, trust: Trust) -> None:
        assert trust.standing() == Standing()
        assert trust.standing().advisory

    # While no key is enrolled

    def test_the_account_may_state_what_it_likes_while_nobody_is_enrolled(self, trust: Trust) -> None:
        made = trust.state(grant(), account())
        assert (made.seq, made.signature, made.uid) == (1, "", account().uid)
        assert trust.standing().grants == {"g1": grant().grant}
        assert trust.standing().granted_by == {"g1": account().name}
        assert trust.standing().advisory

    @pytest.mark.parametrize("keyed", [True, False])
    def test_nobody_else_may(self, trust: Trust, keyed: bool) -> None:
        signer = Person("anna").key if keyed else None
        for name, uid in (("somebody", account().uid), (account().name, 4_000_000)):
            with pytest.raises(NotAuthorised, match=r"may state this\. Nothing was written"):
                trust.state(grant(), Identity(name=name, uid=uid, signer=signer))
        assert trust.standing() == Standing()

    def test_the_first_key_ends_what_was_stated_without_one(self, trust: Trust, anna: Person) -> None:
        trust.state(grant(), account())
        trust.state(Accepted(project="/p", files={}), account())
        anna.enrol(trust)
        standing = trust.standing()
        assert (standing.root, standing.grants, standing.accepted) == (anna.key.key, {}, {})
        assert (standing.seq, len(standing.digests)) == (3, 3)
        assert not standing.advisory

    @pytest.mark.parametrize("roles", [(), (Role.APPROVER,), (Role.CALLER, Role.VIEWER)])
    def test_the_first_must_be_an_operator(self, trust: Trust, roles: tuple[Role, ...]) -> None:
        with pytest.raises(UsageError, match="Nothing was written"):
            Person("anna", *roles).enrol(trust)
        assert trust.standing() == Standing()

    def test_the_first_must_sign_for_itself(self, trust: Trust, anna: Person) -> None:
        other = Person("bob", Role.OPERATOR)
        with pytest.raises(UsageError, match="signs for itself"):
            anna.enrol(trust, by=other)
        lent = Identity(name="anna", uid=anna.identity.uid, signer=other.key)
        for by in (lent, msgspec.structs.replace(lent, signer=None)):
            with pytest.raises(NotAuthorised):
                trust.state(Enrolled(principal=anna.principal), by)
        assert trust.standing() == Standing()

    # From then on

    def test_a_statement_is_signed_and_follows_the_one_before(
        self, enrolled: Trust, anna: Person, clock: FakeClock
    ) -> None:
        before = enrolled.standing()
        clock.advance(5)
        made = enrolled.state(grant(), anna.identity)
        assert (made.seq, made.prev, made.by, made.at) == (2, before.digest, "anna", clock.now())
        assert enrolled.verified(anna.key.key, message(made), made.signature)
        assert enrolled.standing().seq == 2
        assert enrolled.standing().follows(1, before.digest)
        assert not enrolled.standing().follows(2, before.digest)

    @pytest.mark.parametrize("how", ["no key", "another key", "a liar", "the account", "a stranger"])
    def test_nothing_is_stated_without_the_authors_key(self, enrolled: Trust, anna: Person, how: str) -> None:
        class Liar:
            key = anna.key.key

            def sign(self, message: bytes) -> str:
                return Person("x").key.sign(message)

        plain = anna.identity
        by = {
            "no key": msgspec.structs.replace(plain, signer=None),
            "another key": msgspec.structs.replace(plain, signer=Person("anna").key),
            "a liar": msgspec.structs.replace(plain, signer=Liar()),
            "the account": account(),
            "a stranger": Person("zoe", Role.APPROVER).identity,
        }[how]
        before = enrolled.standing()
        with pytest.raises(NotAuthorised, match="Nothing was written"):
            enrolled.state(grant(), by)
        assert enrolled.standing() == before
        enrolled.state(grant(), anna.identity)
        assert "g1" in enrolled.standing().grants

    @pytest.mark.parametrize("kind", BODIES)
    @pytest.mark.parametrize("role", list(Role))
    def test_each_statement_takes_its_role(self, enrolled: Trust, anna: Person, kind: str, role: Role) -> None:
        bob = Person("bob", role)
        bob.enrol(enrolled, by=anna)
        Person("zoe", Role.VIEWER).enrol(enrolled, by=anna)
        enrolled.state(grant(), anna.identity)
        body, roles = BODIES[kind]
        before = enrolled.standing()
        if role in roles:
            enrolled.state(body, bob.identity)
            assert enrolled.standing().seq == before.seq + 1
            return
        with pytest.raises(NotAuthorised, match="is no "):
            enrolled.state(body, bob.identity)
        assert enrolled.standing() == before

    @pytest.mark.parametrize(
        ("body", "says"),
        [
            (newcomer("anna"), "has been given before"),
            (newcomer("ANNA"), "has been given before"),
            (newcomer("аnna"), "is no name"),
            (newcomer("../x"), "is no name"),
            (newcomer(""), "is no name"),
            (newcomer(key="xyz"), "no public key"),
            (newcomer(key="AB" * 32), "no public key"),
            (Enrolled(principal=Principal(name="carl", roles=(), key=OTHER_KEY)), "would have no role"),
            (PrincipalRevoked(name="nobody"), "is not enrolled"),
            (PrincipalRevoked(name="anna"), "the root can't be revoked"),
            (GrantRevoked(id="g0"), "no grant 'g0' in force"),
            (Delegated(to="nobody", until=1), "is not enrolled"),
            (Delegated(to="anna", until=1), "in its own place"),
            (DelegationEnded(to="nobody"), "handed nothing on"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, enrolled: Trust, anna: Person, body: Body, says: str) -> None:
        before = enrolled.standing()
        with pytest.raises(UsageError, match=says):
            enrolled.state(body, anna.identity)
        assert enrolled.standing() == before

    @pytest.mark.parametrize(
        "change", [{"equal": {"x": float("nan")}}, {"at_most": {"x": float("inf")}}, {"reason": "\ud800"}]
    )
    def test_what_could_not_be_read_back_is_not_written(
        self, enrolled: Trust, anna: Person, change: dict[str, Any]
    ) -> None:
        before = enrolled.standing()
        with pytest.raises(UsageError, match="can't be written down"):
            enrolled.state(grant(**change), anna.identity)
        assert enrolled.standing() == before

    def test_numbers_come_back_as_they_were(self, enrolled: Trust, anna: Person) -> None:
        values = {"a": 10**40, "b": 0.1, "c": 1e300, "d": -7, "e": [1.5, {"f": None}], "g": "ü\u202e\n"}
        enrolled.state(grant(equal=values, at_most={"n": 2**53 + 1}), anna.identity)
        found = enrolled.standing().grants["g1"]
        assert (found.equal, found.at_most) == (values, {"n": 2**53 + 1})

    # Taking back

    def test_nothing_a_revoked_principal_says_counts(self, enrolled: Trust, anna: Person) -> None:
        bob = Person("bob", Role.APPROVER)
        bob.enrol(enrolled, by=anna)
        enrolled.state(grant(), bob.identity)
        enrolled.state(grant("g2"), anna.identity)
        enrolled.state(Delegated(to="anna", until=2_000_000_000_000), bob.identity)
        enrolled.state(PrincipalRevoked(name="bob", reason="left"), anna.identity)
        standing = enrolled.standing()
        assert (list(standing.grants), standing.delegations, list(standing.principals)) == (["g2"], (), ["anna"])
        with pytest.raises(NotAuthorised, match="'bob' was revoked"):
            enrolled.state(grant("g3"), bob.identity)
        for again in (bob.principal, msgspec.structs.replace(bob.principal, name="rob"), Person("bob").principal):
            with pytest.raises(UsageError):
                enrolled.state(Enrolled(principal=msgspec.structs.replace(again, roles=(Role.VIEWER,))), anna.identity)

    def test_a_grant_is_made_once_and_taken_back(self, enrolled: Trust, anna: Person) -> None:
        enrolled.state(grant(), anna.identity)
        with pytest.raises(UsageError, match="has been made before"):
            enrolled.state(grant(at_most={"amount": 9e9}), anna.identity)
        enrolled.state(GrantRevoked(id="g1"), anna.identity)
        assert enrolled.standing().grants == {}
        with pytest.raises(UsageError, match="has been made before"):
            enrolled.state(grant(), anna.identity)

    def test_a_delegation_begins_ends_and_can_be_ended(self, enrolled: Trust, anna: Person, clock: FakeClock) -> None:
        Person("bob", Role.VIEWER).enrol(enrolled, by=anna)
        began, until = clock.now(), clock.now() + 1000
        enrolled.state(Delegated(to="bob", until=until, tools=("pay",)), anna.identity)
        standing = enrolled.standing()
        assert [standing.delegated("anna", "bob", "pay", at=at) for at in (began - 1, began, until - 1, until)] == [
            False, True, True, False,
        ]  # fmt: skip
        assert not standing.delegated("anna", "bob", "refund", at=began)
        assert not standing.delegated("bob", "anna", "pay", at=began)
        enrolled.state(Delegated(to="bob", until=until), anna.identity)
        assert len(enrolled.standing().delegations) == 1
        assert enrolled.standing().delegated("anna", "bob", "refund", at=began)
        enrolled.state(DelegationEnded(to="bob"), anna.identity)
        assert not enrolled.standing().delegated("anna", "bob", "pay", at=began)

    def test_what_is_accepted_replaces_what_was(self, enrolled: Trust, anna: Person) -> None:
        enrolled.state(Accepted(project="/p", files={"a": "1"}), anna.identity)
        enrolled.state(Accepted(project="/q", files={"b": "2"}), anna.identity)
        enrolled.state(Accepted(project="/p", files={"c": "3"}), anna.identity)
        assert enrolled.standing().accepted == {"/p": {"c": "3"}, "/q": {"b": "2"}}

    # Signatures

    def test_only_the_keys_own_signature_of_this_text_is_verified(self, trust: Trust, anna: Person) -> None:
        signature = anna.key.sign(b"text")
        assert trust.verified(anna.key.key, b"text", signature)
        assert not trust.verified(anna.key.key, b"Text", signature)
        assert not trust.verified(Person("bob").key.key, b"text", signature)

    @pytest.mark.parametrize("key", ["", "x", "00" * 32, "ff" * 32, "é" * 64, "ab" * 31, "ab" * 33, "0" * 63 + "\n"])
    @pytest.mark.parametrize("signature", ["", "zz" * 64, "00" * 64, "00" * 63, "\ud800"])
    def test_what_is_no_key_and_no_signature_verifies_nothing(self, trust: Trust, key: str, signature: str) -> None:
        assert trust.verified(key, b"text", signature) is False

    def test_a_key_and_a_signature_have_one_spelling(self, trust: Trust, anna: Person) -> None:
        key, signature = anna.key.key, anna.key.sign(b"text")
        assert not trust.verified(key.upper(), b"text", signature)
        assert not trust.verified(key, b"text", signature.upper())

    # Others

    def test_others_see_it_at_once(self, trust: Trust, place: Path, clock: FakeClock, anna: Person) -> None:
        if not self.shared:
            pytest.skip("lives in one process")
        other = self.opened(place, clock)
        assert other.standing().advisory
        anna.enrol(trust)
        assert other.standing() == trust.standing()
        other.state(grant(), anna.identity)
        assert trust.standing() == other.standing() == self.opened(place, clock).standing()
        trust.state(GrantRevoked(id="g1"), anna.identity)
        assert other.standing().grants == {}
