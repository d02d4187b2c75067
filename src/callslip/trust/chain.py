"""One line of the trust file: read and verified, or composed and signed. What the line says is ``core/standing``'s.

A line is one JSON object in the spelling of ``core/standing.encode``, and in no other: so a key that stands twice, a
field nobody knows, another order or another escape are all refused by one comparison, and what was signed can be
computed from the line alone (docs/reference/trust.md).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from callslip.core import standing as core
from callslip.core.standing import Body, Standing, Statement
from callslip.errors import NotAuthorised, TrustBroken, UsageError
from callslip.ports.trust import Identity
from callslip.trust.account import account


class _Versioned(msgspec.Struct, frozen=True):
    v: int


_decoder = msgspec.json.Decoder(Statement, strict=True)
_version = msgspec.json.Decoder(_Versioned)
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError)


def extend(standing: Standing, line: bytes) -> Standing:
    """The standing after one more line, without the line's end.

    Raises:
        TrustBroken: it is not what Callslip writes, is out of place, or is not from somebody who may state it.
    """
    statement = _read(standing.seq + 1, line)
    key = core.signer_key(standing, statement)
    if key and not verified(key, core.message(statement), statement.signature):
        raise core.broken(standing.seq + 1, f"its signature is not that of {statement.by!r}")
    if not key and statement.signature:
        raise core.broken(standing.seq + 1, "it has a signature, and nobody's key is enrolled to check it by")
    return core.admit(standing, statement, line)


def _read(seq: int, line: bytes) -> Statement:
    try:
        statement = _decoder.decode(line)
        spelled = core.encode(statement)
    except _UNREADABLE as error:
        newer = _newer(line)
        raise core.broken(seq, newer or f"it can't be read ({str(error)[:200]})") from error
    if spelled != line:
        raise core.broken(seq, "it is not spelled the one way in which Callslip writes it")
    return statement


def _newer(line: bytes) -> str:
    try:
        version = _version.decode(line).v
    except _UNREADABLE:
        return ""
    return f"it is of version {version}, and this Callslip knows version 1" if version != 1 else ""


class Composed(NamedTuple):
    """A statement that may be written."""

    statement: Statement
    line: bytes
    """Without the line's end."""
    after: Standing


def compose(standing: Standing, body: Body, by: Identity, *, at: int) -> Composed:
    """The statement, signed where a key is in force, and what the standing will be with it.

    Raises:
        NotAuthorised: ``by`` may not state it, or has not shown to be who it says.
        UsageError: nobody could state it now, or it has no form that could be read back.
    """
    try:
        # Through its own spelling and back, so that what is signed is what a reader will find.
        read = msgspec.json.decode(msgspec.json.encode(body), type=Body)
        statement = Statement(seq=standing.seq + 1, prev=standing.digest, at=at, by=by.name, uid=by.uid, body=read)
        core.encode(statement)
        if read != body:  # such as NaN, which would be written as null
            raise ValueError("it holds a value that JSON has no form for")
    except _UNREADABLE as error:
        raise UsageError(f"This can't be stated: it can't be written down ({error}). Nothing was written.") from error
    found = core.objection(standing, statement)
    if found is not None:
        kind = NotAuthorised if found.author else UsageError
        raise kind(f"This can't be stated: {found.why}. Nothing was written.")
    statement = _signed(standing, statement, by)
    line = core.encode(statement)
    try:
        after = extend(standing, line)  # nothing is ever written that would not be believed
    except TrustBroken as error:
        raise UsageError(f"This can't be stated: {error} Nothing was written.") from error
    return Composed(statement, line, after)


def _signed(standing: Standing, statement: Statement, by: Identity) -> Statement:
    key = core.signer_key(standing, statement)
    if not key:
        me = account()
        if (by.name, by.uid) != (me.name, me.uid):
            raise NotAuthorised(
                f"Nobody's key is enrolled, so {by.name!r} can't be told from anybody else: only this account, "
                f"{me.name!r}, may state this. Nothing was written. Enrol a key first: callslip enrol NAME."
            )
        return statement
    if by.signer is None:
        raise NotAuthorised(
            f"Stating this needs the key of {by.name!r}, and none is at hand. Nothing was written. Name it in "
            "CALLSLIP_KEY, or enrol one: callslip enrol NAME."
        )
    text = core.message(statement)
    signature = by.signer.sign(text) if by.signer.key == key else ""
    if not verified(key, text, signature):
        raise NotAuthorised(
            f"The key at hand is not the one of {by.name!r}. Nothing was written. Name the right one in CALLSLIP_KEY."
        )
    return msgspec.structs.replace(statement, signature=signature)


def verified(key: str, message: bytes, signature: str) -> bool:
    """Whether the signature is that key's. Never raises on what is not even a key."""
    from callslip.trust import keys  # noqa: PLC0415 - the cryptography is loaded when there is something to verify

    return keys.verified(key, message, signature)
