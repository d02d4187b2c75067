"""The statements folded: what is admitted, what is not, and what holds then. Signatures are ``trust``'s affair."""

import typing

import msgspec
import pytest

from callslip.core import canon, standing as core
from callslip.core.grant import Grant
from callslip.core.principal import Principal, Role
from callslip.core.standing import (
    Accepted,
    Body,
    Delegated,
    Enrolled,
    Granted,
    PrincipalRevoked,
    Standing,
    Statement,
)
from callslip.errors import StateRefused, TrustBroken

pytestmark = pytest.mark.requirement("APPR-08")

KEYS = {name: f"{number:02x}" * 32 for number, name in enumerate(("anna", "bob", "zoe", "eve"), 1)}


def principal(name, *roles):
    return Principal(name=name, roles=roles, key=KEYS[name])


def grant(name="g1"):
    return Grant(id=name, tool="t", tool_version="v", executor="e", requester="r", rules=(), equal={})


def said(standing, body, by="anna", **changes):
    facts = {"seq": standing.seq + 1, "prev": standing.digest, "at": 1000, "by": by, "uid": 7, "body": body}
    return Statement(**facts | changes)


def after(standing, body, by="anna", **changes):
    statement = said(standing, body, by, **changes)
    return core.admit(standing, statement, core.encode(statement))


@pytest.fixture
def rooted():
    return after(Standing(), Enrolled(principal=principal("anna", Role.OPERATOR, Role.APPROVER)))


class TestTheChain:
    def test_each_line_is_bound_to_the_one_before(self, rooted):
        statement = said(rooted, Accepted(project="/p", files={}))
        line = core.encode(statement)
        grown = core.admit(rooted, statement, line)
        assert (grown.seq, grown.digest) == (2, canon.digest(line))
        assert grown.digests == (rooted.digest, grown.digest)

    @pytest.mark.parametrize("changes", [{"seq": 1}, {"seq": 3}, {"prev": "0" * 64}, {"prev": ""}])
    def test_out_of_place(self, rooted, changes):
        with pytest.raises(TrustBroken, match=r"^Statement 2 .* does not follow statement 1"):
            after(rooted, Accepted(project="/p", files={}), **changes)

    def test_the_error_closes_what_rests_on_it(self):
        assert issubclass(TrustBroken, StateRefused)
        error = core.broken(3, "it is Tuesday")
        assert str(error).startswith("Statement 3 of the trust file can't be true: it is Tuesday. Nothing was executed")

    def test_follows(self, rooted):
        grown = after(rooted, Accepted(project="/p", files={}))
        assert grown.follows(0, "")
        assert grown.follows(1, rooted.digest)
        assert grown.follows(2, grown.digest)
        assert not grown.follows(1, grown.digest)
        assert not rooted.follows(2, grown.digest)
        assert not Standing().follows(1, rooted.digest)


class TestWhatIsSigned:
    def test_all_of_it_but_the_signature(self, rooted):
        statement = said(rooted, Granted(grant=grant()))
        text = core.message(statement)
        assert text == b"callslip statement 1\n" + core.encode(statement)
        assert core.message(msgspec.structs.replace(statement, signature="ab")) == text
        for change in ({"seq": 9}, {"prev": "1" * 64}, {"at": 1}, {"by": "b"}, {"uid": 8}, {"uid": None}):
            assert core.message(msgspec.structs.replace(statement, **change)) != text
        assert core.message(msgspec.structs.replace(statement, body=Granted(grant=grant("g2")))) != text

    @pytest.mark.parametrize("kind", [*typing.get_args(Body), Grant, Principal], ids=lambda kind: kind.__name__)
    def test_a_field_that_is_added_later_leaves_old_lines_as_they_are(self, kind):
        assert kind.__struct_config__.omit_defaults
        assert kind.__struct_config__.frozen

    def test_the_version_is_always_said(self, rooted):
        assert core.encode(said(rooted, Granted(grant=grant()))).endswith(b',"signature":"","uid":7,"v":1}')


class TestWhoMustHaveSigned:
    def test_nobody_while_nobody_is_enrolled(self):
        assert core.signer_key(Standing(), said(Standing(), Granted(grant=grant()))) == ""

    def test_the_first_for_itself(self):
        body = Enrolled(principal=principal("anna", Role.OPERATOR))
        assert core.signer_key(Standing(), said(Standing(), body)) == KEYS["anna"]

    def test_the_author(self, rooted):
        assert core.signer_key(rooted, said(rooted, Granted(grant=grant()))) == KEYS["anna"]
        body = Enrolled(principal=principal("eve", Role.OPERATOR))
        assert core.signer_key(rooted, said(rooted, body)) == KEYS["anna"]
        with pytest.raises(TrustBroken, match="'eve' is not enrolled"):
            core.signer_key(rooted, said(rooted, body, by="eve"))


class TestTheRoot:
    def test_what_was_unsigned_counts_no_more(self):
        loose = after(Standing(), Granted(grant=grant()), by="account")
        loose = after(loose, Accepted(project="/p", files={"a": "b"}), by="account")
        assert (list(loose.grants), loose.advisory) == (["g1"], True)
        rooted = after(loose, Enrolled(principal=principal("anna", Role.OPERATOR)))
        assert (rooted.grants, rooted.granted_by, rooted.accepted, rooted.seq) == ({}, {}, {}, 3)
        assert (rooted.root, rooted.advisory) == (KEYS["anna"], False)
        assert rooted.follows(2, loose.digest)

    @pytest.mark.parametrize(("by", "roles"), [("bob", (Role.OPERATOR,)), ("anna", (Role.APPROVER,)), ("anna", ())])
    def test_it_must_be_an_operator_who_speaks_for_itself(self, by, roles):
        with pytest.raises(TrustBroken):
            after(Standing(), Enrolled(principal=principal("anna", *roles)), by=by)

    def test_a_second_operator_is_no_root(self, rooted):
        grown = after(rooted, Enrolled(principal=principal("bob", Role.OPERATOR)))
        assert grown.root == KEYS["anna"]
        gone = after(grown, PrincipalRevoked(name="bob"))
        assert (list(gone.principals), gone.revoked, gone.keys) == (
            ["anna"], {"bob"}, {KEYS["anna"], KEYS["bob"]},
        )  # fmt: skip


class TestMay:
    def test_by_role(self, rooted):
        assert rooted.may("anna", Role.OPERATOR)
        assert rooted.may("anna", Role.CALLER, Role.APPROVER)
        assert not rooted.may("anna", Role.CALLER)
        assert not rooted.may("anna")
        assert not rooted.may("bob", *Role)
        assert not Standing().may("anna", *Role)


class TestDelegated:
    def test_only_from_an_approver_that_still_is_one(self, rooted):
        grown = after(rooted, Enrolled(principal=principal("bob", Role.OPERATOR, Role.APPROVER)))
        grown = after(grown, Enrolled(principal=principal("zoe", Role.VIEWER)))
        grown = after(grown, Delegated(to="zoe", until=5000), by="bob")
        assert grown.delegated("bob", "zoe", "pay", at=1000)
        assert not grown.delegated("bob", "zoe", "pay", at=999)
        assert not grown.delegated("bob", "anna", "pay", at=1000)
        assert not after(grown, PrincipalRevoked(name="bob")).delegated("bob", "zoe", "pay", at=1000)
        assert not after(grown, PrincipalRevoked(name="zoe")).delegated("bob", "zoe", "pay", at=1000)


def test_every_statement_has_its_rule():
    """A new kind of statement without one would be a KeyError at best."""
    assert set(core._WHO) == set(typing.get_args(Body))
