"""What the installation trusts: statements in a chain, each admitted only from somebody who may make it (GATE-09).

Pure. The chain's file, signatures and keys are ``trust/``'s. Until the first key is enrolled anybody who can write the
state folder may state anything, and answers are advisory; from then on every statement is signed, and what was stated
without a signature counts no more.

A statement is signed, and stands in the file, in the one spelling that this module's encoder gives it. So that old
lines keep theirs, a field that is added to a body, a grant or a principal has a default, and is left out where it has
that.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from callslip.core import canon
from callslip.core.grant import Grant
from callslip.core.principal import Principal, Role
from callslip.errors import TrustBroken


class Enrolled(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="enrolled", tag_field="type"):
    """A principal and its key. The first one ever must be an operator and sign for itself: the root."""

    principal: Principal


class PrincipalRevoked(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="principal_revoked", tag_field="type"
):
    """From now on nothing signed by this principal counts. The root can't be revoked."""

    name: str
    reason: str = ""


class Granted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="granted", tag_field="type"):
    grant: Grant


class GrantRevoked(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="grant_revoked", tag_field="type"
):
    id: str
    reason: str = ""


class Delegated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delegated", tag_field="type"):
    """The author lets ``to`` decide in its place."""

    to: str
    until: int
    """Milliseconds since 1970, UTC."""
    tools: tuple[str, ...] = ()
    """Empty: all."""


class DelegationEnded(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="delegation_ended", tag_field="type"
):
    to: str


class Accepted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="accepted", tag_field="type"):
    """What a project may be made of: SHA-256 by path relative to the project. Replaces what was accepted before."""

    project: str
    """Its folder, resolved."""
    files: dict[str, str]


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
"""What a principal may be called: nothing that looks like somebody else."""
_KEY = re.compile(r"[0-9a-f]{64}")

Body = Enrolled | PrincipalRevoked | Granted | GrantRevoked | Delegated | DelegationEnded | Accepted


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One link of the chain."""

    seq: int
    prev: str
    """SHA-256 of the line before, hex; of nothing: 64 zeros."""
    at: int
    by: str
    """The principal's name, or the operating system's account while none is enrolled."""
    uid: int | None
    """Of the process that made it; ``None`` when it was asked for over a network."""
    body: Body
    signature: str = ""
    """Ed25519 over :func:`message`, hex."""
    v: Literal[1] = 1


class Delegation(msgspec.Struct, frozen=True, kw_only=True):
    by: str
    to: str
    since: int
    until: int
    tools: tuple[str, ...]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The statements, folded."""

    seq: int = 0
    digest: str = "0" * 64
    digests: tuple[str, ...] = ()
    """Of every line, so that a file that was replaced or cut is seen by whoever remembers a position."""
    root: str = ""
    """Public key of the first operator; empty while answers are advisory."""
    principals: dict[str, Principal] = {}
    revoked: frozenset[str] = frozenset()
    """Names that were revoked; they are never given again."""
    keys: frozenset[str] = frozenset()
    """Every key that was ever enrolled; none of them is enrolled again."""
    grants: dict[str, Grant] = {}
    granted_by: dict[str, str] = {}
    """By grant, revoked ones too: who stated it. A grant dies with its author, and its id is never given again."""
    delegations: tuple[Delegation, ...] = ()
    accepted: dict[str, dict[str, str]] = {}
    """By project."""

    @property
    def advisory(self) -> bool:
        """No key is enrolled: whoever can write the state folder can answer."""
        return not self.root

    def follows(self, seq: int, digest: str) -> bool:
        """Whether the file still begins with what it held when somebody remembered its position ``seq``."""
        return seq == 0 or (seq <= len(self.digests) and self.digests[seq - 1] == digest)

    def may(self, name: str, *roles: Role) -> bool:
        """Whether the enrolled principal has one of the roles."""
        principal = self.principals.get(name)
        return principal is not None and any(role in principal.roles for role in roles)

    def delegated(self, by: str, to: str, tool: str, *, at: int) -> bool:
        """Whether ``by``, an approver still, had handed deciding on this tool to ``to`` at that time."""
        return self.may(by, Role.APPROVER) and any(
            one.by == by and one.to == to and one.since <= at < one.until and (not one.tools or tool in one.tools)
            for one in self.delegations
        )


class Objection(msgspec.Struct, frozen=True, kw_only=True):
    """Why a statement can't be made now."""

    why: str
    """Half a sentence."""
    author: bool = False
    """It is its author who may not; somebody else might."""


_encoder = msgspec.json.Encoder(order="sorted")


def encode(statement: Statement) -> bytes:
    """The statement's one spelling: its line in the file, without the line's end."""
    return _encoder.encode(statement)


def message(statement: Statement) -> bytes:
    """What is signed."""
    return b"callslip statement 1\n" + encode(msgspec.structs.replace(statement, signature=""))


def signer_key(standing: Standing, statement: Statement) -> str:
    """The public key that must have signed the statement; empty: none is needed yet.

    Raises:
        TrustBroken: its author is not enrolled.
    """
    if standing.advisory:
        return statement.body.principal.key if isinstance(statement.body, Enrolled) else ""
    author = standing.principals.get(statement.by)
    if author is None:
        raise broken(standing.seq + 1, _unknown(standing, statement.by))
    return author.key


def admit(standing: Standing, statement: Statement, line: bytes) -> Standing:
    """The standing after one more statement, whose signature has been verified with :func:`signer_key`'s key.

    ``line`` is what stands in the file, without the line's end.

    Raises:
        TrustBroken: out of place, or from somebody who may not state it.
    """
    if (statement.seq, statement.prev) != (standing.seq + 1, standing.digest):
        raise broken(standing.seq + 1, f"it does not follow statement {standing.seq}")
    found = objection(standing, statement)
    if found is not None:
        raise broken(standing.seq + 1, found.why)
    digest = canon.digest(line)
    return msgspec.structs.replace(
        _apply(standing, statement), seq=statement.seq, digest=digest, digests=(*standing.digests, digest)
    )


def broken(seq: int, why: str) -> TrustBroken:
    """The error that names the statement by its place, from 1."""
    return TrustBroken(
        f"Statement {seq} of the trust file can't be true: {why}. Nothing was executed, and nothing it or a "
        "later one says counts. If you did not change the file, somebody else did: see `callslip doctor`."
    )


_WHO: dict[type, tuple[Role, ...]] = {
    Enrolled: (Role.OPERATOR,),
    PrincipalRevoked: (Role.OPERATOR,),
    Accepted: (Role.OPERATOR,),
    Granted: (Role.APPROVER,),
    GrantRevoked: (Role.APPROVER, Role.OPERATOR),
    Delegated: (Role.APPROVER,),
    DelegationEnded: (Role.APPROVER,),
}


def objection(standing: Standing, statement: Statement) -> Objection | None:
    """What speaks against the statement, beside its place and its signature."""
    if not standing.advisory:
        roles = _WHO[type(statement.body)]
        if statement.by not in standing.principals:
            return Objection(why=_unknown(standing, statement.by), author=True)
        if not standing.may(statement.by, *roles):
            return Objection(why=f"{statement.by!r} is no {' or '.join(roles)}", author=True)
    why = _senseless(standing, statement)
    return Objection(why=why) if why else None


def _senseless(standing: Standing, statement: Statement) -> str:
    body = statement.body
    match body:
        case Enrolled():
            return _unfit(standing, statement, body.principal)
        case PrincipalRevoked():
            principal = standing.principals.get(body.name)
            if principal is None:
                return _unknown(standing, body.name)
            return "the root can't be revoked: everything rests on it" if principal.key == standing.root else ""
        case Granted():
            return f"a grant {body.grant.id!r} has been made before" if body.grant.id in standing.granted_by else ""
        case GrantRevoked():
            return "" if body.id in standing.grants else f"there is no grant {body.id!r} in force"
        case Delegated():
            if body.to == statement.by:
                return f"{body.to!r} would decide in its own place"
            return "" if body.to in standing.principals else _unknown(standing, body.to)
        case DelegationEnded():
            there = any((one.by, one.to) == (statement.by, body.to) for one in standing.delegations)
            return "" if there else f"{statement.by!r} has handed nothing on to {body.to!r}"
        case Accepted():
            return ""


def _unfit(standing: Standing, statement: Statement, principal: Principal) -> str:
    given = {name.lower() for name in (*standing.principals, *standing.revoked)}
    if not NAME.fullmatch(principal.name):
        return f"{principal.name!r} is no name: a letter or digit, then up to 63 of those and of '._@-'"
    if principal.name.lower() in given:
        return f"the name {principal.name!r} has been given before"
    if not _KEY.fullmatch(principal.key):
        return f"the key of {principal.name!r} is no public key of 64 hex digits"
    if principal.key in standing.keys:
        return "its key has been enrolled before"
    if not principal.roles or len(set(principal.roles)) != len(principal.roles):
        return f"{principal.name!r} would have no role, or one twice"
    if standing.advisory and (Role.OPERATOR not in principal.roles or statement.by != principal.name):
        return "the first principal must be an operator who signs for itself"
    return ""


def _unknown(standing: Standing, name: str) -> str:
    return f"{name!r} {'was revoked' if name in standing.revoked else 'is not enrolled'}"


def _apply(standing: Standing, statement: Statement) -> Standing:
    body = statement.body
    match body:
        case Enrolled():
            return _enrolled(standing, body.principal)
        case PrincipalRevoked():
            return _revoked(standing, body.name)
        case Granted():
            grants = {**standing.grants, body.grant.id: body.grant}
            authors = {**standing.granted_by, body.grant.id: statement.by}
            return msgspec.structs.replace(standing, grants=grants, granted_by=authors)
        case GrantRevoked():
            grants = {name: grant for name, grant in standing.grants.items() if name != body.id}
            return msgspec.structs.replace(standing, grants=grants)
        case Delegated():
            made = Delegation(by=statement.by, to=body.to, since=statement.at, until=body.until, tools=body.tools)
            return msgspec.structs.replace(standing, delegations=(*_without(standing, statement.by, body.to), made))
        case DelegationEnded():
            return msgspec.structs.replace(standing, delegations=_without(standing, statement.by, body.to))
        case Accepted():
            accepted = {**standing.accepted, body.project: body.files}
            return msgspec.structs.replace(standing, accepted=accepted)


def _enrolled(standing: Standing, principal: Principal) -> Standing:
    if standing.advisory:  # what was stated without a signature counts no more
        return Standing(root=principal.key, principals={principal.name: principal}, keys=frozenset({principal.key}))
    return msgspec.structs.replace(
        standing,
        principals={**standing.principals, principal.name: principal},
        keys=standing.keys | {principal.key},
    )


def _revoked(standing: Standing, name: str) -> Standing:
    left = {other: one for other, one in standing.principals.items() if other != name}
    return msgspec.structs.replace(
        standing,
        principals=left,
        revoked=standing.revoked | {name},
        grants={key: grant for key, grant in standing.grants.items() if standing.granted_by.get(key) != name},
        delegations=tuple(one for one in standing.delegations if name not in (one.by, one.to)),
    )


def _without(standing: Standing, by: str, to: str) -> tuple[Delegation, ...]:
    return tuple(one for one in standing.delegations if (one.by, one.to) != (by, to))
